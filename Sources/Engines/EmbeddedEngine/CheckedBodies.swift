import HTTPServer
import HTTPText
import Platform
import Storage
import Synchronization

/// Results of verifying stored bytes, which this process keeps in memory.
///
/// Copies share a file, so its damage affects all of them; numbers of files are never reused. Damage in the row of one
/// object does not affect other objects.
final class CheckedBodies: Sendable {
    enum Body: Hashable {
        /// A file by its number, with the size and the checksum that an object states.
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

    /// The maximum number of results of each kind; beyond it all are dropped, and bytes are verified again.
    private static let most = 1024

    private let state = Mutex(State())
    private let complain: @Sendable (String) -> Void

    init(complain: @escaping @Sendable (String) -> Void) { self.complain = complain }

    /// Throws `nonMatchingChecksum` if the bytes of an object are known to be damaged.
    func check(_ object: ObjectMetadata, inFile file: Int64) throws(StorageError) {
        guard state.withLock({ $0.damaged.contains(object.checkedBody(file: file)) }) else { return }
        throw StorageError.damagedBytes(of: object, "their CRC32C is another")
    }

    /// Whether damage is known of the row of an object, or of any file with its size and checksum.
    func mayBeDamaged(_ object: FolderObject) -> Bool {
        state.withLock { state in
            state.damaged.contains { body in
                switch body {
                case .file(_, let size, let crc32c): (size, crc32c) == (object.size, object.checksums.crc32c ?? 0)
                case .row(let generation): generation == object.generation
                }
            }
        }
    }

    /// Whether the bytes of a file have had their checksum, and the file has not changed since.
    func isIntact(_ body: Body, _ status: FileStatus) -> Bool {
        state.withLock { $0.intact[body] == Stamp(status) }
    }

    /// - Parameter status: the file's status before its bytes were read.
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
