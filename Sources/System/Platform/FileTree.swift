import CSystem
import Glibc

// Operations on whole trees and files by path, for directories that only their owner may change. Every call blocks.
extension FileSystem {
    /// Whether the path exists, links followed.
    package static func exists(_ path: String) -> Bool { (try? FileStatus(ofPath: path)) != nil }

    /// Creates the missing directories, private and durable. After a failed sync none of them is left, since a later sync
    /// may leave out their names.
    package static func makeDirectories(_ path: String) throws(SystemError) {
        var made: [String] = []
        do throws(SystemError) {
            try makeDirectories(path, &made)
            for directory in made { try OpenFile.syncDirectory(directory.parentPath) }
        } catch {
            made.reversed().forEach(OpenFile.removeDirectory)
            throw error
        }
    }

    /// Creates the missing directories, private, and adds them.
    private static func makeDirectories(_ path: String, _ made: inout [String]) throws(SystemError) {
        let parent = path.parentPath
        do throws(SystemError) {
            if try OpenFile.makeDirectory(path) { made.append(path) }
        } catch {
            guard error == .notFound, parent != "/", parent != "." else { throw error }
            try makeDirectories(parent, &made)
            if try OpenFile.makeDirectory(path) { made.append(path) }
        }
    }

    /// Makes the names of a directory, and of all directories above it, durable: an earlier process may have created any of
    /// them, and ended before its name was. Ignores directories that cannot be read or synced.
    package static func syncNames(above directory: OpenFile) throws(SystemError) {
        guard Durability.ofProcess == .full else { return }
        var (directory, key) = (directory, try directory.status().key)
        while let above = try directory.directoryAbove(key) {
            try OpenFile.syncDirectory(".", in: above.directory)
            (directory, key) = above
        }
    }

    /// Removes the path with everything below it, without following links. Returns false if something is left.
    @discardableResult
    package static func remove(_ path: String) -> Bool { csystem_remove_tree(path) == 0 }

    /// Copies the bytes of a file to a new one, which only its owner may read.
    package static func copy(_ path: String, to other: String) throws(SystemError) {
        let (source, copy) = (try OpenFile(path, []), try OpenFile(other, [.writing, .new]))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 1)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while true {
            let count = try source.read(into: buffer, at: offset)
            guard count > 0 else { return }
            try copy.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset)
            offset += Int64(count)
        }
    }
}

extension OpenFile {
    /// The directory that has the name of this one. Nil for the root of a file system, whose name is in no directory of it,
    /// and if this user may not open the directory, and so cannot have created anything there or above.
    ///
    /// - Parameter key: that of this directory.
    package func directoryAbove(
        _ key: FileStatus.Key
    ) throws(SystemError) -> (directory: OpenFile, key: FileStatus.Key)? {
        let directory: OpenFile
        do throws(SystemError) { directory = try OpenFile(placeOfDirectory: "..", in: self) } catch {
            if error == .denied { return nil }
            throw error
        }
        let above = try directory.status().key
        return above.device == key.device && above != key ? (directory, above) : nil
    }
}
