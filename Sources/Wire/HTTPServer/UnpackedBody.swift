import CChecksums
import Platform
import Synchronization

/// A gzip body that is unpacked while it is sent, for clients that do not accept gzip. It is sent in chunks, since its
/// length is unknown, and takes about 128 KiB of memory, whatever its size. A body that is no gzip, or does not have
/// the checksum of its file, ends without the last chunk.
package final class UnpackedBody: Sendable {
    private static let piece = 64 << 10

    private struct State {
        let inflater: Inflater
        var read: Int64 = 0
        /// The checksum of the packed bytes that were read.
        var crc32c: UInt32 = 0
        /// The bytes that are unpacked and not sent yet.
        var output: ArraySlice<UInt8> = []
        var sent: Int64 = 0
        var isOver = false
    }

    private let packed: HTTPServerResponse.Body
    private let size: Int64
    private let state: Mutex<State>

    /// Nil without zlib.
    @Loop package init?(_ packed: HTTPServerResponse.Body) {
        guard let size = packed.count, let inflater = Inflater() else { return nil }
        (self.packed, self.size) = (packed, size)
        state = Mutex(State(inflater: inflater))
    }

    /// Unpacks the first piece. Returns false where it is no gzip or is damaged: the body is then not sent. Blocks on
    /// the disk.
    package func begin() -> Bool {
        state.withLock { state in
            while state.output.isEmpty { guard unpack(&state) else { return false } }
            return true
        }
    }

    var sent: Int64 { state.withLock { $0.sent } }

    /// Sends about `budget` bytes. Blocks on the disk, never on the client.
    func send(to socket: Int32, _ budget: Int) -> OutgoingResponse.Outcome {
        state.withLock { state in
            var left = budget
            while true {
                while !state.output.isEmpty {
                    guard left > 0 else { return .pausing }
                    let outcome = state.output.withUnsafeBytes { Socket.send($0, to: socket, more: !state.isOver) }
                    guard case .bytes(let count) = outcome, count > 0 else {
                        return outcome == .notNow ? .blocked : .broken
                    }
                    state.output = state.output.dropFirst(count)
                    left -= count
                    state.sent += Int64(count)
                }
                if state.isOver { return .done }
                guard unpack(&state) else { return .broken }
            }
        }
    }

    /// Unpacks the next chunk. Returns false where the body is no gzip or cannot be read.
    private func unpack(_ state: inout State) -> Bool {
        if state.inflater.needsInput {
            guard let more = next(from: state.read) else { return false }
            state.read += Int64(more.count)
            state.crc32c = checksums_crc32c(state.crc32c, more, more.count)
            if more.isEmpty {
                guard isIntact(state.crc32c) else { return false }
                state.isOver = true
                state.output = Array("0\r\n\r\n".utf8)[...]
                return state.inflater.isComplete
            }
            state.inflater.add(more)
        }
        guard let bytes = state.inflater.next(atMost: Self.piece) else { return false }
        if !bytes.isEmpty {
            state.output = (Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8))[...]
        }
        return true
    }

    /// Whether all packed bytes have the checksum of their file. True for a file without a checksum.
    private func isIntact(_ crc32c: UInt32) -> Bool {
        guard case .file(let file) = packed, let checksum = file.checksum, checksum.crc32c != crc32c else {
            return true
        }
        checksum.report(.wrongBytes)
        return false
    }

    /// Reads packed bytes from an offset. Returns none at the end, and nil where they cannot be read.
    private func next(from offset: Int64) -> [UInt8]? {
        let count = Int(min(Int64(Self.piece), size - offset))
        guard count > 0 else { return [] }
        switch packed {
        case .bytes(let bytes): return Array(bytes[Int(offset)..<Int(offset) + count])
        case .file(let file):
            let piece = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                let all = UnsafeMutableRawBufferPointer(buffer)
                filled = (try? OpenFile.read(file.descriptor, into: all, at: file.offset + offset)) ?? 0
            }
            return piece.count == count ? piece : nil
        case .none, .unopened, .unpacked: return []
        }
    }
}
