// How a task ended is kept after it, in memory and in its record: with bounds, whatever a server has said.

extension TaskOutcome {
    /// Without what no object and no error needs.
    var bounded: TaskOutcome {
        switch self {
        case .cancelled: return self
        case .failed(let error): return .failed(error.bounded)
        case .succeeded(var metadata):
            metadata.settable = metadata.settable.bounded
            if let md5 = metadata.md5, md5.count != 16 { metadata.md5 = nil }
            return .succeeded(metadata)
        }
    }
}

extension SettableMetadata {
    /// Without the properties that are larger than an object may have them, and without custom metadata that is.
    public var bounded: SettableMetadata {
        var bounded = self
        bounded.content = content.filter { $0.value.utf8.count <= ContentProperty.maxBytes }
        if customBytes > Self.maxCustomBytes { bounded.custom = [:] }
        return bounded
    }
}

extension StorageError {
    /// Of the message, and of what a server answered; no more of a string is told either.
    private static let maxTextBytes = 8192
    /// Of all attempts together.
    private static let maxAttemptsBytes = 16384

    /// With the beginnings of long texts, and the newest attempts.
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
    /// So many bytes of it, if it has more.
    fileprivate func beginning(_ bytes: Int) -> String {
        utf8.count <= bytes ? self : String(decoding: utf8.prefix(bytes), as: UTF8.self) + "…"
    }
}
