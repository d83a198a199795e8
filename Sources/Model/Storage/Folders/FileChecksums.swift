import Platform

/// What the file system says of a local file. While that is the same, so are its bytes: a write changes `changed`, which
/// no program can put back.
public struct FileStamp: Hashable, Sendable {
    public var device: UInt64
    public var inode: UInt64
    /// In bytes.
    public var size: Int64
    /// When its bytes, and when its bytes, name or permissions were changed, in nanoseconds since 1970.
    public var modified: Int64
    public var changed: Int64

    public init(device: UInt64, inode: UInt64, size: Int64, modified: Int64, changed: Int64) {
        (self.device, self.inode, self.size) = (device, inode, size)
        (self.modified, self.changed) = (modified, changed)
    }

    /// A file that is written again within one tick of the clock of its file system has the same stamp then: one that was
    /// changed less than two seconds before it is read says nothing about its bytes.
    public func isSettled(at time: Timestamp) -> Bool {
        let latest = time.microseconds.subtractingSaturated(2_000_000)
        return latest > changed / 1000
    }
}

/// The checksums of the bytes of a file that are known.
public struct KnownChecksums: Equatable, Sendable {
    public var md5: [UInt8]?
    public var crc32c: UInt32?

    public init(md5: [UInt8]? = nil, crc32c: UInt32? = nil) { (self.md5, self.crc32c) = (md5, crc32c) }

    /// Whether they are those of the object, of which one is enough. Nil where they do not say.
    public func match(_ object: FolderObject) -> Bool? {
        if let expected = object.md5 { return md5.map { $0 == expected } }
        return crc32c.map { $0 == object.crc32c }
    }
}

/// Remembers the checksums of files that were read. What it forgets is read again.
public protocol FileChecksums: Sendable {
    var now: Timestamp { get }
    func known(_ files: [FileStamp]) async -> [FileStamp: KnownChecksums]
    /// Returns at once.
    func note(_ files: [FileStamp: KnownChecksums])
}
