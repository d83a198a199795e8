import Checksums
import Platform
import Storage
import Synchronization

/// A local directory that a client has named, with everything below it.
package final class DirectoryTree: LocalTree {
    let directories: TreeDirectories
    private let isWritten: Bool
    private let threads: WorkerThreads

    /// - Parameters:
    ///   - path: an absolute path.
    ///   - threads: the threads that read directories and hash files.
    ///   - sync: makes the names in a directory durable.
    package init(
        _ path: String, in policy: FileAccessPolicy, isWritten: Bool, on threads: WorkerThreads,
        sync: @escaping @Sendable (OpenFile) throws(SystemError) -> Void = { directory throws(SystemError) in
            try DirectorySync.sync(directory)
        }
    ) {
        directories = TreeDirectories(path, in: isWritten ? policy.writing : policy.reading, sync: sync)
        (self.isWritten, self.threads) = (isWritten, threads)
    }

    package func begin() { directories.begin() }
    package func end() { directories.end() }

    package func absolute(_ path: String) -> String { directories.absolute(path) }

    /// 255 if the directory does not exist yet.
    package func longestName() async throws(StorageError) -> Int {
        try await run { [directories] () throws(StorageError) in
            guard case .directory(let directory) = try directories.open("") else { return 255 }
            return directory.longestName ?? 255
        }
    }

    package func read(_ directory: String) async throws(StorageError) -> any LocalDirectoryReader {
        try await run { [directories, threads] () throws(StorageError) in
            let path = directories.absolute(directory)
            switch try directories.open(directory) {
            case .nothing(let error): throw .unreadable(path, error)
            case .directory(let opened):
                do throws(SystemError) { return try DirectoryReader(directory, opened, path, on: threads) } catch {
                    throw .unreadable(path, error)
                }
            }
        }
    }

    /// The status of a path; the empty path names the tree itself.
    package func entry(_ path: String) async throws(StorageError) -> LocalEntry? {
        try await run { [directories] () throws(StorageError) in
            if path.isEmpty {
                if case .directory = try directories.open("") { return LocalEntry("", .directory) }
                return nil
            }
            guard let file = try directories.find(path), let status = try file.status() else { return nil }
            return LocalEntry(path, status, in: file.directory.location)
        }
    }

    /// The results are also false for anything but regular files.
    package func haveBytes(
        _ files: [(path: String, object: FolderObject)], knownTo index: (any FileChecksums)?
    ) async throws(StorageError) -> [Bool] {
        guard let index else { return try await compare(files, clock: nil).answers }
        let stamps = try await comparing { [directories] _ in directories.stamps(of: files.map(\.path)) }
        let known = await index.known(stamps.compactMap(\.self))
        var answers = zip(files, stamps).map { file, stamp in
            stamp.flatMap {
                $0.size == file.object.size ? known[$0]?.agree(with: file.object.checksums.strongest) : nil
            }
        }
        let rest = answers.indices.filter { answers[$0] == nil }
        let (found, read) = try await compare(rest.map { files[$0] }) { index.now }
        for (position, answer) in zip(rest, found) { answers[position] = answer }
        index.note(read)
        return answers.map { $0 ?? false }
    }

    /// Reads the files and compares them. With a clock it also returns the checksums that may be cached.
    private func compare(
        _ files: [(path: String, object: FolderObject)], clock: (@Sendable () -> Timestamp)?
    ) async throws(StorageError) -> (answers: [Bool], read: [FileStamp: Checksums]) {
        guard !files.isEmpty else { return ([], [:]) }
        return try await comparing { [directories] isCancelled throws(StorageError) in
            var answers: [Bool] = [], read: [FileStamp: Checksums] = [:]
            try directories.forEach(files.map(\.path)) { number, file throws(StorageError) in
                do throws(StorageError) {
                    let object = files[number].object
                    let answer = try file?.compare(with: object, at: clock?(), isCancelled: isCancelled)
                    if let (stamp, checksums) = answer?.read { read[stamp] = checksums }
                    answers.append(answer?.isSame ?? false)
                } catch  where error.code != .cancelled {
                    answers.append(false)
                }
            }
            return (answers, read)
        }
    }

    private func comparing<Answer: Sendable>(
        _ body: @escaping @Sendable (_ isCancelled: () -> Bool) throws(StorageError) -> Answer
    ) async throws(StorageError) -> Answer {
        let isCancelled = CancellationFlag()
        return try await withTaskCancellationHandler {
            await threads.run { Result { () throws(StorageError) in try body { isCancelled.isSet } } }
        } onCancel: {
            isCancelled.set()
        }.get()
    }

    package func makeParents(of path: String, newFilesMask: UInt32?) async throws(StorageError) {
        try checkWriting(path)
        try await run { [directories] () throws(StorageError) in
            try directories.check(path)
            try directories.make(path.inTree.directory, mask: newFilesMask ?? NewFiles.mask.load(ordering: .relaxed))
        }
    }

    package func sync(_ directory: String) async throws(StorageError) -> Bool {
        try await run { [directories] () throws(StorageError) in try directories.sync(directory) }
    }

    package func syncNames(of paths: [String]) async -> [StorageError?] {
        await threads.run { [directories] in directories.syncNames(of: paths) }
    }

    package func remove(_ path: String, _ version: LocalVersion?) async throws(StorageError) -> Bool {
        try checkWriting(path)
        return try await run { [directories] () throws(StorageError) in
            try directories.find(path)?.remove(version) ?? false
        }
    }

    package func removeEmptyDirectory(_ path: String) async throws(StorageError) {
        try checkWriting(path)
        try await run { [directories] () throws(StorageError) in try directories.removeEmpty(path) }
    }

    private func checkWriting(_ path: String) throws(StorageError) {
        guard isWritten else { throw StorageError(.internalError, "\(absolute(path)) is in a tree that is read.") }
    }

    private func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        try await threads.run { Result { () throws(StorageError) in try body() } }.get()
    }
}

