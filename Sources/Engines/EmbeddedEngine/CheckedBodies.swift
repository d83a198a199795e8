import HTTPServer
import HTTPText
import Platform
import Storage
import Synchronization

/// What this process has found out about stored bytes, in memory alone.
///
/// Copies share a file, so that damage is known of all of them. No number of a file is used twice. Where it is the row of an
/// object that is damaged, other objects keep their bytes.
final class CheckedBodies: Sendable {
    enum Body: Hashable {
        /// By its number, and what an object says of it.
        case file(Int64, size: Int64, crc32c: UInt32)
        case row(generation: Int64)
    }

    private struct Stamp: Equatable {
        let size: Int64
        let (seconds, nanoseconds): (Int64, Int64)

        init(_ status: FileStatus) {
            (size, seconds, nanoseconds) = (status.size, status.changed.seconds, status.changed.nanoseconds)
        }
    }

    private struct State {
        var damaged: Set<Body> = []
        var intact: [Body: Stamp] = [:]
    }

    /// Beyond it all are forgotten: they are found out again.
    private static let most = 1024

    private let state = Mutex(State())
    private let complain: @Sendable (String) -> Void

    init(complain: @escaping @Sendable (String) -> Void) { self.complain = complain }

    /// Throws `nonMatchingChecksum` where the bytes of an object are known to be damaged.
    func check(_ object: ObjectMetadata, inFile file: Int64) throws(StorageError) {
        guard state.withLock({ $0.damaged.contains(object.checkedBody(file: file)) }) else { return }
        throw StorageError.damagedBytes(of: object, "their CRC32C is another")
    }

    /// Whether the bytes of a file had their checksum, and nothing has changed it since.
    func isIntact(_ body: Body, _ status: FileStatus) -> Bool {
        state.withLock { $0.intact[body] == Stamp(status) }
    }

    /// - Parameter status: of the file before its bytes were read.
    func foundIntact(_ body: Body, _ status: FileStatus) {
        state.withLock { state in
            if state.intact.count >= Self.most { state.intact.removeAll() }
            state.intact[body] = Stamp(status)
        }
    }

    /// Logs the damage of a body once.
    func report(_ fault: ServedFile.Fault, of object: ObjectMetadata, in body: Body) {
        let url = "gs://\(object.reference.bucket)/\(object.reference.object.escaped)"
        switch fault {
        case .unreadable: complain("Object \(url) is not sent: \(fault).")
        case .wrongBytes: if isNews(body) { complain("Object \(url) is damaged: \(fault).") }
        }
    }

    private func isNews(_ body: Body) -> Bool {
        state.withLock { state in
            if state.damaged.count >= Self.most { state.damaged.removeAll() }
            state.intact[body] = nil
            return state.damaged.insert(body).inserted
        }
    }
}
