import Platform

/// The status of a local file. While the stamp is the same, so are the bytes: each write changes `changed`, which no
/// program can reset.
public struct FileStamp: Hashable, Sendable {
    public var device: UInt64
    public var inode: UInt64
    /// In bytes.
    public var size: Int64
    /// When the bytes last changed (`modified`), and when the bytes, the name or the permissions did (`changed`), in
    /// nanoseconds since 1970.
    public var modified: Int64
    public var changed: Int64

    public init(device: UInt64, inode: UInt64, size: Int64, modified: Int64, changed: Int64) {
        (self.device, self.inode, self.size) = (device, inode, size)
        (self.modified, self.changed) = (modified, changed)
    }

    /// Whether the stamp identifies the bytes. Two writes within one tick of the file system's clock leave the same
    /// stamp, so a file that changed less than two seconds before it is read is not settled.
    public func isSettled(at time: Timestamp) -> Bool {
        let latest = time.microseconds.subtractingSaturated(2_000_000)
        return latest > changed / 1000
    }
}

/// A cache of the checksums of files that were read. A file that the cache has dropped is read again.
public protocol FileChecksums: Sendable {
    var now: Timestamp { get }
    func known(_ files: [FileStamp]) async -> [FileStamp: Checksums]
    /// Stores checksums in the background and returns at once.
    func note(_ files: [FileStamp: Checksums])
}