/// Tells work on a thread that its result is no longer wanted.
private final class CancellationFlag: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }
    func set() { flag.store(true, ordering: .relaxed) }
}

/// A name in a directory of a tree. Every call may block.
private struct TreeFile {
    /// The path below the tree.
    let place: String
    let path: String
    let name: String
    let directory: OpenFile

    /// Another file in the same directory; nil for one in another directory.
    func sibling(_ place: String) -> TreeFile? {
        let start = self.place.utf8.dropLast(name.utf8.count), other = place.utf8.dropFirst(start.count)
        guard place.utf8.starts(with: start), !other.contains(UInt8(ascii: "/")), let name = String(other),
            !["", ".", ".."].contains(name), !other.contains(0)
        else { return nil }
        let parent = path.utf8.dropLast(self.name.utf8.count)
        return TreeFile(
            place: place, path: String(decoding: parent, as: UTF8.self) + name, name: name, directory: directory)
    }

    /// Nil if nothing exists at the path.
    func status() throws(StorageError) -> FileStatus? {
        do throws(SystemError) { return try directory.status(of: name) } catch {
            if error == .notFound || error == .nameTooLong { return nil }
            throw .file(path, "cannot be inspected: \(error.reason)")
        }
    }

    func remove(_ version: LocalVersion?) throws(StorageError) -> Bool {
        guard let status = try status() else { return false }
        let kind = status.kind
        guard kind == .regular || kind == .link else { throw .file(path, "is not a regular file but \(kind.name)") }
        guard version == nil || version == LocalVersion(status) else {
            throw .file(path, "was changed meanwhile, so it is not removed")
        }
        do throws(SystemError) {
            guard try directory.remove(name) else { return false }
            try DirectorySync.sync(directory)
            return true
        } catch {
            throw .file(path, "cannot be removed: \(error.reason)")
        }
    }

