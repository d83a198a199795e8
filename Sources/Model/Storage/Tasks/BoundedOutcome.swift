// Bounds the outcome of a task, which stays in memory and in its record, whatever a server has sent.

extension TaskOutcome {
    /// Without parts that exceed the bounds of objects and errors.
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
        var bounded = self
        bounded.settable = settable.bounded
        if let md5, md5.count != 16 { bounded.md5 = nil }
        return bounded
    }
}

extension SettableMetadata {
    /// Without properties and custom metadata that exceed an object's limits.
    public var bounded: SettableMetadata {
        var bounded = self
        bounded.content = content.filter { $0.value.utf8.count <= ContentProperty.maxBytes }
        if customBytes > Self.maxCustomBytes { bounded.custom = [:] }
        return bounded
    }
}

extension StorageError {
    /// Bytes of the message and of the server's response.
    private static let maxTextBytes = 8192
    /// Bytes of all attempts together.
    private static let maxAttemptsBytes = 16384

    /// Keeps the beginning of long texts and the newest attempts.
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
