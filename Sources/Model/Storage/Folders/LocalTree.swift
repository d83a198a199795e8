/// A local directory with all that is below it, as tasks over folders read and change it. No link below the directory is
/// followed. Paths are relative to it, with slashes between their segments. Errors name the file.
public protocol LocalTree: Sendable {
    /// How many bytes the name of a file may have.
    func longestName() async throws(StorageError) -> Int
    /// Reads a directory; an empty path is the tree's own. Throws where it cannot be read.
    func read(_ directory: String) async throws(StorageError) -> any LocalDirectoryReader
    /// The status of a file; nil where there is nothing. A link is not followed.
    func entry(_ path: String) async throws(StorageError) -> LocalEntry?
    /// Whether the MD5 or the CRC32C of each file, the one that its object has, equals that of the object. False for another
    /// size, and for what cannot be read. Throws `cancelled` once its caller is cancelled.
    ///
    /// - Parameter index: files that it knows are not read, and it gets the checksums of the others. Nil where all are read.
    func haveBytes(
        _ files: [(path: String, object: FolderObject)], knownTo index: (any FileChecksums)?
    ) async throws(StorageError) -> [Bool]
    /// Creates the directories that a file needs, the tree's own too. Throws where something else than a directory has
    /// the name of one. They are durable.
    func makeParents(of path: String, newFilesMask: UInt32?) async throws(StorageError)
    /// Removes a file, durably, and returns false where there is none. Throws for a directory, and for a file that is
    /// not `version` any more.
    func remove(_ path: String, _ version: LocalVersion?) async throws(StorageError) -> Bool
    /// Removes a directory, durably, if all that is below it are directories.
    func removeEmptyDirectory(_ path: String) async throws(StorageError)
    /// The absolute path of a file.
    func absolute(_ path: String) -> String
}

/// Reads one directory in pieces: the memory does not grow with it.
public protocol LocalDirectoryReader: Sendable {
    /// At most so many entries; none at the end. In the order of the file system.
    func next(_ most: Int) async throws(StorageError) -> [LocalEntry]
}

/// What is in a directory.
public struct LocalEntry: Equatable, Sendable {
    public enum Kind: Equatable, Sendable {
        case file
        case directory
        /// It is no file that could be an object, or may not be read: why, as a sentence without its subject.
        case other(String)
        /// It is not known what it is: why, as a sentence without its subject.
        case unknown(String)
    }

    /// Below the tree. Bytes that are no UTF-8 are replaced: its kind is `other` then.
    public var path: String
    public var kind: Kind
    /// In bytes; 0 unless it is a file.
    public var size: Int64
    /// Nil unless it is a file.
    public var version: LocalVersion?

    public init(_ path: String, _ kind: Kind, size: Int64 = 0, version: LocalVersion? = nil) {
        (self.path, self.kind, self.size, self.version) = (path, kind, size, version)
    }
}

/// Tells a file from what it is after a change.
public struct LocalVersion: Equatable, Sendable {
    public var inode: UInt64
    /// When its contents, name or permissions were changed, in nanoseconds since 1970.
    public var changed: Int64

    public init(inode: UInt64, changed: Int64) { (self.inode, self.changed) = (inode, changed) }
}