    /// Compares the file's bytes with the object's, after their sizes. Also returns the checksums if they may be
    /// cached: the bytes that were read must have been unchanged since some time before `now`.
    func compare(
        with object: FolderObject, at now: Timestamp?, isCancelled: () -> Bool
    ) throws(StorageError) -> (isSame: Bool, read: (FileStamp, Checksums)?) {
        guard let status = try status(), status.kind == .regular, status.size == object.size else {
            return (false, nil)
        }
        let wanted = object.checksums.strongest
        if wanted.isEmpty { return (false, nil) }
        do throws(SystemError) {
            let file = try OpenFile(name, [.noLink, .noWaiting], in: directory)
            let before = try file.status()
            guard before.kind == .regular else { return (false, nil) }
            file.expectReading()
            var checksum = Checksum()
            let isWhole = try file.pass(object.size, while: { !isCancelled() }) { bytes in
                checksum.update(bytes, like: wanted)
            }
            guard isWhole else {
                guard isCancelled() else { return (false, nil) }
                throw .interrupted
            }
            let found = Checksums(checksum, like: wanted)
            let stamp = FileStamp(before)
            let isUnchanged = try FileStamp(file.status()) == stamp
            let mayBeKept = isUnchanged && now.map { stamp.isSettled(at: $0) } == true
            return (found == wanted, mayBeKept ? (stamp, found) : nil)
        } catch {
            if error == .notFound || error == .link { return (false, nil) }
            if error == .interrupted { throw StorageError(.cancelled, "The comparison of \(path) was cancelled.") }
            throw .file(path, "cannot be read: \(error.reason)")
        }
    }
}

extension FileStamp {
    fileprivate init(_ status: FileStatus) {
        self.init(
            device: status.device, inode: status.inode, size: status.size, modified: status.modified.sinceEpoch,
            changed: status.changed.sinceEpoch)
    }
}

extension FileStatus.Time {
    /// The time in nanoseconds since 1970.
    var sinceEpoch: Int64 { seconds &* 1_000_000_000 &+ nanoseconds }
}

extension TreeDirectories {
    /// The stamps of regular files; nil for anything else, and for files that cannot be inspected.
    fileprivate func stamps(of paths: [String]) -> [FileStamp?] {
        var stamps: [FileStamp?] = []
        forEach(paths) { _, file in
            let status = try? file?.status()
            stamps.append(status.flatMap { $0.kind == .regular ? FileStamp($0) : nil })
        }
        return stamps
    }

    /// Calls the body with each file; nil for a missing one, and for one whose directory cannot be read.
    fileprivate func forEach<Failure: Error>(
        _ paths: [String], _ body: (_ number: Int, TreeFile?) throws(Failure) -> Void
    ) throws(Failure) {
        var last: TreeFile?
        for (number, path) in paths.enumerated() {
            // Most files are in the same directory as the previous one, which is then not opened again.
            last = if let sibling = last?.sibling(path) { sibling } else { try? find(path) }
            try body(number, last)
        }
    }

    /// Removes a directory if it contains only directories, at any depth.
    fileprivate func removeEmpty(_ path: String) throws(StorageError) {
        var (unread, found): ([String], [TreeFile]) = ([path], [])
        while let place = unread.popLast() {
            guard let file = try find(place), case .directory(let directory) = try open(place) else { return }
            found.append(file)
            do throws(SystemError) {
                let entries = try DirectoryEntries(of: directory)
                while let entry = try entries.next() {
                    guard entry.isUTF8, try directory.status(of: entry.name).kind == .directory else { return }
                    unread.append("\(place)/\(entry.name)")
                }
            } catch {
                throw .file(absolute(place), "cannot be read: \(error.reason)")
            }
        }
        for file in found.reversed() {
            do throws(SystemError) {
                try file.directory.removeDirectory(file.name)
                try DirectorySync.sync(file.directory)
            } catch {
                throw .file(file.path, "cannot be removed: \(error.reason)")
            }
        }
    }

    /// Nil if the directory of the file is missing.
    fileprivate func find(_ path: String) throws(StorageError) -> TreeFile? {
        let (parent, name) = path.inTree
        guard !name.isEmpty else { throw .file(absolute(path), "is not a regular file but a directory") }
        try check(path)
        guard case .directory(let directory) = try open(parent) else { return nil }
        return TreeFile(place: path, path: absolute(path), name: name, directory: directory)
    }
}

extension OpenFile {
    fileprivate static let pieceSize = 256 << 10

