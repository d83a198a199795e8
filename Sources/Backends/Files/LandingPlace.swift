import Glibc
import Storage
import Synchronization

/// The path of a file that is to be written, and the directory that it is in.
struct LandingPlace {
    let path: String

    /// Throws `unknown` that names path and reason unless there is a regular file, or room for a new one.
    func check() throws(StorageError) {
        guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else {
            throw .file(path, "cannot be written: it needs an absolute path")
        }
        guard !["", ".", ".."].contains(name) else { throw .file(path, "is not a regular file but a directory") }
        var status = stat()
        if stat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw .file(path, "is not a regular file but \(SourceFile.kind(of: status.st_mode))")
            }
        } else if errno != ENOENT {
            throw unwritable(.last)
        } else if stat(directory, &status) != 0 {
            throw .file(path, "cannot be written: the directory \(directory) does not exist")
        }
    }

    /// A name in the same directory, hidden, and as unknown to others as the task is. There is another one for each number.
    func temporaryPath(for task: String, number: Int) -> String {
        let end = number == 0 ? ".\(task).part" : ".\(task).\(number).part"
        let room = max(0, longestName - end.utf8.count - 1)
        let start = (0..<4).lazy.compactMap { String(validating: name.utf8.prefix(room - $0), as: UTF8.self) }.first
        return "\(directory == "/" ? "" : directory)/.\(start ?? "")\(end)"
    }

    /// Replaces what is there, with its permissions, or those that every new file of this user gets.
    func take(_ temporary: String, _ file: OpenFile) throws(StorageError) {
        try writing { () throws(SystemError) in
            guard fchmod(file.raw, permissions) == 0, rename(temporary, path) == 0 else { throw .last }
        }
    }

    private var permissions: mode_t {
        var status = stat()
        let isReplaced = lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        return isReplaced ? status.st_mode & 0o777 : 0o666 & ~mode_t(NewFiles.mask.load(ordering: .relaxed))
    }

    func syncDirectory() throws(StorageError) {
        try writing { () throws(SystemError) in
            do throws(SystemError) {
                let directory = try OpenFile(directory, O_RDONLY | O_DIRECTORY)
                guard fsync(directory.raw) == 0 else { throw .last }
            } catch  where error.code == EACCES || error.code == EINVAL {
                // It may be written but not read, or cannot be synced at all: then nobody could do more.
            }
        }
    }

    func writing<Result>(_ body: () throws(SystemError) -> Result) throws(StorageError) -> Result {
        do throws(SystemError) { return try body() } catch { throw unwritable(error) }
    }

    func unwritable(_ error: SystemError) -> StorageError { .file(path, "cannot be written: \(error.reason)") }

    private var slash: String.Index { path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex }
    private var name: String { String(decoding: path.utf8[slash...].dropFirst(), as: UTF8.self) }

    private var directory: String {
        slash == path.startIndex ? "/" : String(decoding: path.utf8[..<slash], as: UTF8.self)
    }

    private var longestName: Int {
        let longest = pathconf(directory, Int32(_PC_NAME_MAX))
        return longest > 0 ? longest : 255
    }
}

/// The files that downloads make.
public enum NewFiles {
    /// What others may not do with them: the user's umask, which the program, for its own files, makes stricter.
    public static let mask = Atomic<UInt32>(0o022)
}
