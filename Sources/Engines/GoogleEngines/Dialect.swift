import Checksums
import HTTPClient
import HTTPText
import Platform
import Storage

/// The protocol of one service, as pairs of pure functions: one prepares a request, the other reads its response. A
/// dialect sends nothing and keeps no state. The shared code compares generations only for equality, stores the text of
/// a session without reading it, and leaves the format of bodies, headers and errors to the dialect.
protocol Dialect: Sendable {
    // MARK: Authorization
    /// The token kinds in order of preference; a request carries the first one that the caller has.
    var authorization: [Token.Kind] { get }
    /// Whether requests also carry an App Check token.
    var takesAppCheck: Bool { get }
    /// Adds the credentials to a request that is otherwise complete, so that a signature can cover its method, URL,
    /// headers and body.
    func authorize(_ request: inout HTTPRequest, with tokens: [Token], userProject: String?)
    /// Where users get a token, as the end of an error message.
    var signIn: String { get }

    // MARK: Objects
    /// Whether requests carry preconditions. Otherwise the engine checks the metadata first.
    var bindsWrites: Bool { get }
    func metadata(of reference: Reference, generation: Int64?) -> RemoteRequest
    func update(_ reference: Reference, _ change: MetadataChange, if conditions: Preconditions) -> RemoteRequest
    /// Reads the response to a request for metadata or an update.
    func metadata(in response: HTTPResponse, of reference: Reference) throws(GarbledAnswer) -> ObjectMetadata
    /// Whether an object was written later than another one.
    func isNewer(_ object: ObjectMetadata, than other: ObjectMetadata) -> Bool
    func delete(_ reference: Reference, if conditions: Preconditions) -> RemoteRequest
    /// Deletes exactly this generation; nil if the service cannot do that.
    func delete(_ reference: Reference, generation: Int64) -> RemoteRequest?
    /// Checks a successful response to a deletion. Throws for one that another server may have sent instead.
    func checkDeleted(in response: HTTPResponse) throws(GarbledAnswer)
    func list(_ query: ListQuery) -> RemoteRequest
    func listing(in response: HTTPResponse, for query: ListQuery) throws(GarbledAnswer) -> Listing
    /// Requests the bytes from an offset on, of this generation if the service supports that.
    ///
    /// - Parameters:
    ///   - end: the end of the bytes; nil for all that follow.
    ///   - isGzip: accepts the bytes as stored, which the service would otherwise decompress.
    func media(of reference: Reference, generation: Int64?, isGzip: Bool, from offset: Int64, to end: Int64?)
        -> RemoteRequest
    func description(in headers: HTTPHeaders) -> MediaDescription
    /// Reads an error response.
    func error(in response: HTTPResponse) -> ServerError
    var links: Links { get }
    /// Requests a page of the buckets; nil if the service does not list them.
    func buckets(of project: String, after pageToken: String?) -> RemoteRequest?
    /// The names on a page of buckets, and the token of the next page.
    func buckets(in response: HTTPResponse) throws(GarbledAnswer) -> (names: [String], pageToken: String?)
    /// The copies that the service makes itself; nil if it makes none.
    var copies: (any CopyDialect)? { get }

    // MARK: Uploads
    /// An upload in one request. It carries the checksums, so that the server verifies the bytes before it stores them.
    func sendWhole(
        _ upload: Upload, _ bytes: [UInt8], _ checksum: Checksum, boundary: String, if conditions: Preconditions
    ) -> RemoteRequest
    func open(_ upload: Upload, if conditions: Preconditions) -> RemoteRequest
    func session(in response: HTTPResponse) throws(GarbledAnswer) -> RemoteSession
    /// Whether the last bytes can carry the CRC32C of the whole object.
    var takesFinalChecksum: Bool { get }
    /// Sends bytes to a session. `total` is nil while it is unknown, here and below.
    func send(_ range: Range<Int64>, of total: Int64?, to session: RemoteSession, _ body: HTTPBody, crc32c: UInt32?)
        -> RemoteRequest
    func query(_ session: RemoteSession, total: Int64?) -> RemoteRequest
    func cancel(_ session: RemoteSession) -> RemoteRequest
    /// Whether the response to `cancel` says that the session accepts no more bytes.
    func isCancelled(in response: HTTPResponse) -> Bool
    /// The status in the response to sent bytes or a query; nil for an error. May add data for later requests to the
    /// session.
    func status(in response: HTTPResponse, after range: Range<Int64>?, of total: Int64?, _ session: inout RemoteSession)
        -> UploadStatus?
}

