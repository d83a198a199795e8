import Platform

/// Why a trace file cannot be written.
struct TraceFileError: Error { let reason: String }

/// The file of a trace. Only its owner may read it, and it is only appended to.
struct TraceFile: ~Copyable {
    private let file: OpenFile
    /// The last line is incomplete, because the disk was full.
    private var isMidLine = false

    /// Opens the file, and starts a new line even after an incomplete one.
    init(_ path: String) throws(TraceFileError) {
        let file: OpenFile
        do throws(SystemError) {
            file = try OpenFile(path, [.readingAndWriting, .create, .append, .noLink, .noWaiting])
        } catch {
            throw TraceFileError(reason: error == .link ? "it is a symbolic link" : error.reason)
        }
        let size = try Self.makePrivate(file)
        // The lock tells readers that follow the trace that more may come. A reader holds it for a moment to test it.
        for _ in 0..<20 where !file.lockShared() { blockThread(milliseconds: 1) }
        self.file = file
        isMidLine = size > 0 && Self.byte(of: file, at: size - 1).map { $0 != 0x0A } ?? false
    }

    /// Nil if it cannot be read.
    private static func byte(of file: OpenFile, at offset: Int64) -> UInt8? {
        var byte: UInt8 = 0
        let count = try? withUnsafeMutableBytes(of: &byte) { buffer throws(SystemError) in
            try file.read(into: buffer, at: offset)
        }
        return count == 1 ? byte : nil
    }

    /// Makes the open file private and returns its size. Throws for a file of another owner or with several names.
    private static func makePrivate(_ file: OpenFile) throws(TraceFileError) -> Int64 {
        guard let status = try? file.status(), status.kind == .regular else {
            throw TraceFileError(reason: "it is not a regular file")
        }
        guard status.owner == CurrentProcess.user else { throw TraceFileError(reason: "it belongs to another user") }
        guard status.links == 1 else {
            throw TraceFileError(reason: status.links == 0 ? "it was removed" : "it has other names, too (hard links)")
        }
        guard status.size == 0 || byte(of: file, at: 0) == UInt8(ascii: "{") else {
            throw TraceFileError(reason: "it is there already, and is no trace")
        }
        if status.permissions != 0o600 {
            do throws(SystemError) { try file.setPermissions(0o600) } catch {
                throw TraceFileError(reason: "its permissions cannot be changed: \(error.reason)")
            }
        }
        return status.size
    }

    /// Writes lines. Blocks. Throws if not all of them could be written.
    mutating func write(_ lines: [UInt8]) throws(TraceFileError) {
        let bytes = (isMidLine ? [0x0A] : []) + lines
        var written = 0
        do throws(SystemError) {
            while written < bytes.count { written += try file.append(bytes[written...]) }
        } catch {
            if written > 0 { isMidLine = bytes[written - 1] != 0x0A }
            throw TraceFileError(reason: error.reason)
        }
        isMidLine = false
    }
}
