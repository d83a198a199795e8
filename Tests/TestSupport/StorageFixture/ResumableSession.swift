import JSONText

/// A resumable upload, of either protocol.
struct ResumableSession: Sendable {
    static let granule: Int64 = 262_144

    enum State: Sendable {
        case active, cancelled
        case final(StoredObject)
        case forgotten(Int)
    }

    let id: String
    let dialect: StorageFixture.Dialect
    let bucket: String
    let name: String
    let metadata: JSON
    let contentType: String?
    let ifGeneration: Int64?
    var total: Int64?
    var state = State.active
    var persisted: Int64 = 0
    var resent: Int64 = 0
    /// All that is persisted; nothing any more once the object is stored.
    var bytes: [UInt8] = []
    /// Grows with each request: a request that is no longer the newest persists nothing.
    var turn = 0
    var corruptByte: Int64?
    /// The parts, at Amazon S3 alone.
    var upload: S3Upload?

    var record: StorageFixture.Session {
        let state: StorageFixture.Session.State =
            switch state {
            case .active: .active
            case .cancelled: .cancelled
            case .final: .final
            case .forgotten(let status): .forgotten(status)
            }
        return StorageFixture.Session(
            id: id, dialect: dialect, bucket: bucket, name: name, state: state, persisted: persisted,
            resentPersistedBytes: resent)
    }
}

/// The right to add bytes to a session.
struct Receipt: Sendable {
    let session: String
    let turn: Int
    /// How many of the first bytes of the body are stored already.
    let skip: Int
    let completes: Bool
}