extension Dialect {
    func buckets(of project: String, after pageToken: String?) -> RemoteRequest? { nil }
    func buckets(in response: HTTPResponse) throws(GarbledAnswer) -> (names: [String], pageToken: String?) { ([], nil) }
    var copies: (any CopyDialect)? { nil }
}

/// Copies that the service makes itself, in one or several calls.
protocol CopyDialect: Sendable {
    /// - Parameters:
    ///   - object: the source.
    ///   - token: the token of the previous call; nil for the first one.
    ///   - conditions: the preconditions on the copy.
    func copy(_ object: ObjectMetadata, as upload: Upload, after token: String?, if conditions: Preconditions)
        -> RemoteRequest
    /// Reads a successful response.
    func copied(_ response: HTTPResponse, to reference: Reference) throws(GarbledAnswer) -> CopyStatus
}

enum CopyStatus {
    case done(ObjectMetadata)
    /// The number of bytes copied so far; the next call carries the token.
    case copied(Int64, token: String)
}

enum Links {
    case tokens(any TokenDialect)
    case signatures(any SignatureDialect)
}

/// Download URLs with tokens that the service stores with the object.
protocol TokenDialect {
    func createToken(for reference: Reference) -> RemoteRequest
    func deleteToken(_ token: String, of reference: Reference) -> RemoteRequest
    /// The download tokens in a response with metadata.
    func tokens(in response: HTTPResponse, of reference: Reference) throws(GarbledAnswer) -> [String]
    func downloadURL(of reference: Reference, _ token: String, at endpoint: Endpoint) -> String
}

/// Download URLs that the client signs.
protocol SignatureDialect {
    /// The maximum lifetime of a URL in seconds.
    var longestLifetime: Int64 { get }
    func downloadURL(_ link: DownloadLink, signedBy signer: any URLSigner) async throws(StorageError) -> String
}

/// The parts of a signed download URL, which gives access to the object without credentials until it expires.
struct DownloadLink {
    let endpoint: Endpoint
    let reference: Reference
    /// The service account that signs the URL.
    let account: String
    let time: Timestamp
    /// The lifetime in seconds.
    let lifetime: Int64
    /// The Google Cloud project that pays for downloads.
    var userProject: String?
}

/// A request before authorization.
struct RemoteRequest {
    var method: String
    /// A path below the endpoint, or an absolute URL.
    var target: String
    var headers: HTTPHeaders = [:]
    var body = HTTPBody.none
    /// Receives the body of the response if it accepts the header.
    var sink: (any HTTPBodySink)?
    /// The maximum size of a response body in memory, in bytes.
    var answerBytes = HTTPLimits().answerBytes
    /// What a status of 404 refers to.
    var subject = Subject.object
    /// The server verifies a checksum of the bytes.
    var hasChecksum = false

    enum Subject { case object, bucket, listing, session }

    static let largestListing = 32 << 20

    static func media(_ target: String, isGzip: Bool, from offset: Int64, to end: Int64?) -> RemoteRequest {
        var request = RemoteRequest(method: "GET", target: target)
        if offset > 0 || end != nil { request.headers.add("Range", "bytes=\(offset)-\(end.map { "\($0 - 1)" } ?? "")") }
        request.headers.add("Accept-Encoding", isGzip ? "gzip" : "identity")
        return request
    }
}

/// The session of an upload at the server.
struct RemoteSession: Equatable, Sendable, CustomStringConvertible {
    /// The dialect's own data, which are secret. They are stored with the task.
    var text: String
    /// In bytes: every chunk except the last ends at a multiple of it.
    var granularity = ChunkSizes.granularity

    /// The part of the range up to the last multiple of the granularity in it, or else up to the next one. The server
    /// may have kept any part of a chunk, so the next one ends at a multiple again. A task from an earlier process may
    /// not know the granularity.
    func chunk(_ range: Range<Int64>, of size: Int64?) -> Range<Int64> {
        guard range.upperBound != size, granularity > 0 else { return range }
        let next = range.lowerBound.addingSaturated(granularity - range.lowerBound % granularity)
        let end = max(range.upperBound / granularity * granularity, next)
        return range.lowerBound..<min(size ?? end, end)
    }

    var description: String { "session(…)" }
}

/// The server's state of an upload.
enum UploadStatus: Equatable {
    case received(upTo: Int64)
    /// The object is stored. The response contains its metadata if the server sends it.
    case stored
    /// The session was cancelled without storing an object.
    case ended
    case garbled(String)
}

struct ServerError {
    var message: String?
    var isMissingBucket = false
}
