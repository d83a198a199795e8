import Checksums
import HTTPText
import Platform
import Storage

/// A local file that is being uploaded. It must not change after the upload was created.
package struct SourceFile {
    private let path: String
    private let identity: FileIdentity
    private let allowed: AllowedDirectories?
    private let file: OpenFile

    /// Throws `unauthorized` if the file is outside the allowed directories, and `unknown` with path and reason if it
    /// cannot be read or has changed.
    package init(_ path: String, _ identity: FileIdentity, in allowed: AllowedDirectories?) throws(StorageError) {
        (self.path, self.identity, self.allowed) = (path, identity, allowed)
        file = try Self.open(path, in: allowed)
        file.expectReading()
        try checkUnchanged()
        guard try Self.ends(of: file, identity.size, path) == identity.ends else {
            throw changed("its first or its last bytes are others")
        }
    }

    private init(_ path: String, _ identity: FileIdentity, _ file: OpenFile) {
        (self.path, self.identity, self.file, allowed) = (path, identity, file, nil)
    }

    /// Inspects a file, and reads it if it has at most `most` bytes. The bytes are nil if the file changes meanwhile;
    /// its upload reports that.
    package static func read(
        _ path: String, upTo most: Int64, in allowed: AllowedDirectories?
    ) throws(StorageError) -> (FileIdentity, [UInt8]?) {
        let file = try open(path, in: allowed)
        var identity = FileIdentity(try status(of: file, path), generation: file.inodeGeneration)
        guard identity.size <= most, let bytes = try? SourceFile(path, identity, file).readUnchanged() else {
            identity.ends = try ends(of: file, identity.size, path)
            return (identity, nil)
        }
        identity.ends = ends(of: bytes)
        return (identity, bytes)
    }

    /// Returns the current identity of the file. Throws like `init`.
    ///
    /// - Parameter tree: between it and the file no link is followed.
    package static func inspect(
        _ path: String, below tree: TreeDirectories? = nil, in allowed: AllowedDirectories?
    ) throws(StorageError) -> FileIdentity {
        let file = try open(path, in: allowed)
        if let tree, let location = file.locationBytes { try tree.check(location, of: path, for: path) }
        var identity = FileIdentity(try status(of: file, path), generation: file.inodeGeneration)
        identity.ends = try ends(of: file, identity.size, path)
        return identity
    }

    /// Fills the buffer. A file that ends early counts as changed.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StorageError) {
        let count = try Self.trying(path, "read") { () throws(SystemError) in try file.read(into: buffer, at: offset) }
        guard count == buffer.count else { throw changed("it became shorter") }
    }

    /// Reads a small file, and checks that it has not changed meanwhile.
    package func readWhole() throws(StorageError) -> [UInt8] {
        let bytes = try readAll()
        try checkUnchanged()
        return bytes
    }

    /// Reads all bytes, and checks the open file, but not which file is at the path.
    private func readUnchanged() throws(StorageError) -> [UInt8] {
        let bytes = try readAll()
        try checkOpenUnchanged()
        return bytes
    }

    private func readAll() throws(StorageError) -> [UInt8] {
        try [UInt8](count: Int(identity.size)) { buffer throws(StorageError) in try read(into: buffer, at: 0) }
    }

    /// Compares the identities of the file at the path, whose error is more helpful, and of the open file.
    package func checkUnchanged() throws(StorageError) {
        try compare(currentIdentity())
        try checkOpenUnchanged()
    }

    private func checkOpenUnchanged() throws(StorageError) {
        try compare(FileIdentity(Self.status(of: file, path), generation: file.inodeGeneration))
        try checkEnd()
    }

    private func currentIdentity() throws(StorageError) -> FileIdentity {
        if let allowed, !allowed.isOwn {
            let found = try allowed.find(path) { _ in changed("it was removed") }
            return FileIdentity(try Self.status(of: found, path))
        }
        do throws(SystemError) {
            return FileIdentity(try FileStatus(ofPath: path))
        } catch {
            throw error == .notFound
                ? changed("it was removed") : .file(path, "cannot be inspected: \(error.reason)")
        }
    }

    /// Throws if the file is longer than its size says, as files of /proc are.
    private func checkEnd() throws(StorageError) {
        var next: UInt8 = 0
        let count = try Self.trying(path, "read") { () throws(SystemError) in
            try withUnsafeMutableBytes(of: &next) { byte throws(SystemError) in
                try file.read(into: byte, at: identity.size)
            }
        }
        guard count == 0 else { throw changed("there is more in it than the \(identity.size) bytes of its size") }
    }

    private func compare(_ now: FileIdentity) throws(StorageError) {
        if let change = now.change(since: identity) { throw changed(change) }
    }

    private func changed(_ how: String) -> StorageError { .file(path, "changed while it was being uploaded: \(how)") }

    /// Opens only regular files: opening a device may have effects, and a pipe would wait for its writer.
    private static func open(_ path: String, in allowed: AllowedDirectories?) throws(StorageError) -> OpenFile {
        let found = try find(path, in: allowed)
        let location = found.location
        if let why = location.flatMap(ClientPath.refusal) { throw .file(path, why) }
        if allowed?.isOwn != true { try checkOutsideRoot(path, at: location ?? path) }
        _ = try status(of: found, path)
        do throws(SystemError) {
            return try OpenFile(location == nil ? path : found.pathInProc, .noWaiting)
        } catch {
            throw unopenable(path, error)
        }
    }

    /// Throws for what is, or would be, in the root of the service: its files have the bytes of all objects.
    private static func checkOutsideRoot(_ path: String, at location: String) throws(StorageError) {
        var place = location
        while place != "/", place != "." {
            place = place.parentPath
            guard let directory = try? OpenFile(placeAt: place, isDirectory: true, noMagicLinks: false) else {
                continue
            }
            guard !ReservedDirectory.covers(directory, at: directory.locationBytes) else {
                throw .file(path, "cannot be read: it would be in the root of the service, whose files are its own")
            }
            return
        }
    }

    private static func find(_ path: String, in allowed: AllowedDirectories?) throws(StorageError) -> OpenFile {
        do throws(StorageError) {
            if let allowed, !allowed.isOwn { return try allowed.find(path) { unopenable(path, $0) } }
            do throws(ClientPath.Failure) { return try ClientPath.open(path) } catch { throw unopenable(path, error) }
        } catch {
            // A refusal does not tell whether the file exists.
            if error.code != .unauthorized { try checkOutsideRoot(path, at: path) }
            throw error
        }
    }

    private static func unopenable(_ path: String, _ failure: ClientPath.Failure) -> StorageError {
        switch failure {
        case .system(let error): unopenable(path, error)
        case .refused(let why): .file(path, why)
        }
    }

    private static func unopenable(_ path: String, _ error: SystemError) -> StorageError {
        .file(path, error == .notFound ? "does not exist" : "cannot be opened: \(error.reason)")
    }

    private static func status(of file: OpenFile, _ path: String) throws(StorageError) -> FileStatus {
        let status = try trying(path, "inspected") { () throws(SystemError) in try file.status() }
        guard status.kind == .regular else { throw .file(path, "is not a regular file but \(status.kind.name)") }
        return status
    }

    private static let block: Int64 = 4096

    private static func ends(of bytes: [UInt8]) -> UInt32 {
        var checksum = Checksum()
        let block = Int(block)
        bytes.withUnsafeBytes { bytes in
            checksum.updateCRC(UnsafeRawBufferPointer(rebasing: bytes.prefix(block)))
            if bytes.count > block { checksum.updateCRC(UnsafeRawBufferPointer(rebasing: bytes.suffix(block))) }
        }
        return checksum.crc32c
    }

    /// The CRC32C of the first and the last block, which overlap in a short file.
    private static func ends(of file: OpenFile, _ size: Int64, _ path: String) throws(StorageError) -> UInt32 {
        var checksum = Checksum()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(block), alignment: 1)
        defer { buffer.deallocate() }
        for offset in size > block ? [0, size - block] : [0] {
            let count = try trying(path, "read") { () throws(SystemError) in try file.read(into: buffer, at: offset) }
            checksum.updateCRC(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
        return checksum.crc32c
    }

    private static func trying<Value>(
        _ path: String, _ participle: String, _ body: () throws(SystemError) -> Value
    ) throws(StorageError) -> Value {
        do throws(SystemError) { return try body() } catch {
            throw .file(path, "cannot be \(participle): \(error.reason)")
        }
    }
}

