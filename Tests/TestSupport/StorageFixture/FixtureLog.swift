import HTTPClient
import HTTPText

extension StorageFixture {
    package enum Dialect: Sendable { case firebase, gcs, s3 }

    /// What a request does. At Amazon S3, `multipart` stores an object in one request, `chunk` is a part, `finalize`
    /// completes an upload, `query` lists its parts, and `patch` copies an object onto itself. One that carries bytes and completes the object is `finalize`.
    package enum Kind: String, Sendable {
        case start, chunk, finalize, query, cancel
        /// Uploads in one request: with metadata, and of the bytes alone.
        case multipart, raw
        case getMetadata, patch, delete, media, list, token
        /// A copy by the service.
        case rewrite
        case buckets
        /// The other requests of Amazon S3.
        case headBucket, location, uploads, deleteMany, copyPart
        case unknown

        var carriesBytes: Bool { [.chunk, .finalize, .multipart, .raw].contains(self) }
    }

    /// A request as it came, with what became of it.
    package struct Request: Sendable {
        package let dialect: Dialect
        package let kind: Kind
        package let method: String
        package let target: String
        package let headers: HTTPHeaders
        /// Of the upload session that it belongs to.
        package let session: String?
        /// Which of the object's bytes it says it carries.
        package let range: Range<Int64>?
        /// Of the body, as far as it was read.
        package internal(set) var bytesReceived = 0
        /// Nil where there was no answer, or none yet.
        package internal(set) var status: Int?
    }

    /// A resumable upload.
    package struct Session: Sendable, Equatable {
        package enum State: Sendable, Equatable {
            case active, final, cancelled
            case forgotten(Int)
        }

        package let id: String
        package let dialect: Dialect
        package let bucket: String
        package let name: String
        package let state: State
        package let persisted: Int64
        /// Bytes that came for offsets that were persisted already when the head of their request came.
        package let resentPersistedBytes: Int64
    }

    /// What has happened so far.
    package struct Log: Sendable {
        package let requests: [Request]
        /// In the order in which they were started.
        package let sessions: [Session]
        package let unfired: [Fault]

        package func requests(_ kinds: Kind...) -> [Request] { requests.filter { kinds.contains($0.kind) } }
        package var openSessions: [Session] { sessions.filter { $0.state == .active } }
        package var cancelledSessions: [Session] { sessions.filter { $0.state == .cancelled } }
        package var resentPersistedBytes: Int64 { sessions.reduce(0) { $0 + $1.resentPersistedBytes } }
    }
}
