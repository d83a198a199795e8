import CChecksums
import Platform

/// Sends a file while verifying its checksum.
///
/// Every byte is sent from the buffer that was checksummed, and the last ones only if the checksum matches: no client
/// gets a complete answer with wrong bytes. The buffer lasts for one slice, and unsent bytes are read again, so a slow
/// client holds neither memory nor a thread.
struct VerifiedFile: Sendable {
    private static let bufferSize = 256 << 10

    private let file: ServedFile
    private let checksum: ServedFile.Checksum
    /// The CRC of the sent bytes.
    private var crc32c: UInt32 = 0
    private(set) var sent: Int64 = 0

    /// Returns nil without a checksum.
    init?(_ file: ServedFile) {
        guard let checksum = file.checksum else { return nil }
        (self.file, self.checksum) = (file, checksum)
    }

    /// Sends about `budget` bytes. Blocks on the disk, never on the client.
    mutating func send(to socket: Int32, _ budget: Int) -> OutgoingResponse.Outcome {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferSize, alignment: 4096)
        defer { buffer.deallocate() }
        var left = budget
        while sent < file.count {
            guard left > 0 else { return .pausing }
            guard let piece = readVerified(into: buffer) else { return .broken }
            let isLast = sent + Int64(piece.count) == file.count
            let outcome = Socket.send(piece, to: socket, more: !isLast)
            guard case .bytes(let count) = outcome, count > 0 else { return outcome == .notNow ? .blocked : .broken }
            crc32c = checksums_crc32c(crc32c, piece.baseAddress, count)
            sent += Int64(count)
            left -= count
        }
        return .done
    }

    /// Reads the next bytes to send. Reports an error and returns nil where there are none.
    private func readVerified(into buffer: UnsafeMutableRawBufferPointer) -> UnsafeRawBufferPointer? {
        let wanted = Int(min(Int64(buffer.count), file.count - sent))
        if let fault = fill(UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])) {
            checksum.report(fault)
            return nil
        }
        let isLast = sent + Int64(wanted) == file.count
        if isLast, checksums_crc32c(crc32c, buffer.baseAddress, wanted) != checksum.crc32c {
            checksum.report(.wrongBytes)
            return nil
        }
        return UnsafeRawBufferPointer(rebasing: buffer[..<wanted])
    }

    /// Fills the buffer with the next bytes. Returns the fault, if any.
    private func fill(_ buffer: UnsafeMutableRawBufferPointer) -> ServedFile.Fault? {
        do throws(SystemError) {
            let filled = try OpenFile.read(file.descriptor, into: buffer, at: file.offset + sent)
            return filled == buffer.count ? nil : .wrongBytes
        } catch {
            return .unreadable(errno: error.code)
        }
    }
}