extension FileIdentity {
    fileprivate init(_ status: FileStatus, generation: UInt32? = nil) {
        self.init(
            size: status.size, modifiedSeconds: status.modified.seconds,
            modifiedNanoseconds: status.modified.nanoseconds, inode: status.inode, ends: 0)
        (changedSeconds, changedNanoseconds) = (status.changed.seconds, status.changed.nanoseconds)
        self.generation = generation
    }
}

extension Upload {
    /// Throws `nonMatchingChecksum` unless the MD5 is the expected one.
    package func checkMD5(_ md5: [UInt8]) throws(StorageError) {
        guard let expectedMD5, [UInt8](base64: expectedMD5) != md5 else { return }
        throw StorageError(
            .nonMatchingChecksum,
            "The bytes have the MD5 \(md5.base64), but metadata.md5Hash says \(expectedMD5).\(ofAllRequests)")
    }

    /// A sentence about the bytes of an upload whose client sends them in several requests; empty for other uploads.
    private var ofAllRequests: String {
        guard case .incoming(let bytes) = source, let piece = bytes.piece, piece.range.lowerBound > 0 else { return "" }
        return " They are the bytes of all requests of the upload, also of those that broke off; the upload has ended."
    }

    /// Throws `nonMatchingChecksum` unless all checksums that the client has sent are right.
    package func check(md5: [UInt8], _ crc32c: UInt32) throws(StorageError) {
        try checkMD5(md5)
        let found = Checksums(md5: md5, crc32c: crc32c)
        var difference = found.difference(from: Checksums(crc32c: expectedCRC32C))
        if case .incoming(let bytes) = source { difference = bytes.expected.difference(from: found) ?? difference }
        guard let difference else { return }
        throw StorageError(
            .nonMatchingChecksum,
            "The bytes do not have the \(difference.rawValue) that the client has sent.\(ofAllRequests)")
    }
}