    /// Passes the bytes to `body` in pieces. Returns false if the file has another size, or if `mayGoOn` returns false.
    fileprivate func pass(
        _ size: Int64, while mayGoOn: () -> Bool, _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(SystemError) -> Bool {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while mayGoOn() {
            let count = try read(into: buffer, at: offset)
            body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
            if offset > size || count < buffer.count { return offset == size }
        }
        return false
    }
}

/// Reads one directory of a tree, which stays open as long as the reader exists.
private final class DirectoryReader: LocalDirectoryReader {
    fileprivate struct Source: ~Copyable {
        /// The path below the tree.
        let path: String
        let absolutePath: String
        let directory: OpenFile
        let location: String?
        let entries: DirectoryEntries
    }

    private let source: SerialQueue<Source>

    /// Opens the directory. Blocks.
    init(
        _ path: String, _ directory: OpenFile, _ absolutePath: String, on threads: WorkerThreads
    ) throws(SystemError) {
        let source = Source(
            path: path, absolutePath: absolutePath, directory: directory, location: directory.location,
            entries: try DirectoryEntries(of: directory))
        self.source = SerialQueue(on: threads, source)
    }

    func next(_ most: Int) async throws(StorageError) -> [LocalEntry] {
        try await source.run { source throws(StorageError) in
            do throws(SystemError) { return try source.next(most) } catch {
                throw .unreadable(source.absolutePath, error)
            }
        }
    }
}

extension DirectoryReader.Source {
    fileprivate func next(_ most: Int) throws(SystemError) -> [LocalEntry] {
        var found: [LocalEntry] = []
        while found.count < most, let entry = try entries.next() {
            if let entry = describe(entry) { found.append(entry) }
        }
        return found
    }

    /// Nil for an entry that no longer exists, and for the partial file of a download.
    private func describe(_ entry: DirectoryEntries.Entry) -> LocalEntry? {
        let path = path.isEmpty ? entry.name : "\(path)/\(entry.name)"
        if DestinationFile.isTemporary(entry.name) { return nil }
        guard entry.isUTF8 else { return LocalEntry(path, .other("has a name that is not UTF-8")) }
        if let kind = entry.kind, kind != .regular, kind != .directory {
            return LocalEntry(path, .other("is \(kind.name)"))
        }
        do throws(SystemError) {
            return LocalEntry(path, try directory.status(of: entry.name), in: location)
        } catch {
            return error == .notFound ? nil : LocalEntry(path, .unknown("cannot be inspected: \(error.reason)"))
        }
    }
}

extension StorageError {
    fileprivate static func unreadable(_ directory: String, _ error: SystemError) -> StorageError {
        StorageError(.unknown, "Directory \(directory) cannot be read: \(error.reason).").with(\.file, directory)
    }
}

extension LocalEntry {
    /// - Parameter location: the location of the entry's directory.
    fileprivate init(_ path: String, _ status: FileStatus, in location: String?) {
        self.init(path, Kind(path.fileName, status, in: location))
        if kind == .file { (size, version) = (status.size, LocalVersion(status)) }
    }
}

extension LocalVersion {
    fileprivate init(_ status: FileStatus) {
        self.init(inode: status.inode, changed: status.changed.sinceEpoch)
    }
}

extension LocalEntry.Kind {
    fileprivate init(_ name: String, _ status: FileStatus, in location: String?) {
        switch status.kind {
        case .regular: self = .file
        case .directory where ReservedDirectory.has(status.key): self = .other(TreeDirectories.reserved)
        case .directory:
            let refusal = location.flatMap { ClientPath.refusal(of: $0 == "/" ? "/" + name : "\($0)/\(name)") }
            self = refusal.map { .other($0) } ?? .directory
        default: self = .other("is \(status.kind.name)")
        }
    }
}

extension FileStatus.Kind {
    /// The kind with its article, for messages.
    var name: String {
        switch self {
        case .regular: "a regular file"
        case .directory: "a directory"
        case .link: "a symbolic link"
        case .pipe: "a pipe"
        case .socket: "a socket"
        case .device: "a device"
        case .other: "something else"
        }
    }
}
