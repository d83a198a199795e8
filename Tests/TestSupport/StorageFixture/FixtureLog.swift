import HTTPClient
import HTTPText

extension StorageFixture {
    public enum Dialect: Sendable { case firebase, gcs }

    /// What a request does. One that carries bytes and completes the object is `finalize`.
    public enum Kind: String, Sendable {
        case start, chunk, finalize, query, cancel
        /// Uploads in one request: with metadata, and of the bytes alone.
        case multipart, raw
        case getMetadata, patch, delete, media, list, token
        case unknown

        var carriesBytes: Bool { [.chunk, .finalize, .multipart, .raw].contains(self) }
    }

    /// A request as it came, with what became of it.
    public struct Request: Sendable {
        public let dialect: Dialect
        public let kind: Kind
        public let method: String
        public let target: String
        public let headers: HTTPHeaders
        /// Of the upload session that it belongs to.
        public let session: String?
        /// Which of the object's bytes it says it carries.
        public let range: Range<Int64>?
        /// Of the body, as far as it was read.
        public internal(set) var bytesReceived = 0
        /// Nil where there was no answer, or none yet.
        public internal(set) var status: Int?
    }

    /// A resumable upload.
    public struct Session: Sendable, Equatable {
        public enum State: Sendable, Equatable {
            case active, final, cancelled
            case forgotten(Int)
        }

        public let id: String
        public let dialect: Dialect
        public let bucket: String
        public let name: String
        public let state: State
        public let persisted: Int64
        /// Bytes that came for offsets that were persisted already when the head of their request came.
        public let resentPersistedBytes: Int64
    }

    /// What has happened so far.
    public struct Log: Sendable {
        public let requests: [Request]
        /// In the order in which they were started.
        public let sessions: [Session]
        public let unfired: [Fault]

        public func requests(_ kinds: Kind...) -> [Request] { requests.filter { kinds.contains($0.kind) } }
        public var openSessions: [Session] { sessions.filter { $0.state == .active } }
        public var cancelledSessions: [Session] { sessions.filter { $0.state == .cancelled } }
        public var resentPersistedBytes: Int64 { sessions.reduce(0) { $0 + $1.resentPersistedBytes } }
    }
}
