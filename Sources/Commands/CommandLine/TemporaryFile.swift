import Platform
import Roots
import Synchronization

/// A file in a private directory. The deinitializer removes both; those of a killed process are removed by the next.
final class TemporaryFile {
    let path: String
    private let directory: ScratchDirectory
    private var file: OpenFile?
    private var copied: Int64 = 0
    /// The first one of a process removes what others have left.
    private static let hasSwept = Atomic(false)

    struct Unusable: UserFacingError {
        let message: String
    }

    /// Creates the directory only; the user of the path creates the file.
    init() throws(Unusable) {
        let parent = CurrentProcess.temporaryDirectory
        do throws(SystemError) {
            directory = try ScratchDirectory(
                in: parent, named: "storage-rpc-scratch-", sweeps: !Self.hasSwept.load(ordering: .relaxed))
            Self.hasSwept.store(true, ordering: .relaxed)
        } catch {
            throw Unusable(message: "nothing can be kept in \(parent): \(error.reason)")
        }
        path = directory.path + "/bytes"
    }

    deinit { directory.remove() }

    /// Copies stdin to the file.
    ///
    /// - Parameter wait: returns when stdin has bytes or has ended.
    func fill(waiting wait: () throws -> Void) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 1)
        defer { buffer.deallocate() }
        do {
            let file = try OpenFile(path, [.writing, .create])
            var size: Int64 = 0
            while true {
                try wait()
                let count = try Descriptor.standardInput.readBlocking(into: buffer)
                guard count > 0 else { break }
                try file.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: size)
                size += Int64(count)
            }
        } catch let error as SystemError {
            throw Unusable(message: "standard input cannot be copied to \(path): \(error.reason)")
        }
    }

    /// All of it, at most 64 MiB.
    func text() throws(Unusable) -> String {
        do throws(SystemError) {
            return String(decoding: try OpenFile(path, []).readAll(atMost: 64 << 20), as: UTF8.self)
        } catch {
            throw Unusable(message: "\(path) cannot be read: \(error.reason)")
        }
    }

    /// Copies what a download has written to an output, behind what was copied before.
    ///
    /// - Parameters:
    ///   - size: the number of bytes that are there.
    ///   - isComplete: the download has ended, and the file has its name.
    func copy(to output: Output, upTo size: Int64, isComplete: Bool) throws {
        guard size >= copied else {
            throw Unusable(message: "the object was replaced while it came; what was written is incomplete")
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 1)
        defer { buffer.deallocate() }
        do {
            file = try file ?? (isComplete ? OpenFile(path, []) : partial())
            guard let file else { return }
            while copied < size {
                let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(min(size - copied, 256 << 10))])
                guard case let count = try file.read(into: room, at: copied), count > 0 else { break }
                try output.write(UnsafeRawBufferPointer(rebasing: room[..<count]))
                copied += Int64(count)
            }
        } catch let error as SystemError {
            throw Unusable(message: "\(path) cannot be read: \(error.reason)")
        }
    }

    /// The only file in the directory, whatever a download calls it.
    private func partial() throws(SystemError) -> OpenFile? {
        guard let name = try OpenFile.entries(of: directory.path).first?.name else { return nil }
        return try? OpenFile(directory.path + "/" + name, [])
    }
}
