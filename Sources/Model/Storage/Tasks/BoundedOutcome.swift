// Limits the size of a task's outcome, which stays in memory and in the task's record, against oversized answers of
// servers.

extension TaskOutcome {
    /// The outcome without parts that exceed the limits of objects and errors.
    var bounded: TaskOutcome {
        switch self {
        case .cancelled, .cancelledInDoubt: return self
        case .failed(let error): return .failed(error.bounded)
        case .succeeded(let metadata): return .succeeded(metadata.bounded)
        }
    }
}

extension ObjectMetadata {
    package var bounded: ObjectMetadata {
        if settable.isBounded, checksums.md5.map({ $0.count == 16 }) ?? true { return self }
        var bounded = self
        bounded.settable = settable.bounded
        if let md5 = checksums.md5, md5.count != 16 { bounded.checksums.md5 = nil }
        return bounded
    }
}

extension SettableMetadata {
    fileprivate var isBounded: Bool {
        content.allSatisfy { $0.value.utf8.count <= ContentProperty.maxBytes } && customBytes <= Self.maxCustomBytes
    }

    /// The metadata without properties and custom metadata that exceed an object's limits.
    public var bounded: SettableMetadata {
        var bounded = self
        bounded.content = content.filter { $0.value.utf8.count <= ContentProperty.maxBytes }
        if customBytes > Self.maxCustomBytes { bounded.custom = [:] }
        return bounded
    }
}

extension StorageError {
    /// The maximum size of the message, and of the server's response, in bytes.
    private static let maxTextBytes = 8192
    /// The maximum size of all attempts together, in bytes.
    private static let maxAttemptsBytes = 16384

    /// The error with the beginnings of long texts and the newest attempts.
    var bounded: StorageError {
        var bounded = self
        bounded.message = message.beginning(Self.maxTextBytes)
        bounded.serverResponse = serverResponse?.beginning(Self.maxTextBytes)
        var room = Self.maxAttemptsBytes
        let newest = attempts.reversed().prefix { attempt in
            room -= MemoryLayout<Attempt>.size + attempt.cause.utf8.count
            return room >= 0
        }
        bounded.attempts = newest.reversed()
        return bounded
    }
}

extension String {
    fileprivate func beginning(_ bytes: Int) -> String {
        utf8.count <= bytes ? self : String(decoding: utf8.prefix(bytes), as: UTF8.self) + "…"
    }
}
