import Glibc
import Platform

/// A file that nobody else sees, in a directory of its own; both go with their owner.
final class TemporaryFile {
    let path: String
    private let directory: String

    struct Unusable: UserFacingError {
        let message: String
    }

    /// The file itself is for somebody else to make.
    init() throws(Unusable) {
        let parent = CurrentProcess.environment("TMPDIR") ?? "/tmp"
        var name = Array("\(parent)/storage-rpc-XXXXXX".utf8CString)
        guard mkdtemp(&name) != nil else {
            throw Unusable(message: "nothing can be kept in \(parent): \(String(cString: strerror(errno)))")
        }
        directory = String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        path = directory + "/bytes"
    }

    deinit {
        unlink(path)
        rmdir(directory)
    }

    func copyToStdout() throws {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw unreadable }
        defer { close(file) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 1)
        defer { buffer.deallocate() }
        while true {
            let count = read(file, buffer.baseAddress, buffer.count)
            if count == 0 { return }
            guard count > 0 else { throw unreadable }
            guard Console.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: STDOUT_FILENO) else {
                throw OutputError()
            }
        }
    }

    private var unreadable: Unusable {
        Unusable(message: "\(path) cannot be read: \(String(cString: strerror(errno)))")
    }
}
