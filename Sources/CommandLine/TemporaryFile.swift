import Platform

/// A file in a private directory. The deinitializer removes both.
final class TemporaryFile {
    let path: String
    private let directory: String

    struct Unusable: UserFacingError {
        let message: String
    }

    /// Creates the directory only; the user of the path creates the file.
    init() throws(Unusable) {
        let parent = CurrentProcess.environment("TMPDIR") ?? "/tmp"
        do throws(SystemError) {
            directory = try OpenFile.makeTemporaryDirectory("\(parent)/storage-rpc-")
        } catch {
            throw Unusable(message: "nothing can be kept in \(parent): \(error.reason)")
        }
        path = directory + "/bytes"
    }

    deinit {
        _ = OpenFile.remove(path)
        OpenFile.removeDirectory(directory)
    }

    func copyToStdout() throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 1)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        do {
            let file = try OpenFile(path, [])
            while case let count = try file.read(into: buffer, at: offset), count > 0 {
                try Console.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                offset += Int64(count)
            }
        } catch let error as SystemError {
            throw Unusable(message: "\(path) cannot be read: \(error.reason)")
        }
    }
}
