import Platform

/// The files of this machine that uploads read and downloads write, as far as the service may access them.
public protocol LocalFileAccess: Sendable {
    /// Inspects a file before its upload. Throws `unknown` that names path and reason.
    ///
    /// - Parameter tree: between it and the file no link is followed.
    func inspect(_ path: String, below tree: (any LocalTree)?) async throws(StorageError) -> FileIdentity
    /// Inspects a file before its upload and reads it if it has at most `most` bytes, so that the upload need not open
    /// it again. The bytes are nil for a larger file.
    func read(_ path: String, upTo most: Int64) async throws(StorageError) -> (FileIdentity, [UInt8]?)
    /// The directory (an absolute path) that a task over a folder reads or writes.
    func tree(_ directory: String, isWritten: Bool) -> any LocalTree
    /// These files, restricted to the directories of a client.
    func confined(to confinement: LocalConfinement) -> any LocalFileAccess
    /// Finds directories to which a client confines itself. Throws for one that cannot be used.
    func confinement(reading: [String]?, writing: [String]?) async throws(StorageError) -> LocalConfinement
}

extension EngineProperties {
    /// The local files of a client: all that the service may access, unless the client is confined.
    package func localFiles(of confinement: LocalConfinement?) -> any LocalFileAccess {
        confinement.map { files.confined(to: $0) } ?? files
    }
}

/// A local directory and everything below it, as tasks over folders read and change it. No link below the directory is
/// followed. Paths are relative to the directory and have slashes between their segments. Errors name the file.
///
/// The directory is the one that the tree has found first. If another one takes its place, or it is moved away, every use
/// fails. Only a directory that was removed may be made again.
public protocol LocalTree: Sendable {
    /// Begins to hold the directory that the next use finds. A paused task that resumes may find another one.
    func begin()
    /// Closes what the tree holds. Later uses hold nothing, until `begin`.
    func end()
    /// The maximum size of a file's name, in bytes.
    func longestName() async throws(StorageError) -> Int
    /// Opens a directory for reading; the empty path names the tree itself. Throws if it cannot be read.
    func read(_ directory: String) async throws(StorageError) -> any LocalDirectoryReader
    /// The status of a file or a directory, of a link its own; nil if nothing exists at the path.
    func entry(_ path: String) async throws(StorageError) -> LocalEntry?
    /// Whether each file has the bytes of its object, by the MD5 or else the CRC32C of the object. False for a
    /// different size and for an unreadable file. Throws `cancelled` once its caller is cancelled.
    ///
    /// - Parameter index: provides known checksums, which spare reading the file, and receives computed ones. With nil
    ///   all files are read.
    func haveBytes(
        _ files: [(path: String, object: FolderObject)], knownTo index: (any FileChecksums)?
    ) async throws(StorageError) -> [Bool]
    /// Creates the directories that a file needs, including the tree itself. Throws if one of their names is taken by
    /// anything else than a directory.
    func makeParents(of path: String, newFilesMask: UInt32?) async throws(StorageError)
    /// Makes the names in a directory durable; the empty path names the tree itself. Does nothing if it does not exist.
    /// Returns whether `syncNames` has made the name of the directory durable already.
    func sync(_ directory: String) async throws(StorageError) -> Bool
    /// Makes the names of directories durable, and those of all directories above them. Returns for each directory why one of
    /// these names is not durable, or nil.
    func syncNames(of directories: [String]) async -> [StorageError?]
    /// Removes a file, durably, and returns false if it does not exist. Throws for a directory, and for a file that is
    /// no longer `version`.
    func remove(_ path: String, _ version: LocalVersion?) async throws(StorageError) -> Bool
    /// Removes a directory, durably, if it contains only directories, at any depth.
    func removeEmptyDirectory(_ path: String) async throws(StorageError)
    /// The absolute path of a file.
    func absolute(_ path: String) -> String
}

extension String {
    /// The directory of a path in a tree, which is empty for the tree itself, and the name in it.
    public var inTree: (directory: String, name: String) {
        utf8.contains(UInt8(ascii: "/")) ? (parentPath, fileName) : ("", self)
    }
}

/// Reads one directory in pieces, so that the memory does not grow with its size.
public protocol LocalDirectoryReader: Sendable {
    /// The next entries, at most `most`, in the order of the file system; none at the end.
    func next(_ most: Int) async throws(StorageError) -> [LocalEntry]
}

/// An entry of a directory.
public struct LocalEntry: Equatable, Sendable {
    public enum Kind: Equatable, Sendable {
        case file
        case directory
        /// Neither a directory nor a file that can be an object, or unreadable; with the reason, as a sentence without
        /// its subject.
        case other(String)
        /// The kind could not be determined; with the reason, as a sentence without its subject.
        case unknown(String)
    }

    /// The path below the tree. Bytes that are no UTF-8 are replaced; the kind is `other` then.
    public var path: String
    public var kind: Kind
    /// In bytes; 0 for anything but a file.
    public var size: Int64
    /// Nil for anything but a file.
    public var version: LocalVersion?

    public init(_ path: String, _ kind: Kind, size: Int64 = 0, version: LocalVersion? = nil) {
        (self.path, self.kind, self.size, self.version) = (path, kind, size, version)
    }
}

/// Identifies the state of a file between two changes.
public struct LocalVersion: Equatable, Sendable {
    public var inode: UInt64
    /// When the contents, name or permissions were changed, in nanoseconds since 1970.
    public var changed: Int64

    public init(inode: UInt64, changed: Int64) { (self.inode, self.changed) = (inode, changed) }
}
