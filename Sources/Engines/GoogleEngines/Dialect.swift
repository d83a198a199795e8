import Checksums
import HTTPClient
import HTTPText
import Platform
import Storage

/// The protocol of one service, as pairs of pure functions: one prepares a request, the other reads its response.
/// A dialect sends nothing and keeps no state. The shared code compares generations for equality only, stores the text
/// of a session without reading it, and leaves the form of bodies, headers and errors to the dialect.
protocol Dialect: Sendable {
    // MARK: Authorization
    /// Token kinds in order of preference; a request carries the first that the caller has.
    var authorization: [Token.Kind] { get }
    /// Whether requests also carry an App Check token.
    var takesAppCheck: Bool { get }
    /// Adds the credentials to a request that is otherwise complete, so that a signature can cover its method, URL,
    /// headers and body.
    func authorize(_ request: inout HTTPRequest, with tokens: [Token], userProject: String?)
    /// Where users get a token from; ends an error message.
    var signIn: String { get }

    // MARK: Objects
    /// Whether requests take preconditions. Otherwise the engine checks the metadata first.
    var bindsWrites: Bool { get }
    func metadata(of reference: Reference, generation: Int64?) -> RemoteRequest
    func update(_ reference: Reference, _ change: MetadataChange, if conditions: Preconditions) -> RemoteRequest
    /// The response to one of these two.
    func metadata(in response: HTTPResponse, of reference: Reference) throws(GarbledAnswer) -> ObjectMetadata
    /// Whether the object was written after the other one.
    func isNewer(_ object: ObjectMetadata, than other: ObjectMetadata) -> Bool
    func delete(_ reference: Reference, if conditions: Preconditions) -> RemoteRequest
    /// Deletes this generation and no other; nil where the service cannot do that.
    func delete(_ reference: Reference, generation: Int64) -> RemoteRequest?
    /// Reads a success as the response to one of these two. Throws for what another server may have sent instead.
    func checkDeleted(in response: HTTPResponse) throws(GarbledAnswer)
    func list(_ query: ListQuery) -> RemoteRequest
    func listing(in response: HTTPResponse, for query: ListQuery) throws(GarbledAnswer) -> Listing
    /// Requests the bytes from an offset on, of this generation where the service can.
    ///
    /// - Parameters:
    ///   - end: where the bytes end; nil for all that follow.
    ///   - isGzip: accept the bytes as stored; the service would decompress them otherwise.
    func media(of reference: Reference, generation: Int64?, isGzip: Bool, from offset: Int64, to end: Int64?)
        -> RemoteRequest
    func description(in headers: HTTPHeaders) -> MediaDescription
    /// What a response that is no success says.
    func error(in response: HTTPResponse) -> ServerError
    var links: Links { get }
    /// Nil where the service does not list buckets.
    func buckets(of project: String, after pageToken: String?) -> RemoteRequest?
    /// The names on a page, and the token of the next one.
    func buckets(in response: HTTPResponse) throws(GarbledAnswer) -> (names: [String], pageToken: String?)
    /// Nil where the service copies no objects.
    var copies: (any CopyDialect)? { get }

    // MARK: Uploads
    /// Carries the checksums, so that the server verifies the bytes before it stores them.
    func sendWhole(
        _ upload: Upload, _ bytes: [UInt8], _ checksum: Checksum, boundary: String, if conditions: Preconditions
    ) -> RemoteRequest
    func open(_ upload: Upload, if conditions: Preconditions) -> RemoteRequest
    func session(in response: HTTPResponse) throws(GarbledAnswer) -> RemoteSession
    /// Whether the last bytes can carry the CRC32C of all bytes.
    var takesFinalChecksum: Bool { get }
    /// `total` is nil while it is not known, here and below.
    func send(_ range: Range<Int64>, of total: Int64?, to session: RemoteSession, _ body: HTTPBody, crc32c: UInt32?)
        -> RemoteRequest
    func query(_ session: RemoteSession, total: Int64?) -> RemoteRequest
    func cancel(_ session: RemoteSession) -> RemoteRequest
    /// Whether the response to that says that the session takes no bytes any more.
    func isCancelled(in response: HTTPResponse) -> Bool
    /// The response to sent bytes or a query; nil where it is an error. May add to the session what later requests need.
    func status(in response: HTTPResponse, after range: Range<Int64>?, of total: Int64?, _ session: inout RemoteSession)
        -> UploadStatus?
}

extension Dialect {
    func buckets(of project: String, after pageToken: String?) -> RemoteRequest? { nil }
    func buckets(in response: HTTPResponse) throws(GarbledAnswer) -> (names: [String], pageToken: String?) { ([], nil) }
    var copies: (any CopyDialect)? { nil }
}

/// Copies that the service makes itself, in as many calls as it wants.
protocol CopyDialect: Sendable {
    /// - Parameters:
    ///   - object: what is copied.
    ///   - token: from the call before; nil for the first one.
    ///   - conditions: those of the copy.
    func copy(_ object: ObjectMetadata, as upload: Upload, after token: String?, if conditions: Preconditions)
        -> RemoteRequest
    /// A response that is a success.
    func copied(_ response: HTTPResponse, to reference: Reference) throws(GarbledAnswer) -> CopyStatus
}

enum CopyStatus {
    case done(ObjectMetadata)
    /// So many bytes are copied; the next call has the token.
    case copied(Int64, token: String)
}

enum Links {
    case tokens(any TokenDialect)
    case signatures(any SignatureDialect)
}

/// Download URLs with a token that the service stores with the object.
protocol TokenDialect {
    func createToken(for reference: Reference) -> RemoteRequest
    func deleteToken(_ token: String, of reference: Reference) -> RemoteRequest
    /// The tokens that metadata lists.
    func tokens(in response: HTTPResponse, of reference: Reference) throws(GarbledAnswer) -> [String]
    func downloadURL(of reference: Reference, _ token: String, at endpoint: Endpoint) -> String
}

/// Download URLs that the client signs.
protocol SignatureDialect {
    /// In seconds.
    var longestLifetime: Int64 { get }
    func downloadURL(_ link: DownloadLink, signedBy signer: any URLSigner) async throws(StorageError) -> String
}

/// The parts of a signed download URL, from which anybody may fetch the object for a while.
struct DownloadLink {
    let endpoint: Endpoint
    let reference: Reference
    /// The service account that signs it.
    let account: String
    let time: Timestamp
    /// In seconds.
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
    /// Takes the body of the response if it accepts the header.
    var sink: (any HTTPBodySink)?
    /// The limit of a response body that is held in memory, in bytes.
    var answerBytes = HTTPLimits().answerBytes
    /// What status 404 is about.
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

/// A resumable upload at the server.
struct RemoteSession: Equatable, Sendable, CustomStringConvertible {
    /// The dialect's own, and a secret. It is stored with the task.
    var text: String
    /// In bytes: every chunk but the last ends at a multiple of it.
    var granularity = ChunkSizes.granularity

    /// The start of the range up to the last multiple of the granularity in it, or the next one. The server may have kept
    /// any part of a chunk: what follows it ends at a multiple again. A task from an earlier process may not know the
    /// granularity.
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
    /// The response has the object's metadata where the server sent it.
    case stored
    /// Cancelled, without an object.
    case ended
    case garbled(String)
}

struct ServerError {
    var message: String?
    var isMissingBucket = false
}
