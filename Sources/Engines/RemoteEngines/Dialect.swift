import Checksums
import HTTPClient
import HTTPText
import Platform
import Storage

/// The protocol of one service, as pairs of pure functions: one prepares a request, the other reads its response. A
/// dialect sends nothing, and keeps no state besides what signatures need. The shared code compares generations only for equality, stores the text of
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
    /// Whether the response refuses the token, so that another one may help.
    func refusesToken(_ response: HTTPResponse) -> Bool
    /// Takes from a response what later requests need: the server's clock, the region. Returns true if the same request
    /// would be signed differently then, so that it is worth sending again.
    func adapts(to response: HTTPResponse, of request: RemoteRequest, at url: String) -> Bool
    /// Where users get a token, as the end of an error message.
    var signIn: String { get }

    // MARK: Objects
    /// Whether requests carry preconditions. Otherwise the engine checks the metadata first.
    var bindsWrites: Bool { get }
    /// Whether the server of a bucket is known to check the generation that an upload in one request replaces, with the
    /// write.
    func checksConditions(in bucket: String) -> Bool
    /// Whether an earlier response has told that the bucket exists.
    func knowsBucket(_ name: String) -> Bool
    /// Whether the service stores the `RemoteWrite` of each object, so that an object tells who has written it.
    var marksWrites: Bool { get }
    /// The time by the server's clock; nil for that of this machine.
    var writeTime: Timestamp? { get }
    func metadata(of reference: Reference, generation: Int64?) -> RemoteRequest
    /// - Parameter object: the object as it was looked up before; nil if the caller may not read it.
    /// - Returns: nil if the object has to be known.
    func update(
        _ reference: Reference, _ change: MetadataChange, of object: ObjectMetadata?, if conditions: Preconditions
    ) throws(StorageError) -> RemoteRequest?
    /// Reads the response to a request for metadata.
    func metadata(in response: HTTPResponse, of reference: Reference) throws(GarbledAnswer) -> ObjectMetadata
    /// The metadata of the object that a request has written, according to its successful response.
    ///
    /// - Parameter size: the size of the object in bytes; nil for that of the request's body.
    func metadata(writtenBy request: RemoteRequest, _ response: HTTPResponse, of reference: Reference, size: Int64?)
        throws(GarbledAnswer) -> ObjectMetadata
    /// Throws `invalidArgument` for metadata that the service cannot store.
    func check(_ metadata: SettableMetadata) throws(StorageError)
    /// Whether an object was written later than another one.
    func isNewer(_ object: ObjectMetadata, than other: ObjectMetadata) -> Bool
    func delete(_ reference: Reference, if conditions: Preconditions) -> RemoteRequest
    /// Deletes exactly this generation; nil if the service cannot do that.
    func delete(_ reference: Reference, generation: Int64) -> RemoteRequest?
    /// Checks a successful response to a deletion. Throws for one that another server may have sent instead.
    func checkDeleted(in response: HTTPResponse) throws(GarbledAnswer)
    /// Deletes several objects, whatever they are; nil if the service cannot do that.
    func delete(together objects: [Reference]) -> RemoteRequest?
    /// Those of the objects that a successful response to such a request names as deleted.
    func deleted(in response: HTTPResponse, of objects: [Reference]) throws(GarbledAnswer) -> Set<Reference>
    func list(_ query: ListQuery) -> RemoteRequest
    func listing(in response: HTTPResponse, for query: ListQuery) throws(GarbledAnswer) -> Listing
    /// Requests the bytes from an offset on, of this generation if the service supports that.
    ///
    /// - Parameters:
    ///   - end: the end of the bytes; nil for all that follow.
    ///   - isGzip: accepts the bytes as stored, which the service would otherwise decompress.
    func media(of reference: Reference, generation: Int64?, isGzip: Bool, from offset: Int64, to end: Int64?)
        -> RemoteRequest
    func description(in headers: HTTPHeaders, of reference: Reference) -> MediaDescription
    /// Whether the headers before the bytes of an object have its metadata.
    var describesMedia: Bool { get }
    /// The metadata of an object in the headers before its bytes; nil if they lack some of it.
    func metadata(ofMedia headers: HTTPHeaders, of reference: Reference) -> ObjectMetadata?
    /// Reads an error response.
    func error(in response: HTTPResponse) -> ServerError
    var links: Links { get }
    /// Whether buckets are listed by project.
    var bucketsHaveProjects: Bool { get }
    /// Requests a page of the buckets; nil if the service does not list them.
    func buckets(of project: String, after pageToken: String?) -> RemoteRequest?
    /// The names on a page of buckets, and the token of the next page.
    func buckets(in response: HTTPResponse) throws(GarbledAnswer) -> (names: [String], pageToken: String?)
    /// The copies that the service makes itself; nil if it makes none.
    var copies: (any CopyDialect)? { get }

    // MARK: Uploads
    /// An upload in one request. It carries the checksums, so that the server verifies the bytes before it stores them.
    func sendWhole(
        _ upload: Upload, _ bytes: [UInt8], _ checksum: Checksum, as write: RemoteWrite, if conditions: Preconditions
    ) -> RemoteRequest
    func open(_ upload: Upload, as write: RemoteWrite, if conditions: Preconditions) -> RemoteRequest
    func session(in response: HTTPResponse, to request: RemoteRequest) throws(GarbledAnswer) -> RemoteSession
    func cancel(_ session: RemoteSession) -> RemoteRequest
    /// Whether the response to `cancel` says that the session accepts no more bytes.
    func isCancelled(in response: HTTPResponse) -> Bool
    /// How a session gets its bytes.
    var sessions: Sessions { get }
}

extension Dialect {
    func refusesToken(_ response: HTTPResponse) -> Bool { response.status == 401 }
    func adapts(to response: HTTPResponse, of request: RemoteRequest, at url: String) -> Bool { false }
    func checksConditions(in bucket: String) -> Bool { bindsWrites }
    func knowsBucket(_ name: String) -> Bool { false }
    var marksWrites: Bool { false }
    var writeTime: Timestamp? { nil }
    func metadata(writtenBy request: RemoteRequest, _ response: HTTPResponse, of reference: Reference, size: Int64?)
        throws(GarbledAnswer) -> ObjectMetadata
    { try metadata(in: response, of: reference) }
    func check(_ metadata: SettableMetadata) throws(StorageError) {}
    func delete(together objects: [Reference]) -> RemoteRequest? { nil }
    func deleted(in response: HTTPResponse, of objects: [Reference]) throws(GarbledAnswer) -> Set<Reference> { [] }
    var describesMedia: Bool { false }
    func metadata(ofMedia headers: HTTPHeaders, of reference: Reference) -> ObjectMetadata? { nil }
    var bucketsHaveProjects: Bool { true }
    func buckets(of project: String, after pageToken: String?) -> RemoteRequest? { nil }
    func buckets(in response: HTTPResponse) throws(GarbledAnswer) -> (names: [String], pageToken: String?) { ([], nil) }
    var copies: (any CopyDialect)? { nil }
}

/// One write of an object. A service that counts no generations stores it with the object.
struct RemoteWrite: Codable, Equatable, Sendable {
    /// An id that all attempts of one upload share.
    var id: String
    /// Higher than the generation that the write replaces.
    var generation: Int64
    /// The moment of the write by the server's clock, as far as it is known.
    var time: Timestamp
    /// The number of bytes of each part but the last; nil for an object that is stored in one request.
    var partSize: Int64?
    /// The checksums of all bytes, as far as they are known before the first one is sent.
    var md5: [UInt8]?
    var crc32c: UInt32?
    /// The tag of the object that a write with a precondition on its generation replaces.
    var replacedTag: String?
}

enum Sessions {
    case chunks(any ChunkDialect)
    case parts(any PartDialect)
}

/// Sessions that receive the bytes in order, and store the object when they have the last one.
protocol ChunkDialect: Sendable {
    /// Whether the last bytes can carry the CRC32C of the whole object.
    var takesFinalChecksum: Bool { get }
    /// Sends bytes to a session. `total` is nil while it is unknown, here and below.
    func send(_ range: Range<Int64>, of total: Int64?, to session: RemoteSession, _ body: HTTPBody, crc32c: UInt32?)
        -> RemoteRequest
    func query(_ session: RemoteSession, total: Int64?) -> RemoteRequest
    /// The status in the response to sent bytes or a query; nil for an error. May add data for later requests to the
    /// session.
    func status(in response: HTTPResponse, after range: Range<Int64>?, of total: Int64?, _ session: inout RemoteSession)
        -> UploadStatus?
}

/// Sessions that receive numbered parts, and store the object on request. All parts but the last have the
/// same size, the granularity of the session.
protocol PartDialect: Sendable {
    /// Sends a part. `number` begins with 1.
    func send(part number: Int, to session: RemoteSession, _ body: HTTPBody, md5: [UInt8]) -> RemoteRequest
    /// The tag of a stored part, which `complete` repeats.
    func tag(in response: HTTPResponse) throws(GarbledAnswer) -> String
    /// Requests the stored parts with higher numbers.
    func parts(of session: RemoteSession, after number: Int) -> RemoteRequest
    func parts(in response: HTTPResponse) throws(GarbledAnswer) -> PartPage
    /// Makes the object of all parts. The tags are in the order of the parts.
    func complete(_ session: RemoteSession, _ tags: [String]) -> RemoteRequest
    /// Checks a response to `complete` with a status of success, which may be an error nevertheless. Returns the error.
    func errorOfCompletion(in response: HTTPResponse) throws(GarbledAnswer) -> HTTPResponse?
    /// Whether the refusal of `complete` says that it has not stored the object and never will.
    func isFinal(_ response: HTTPResponse) -> Bool
    /// Whether the final refusal of `complete` says that the server has not begun to carry it out, so that the session may
    /// be cancelled.
    func changesNothing(_ response: HTTPResponse) -> Bool
}

/// One page of the parts that a session has received, by number.
struct PartPage: Equatable {
    struct Part: Equatable {
        var number: Int
        var size: Int64
        var tag: String
    }

    var parts: [Part]
    /// The list continues after this number; nil on the last page.
    var next: Int?
}

/// Copies that the service makes itself, in one or several calls.
protocol CopyDialect: Sendable {
    /// The session whose parts the calls copy, according to the token of one; nil if there is none. The text of a session
    /// without parts is its token.
    func session(of token: String, copying object: ObjectMetadata) -> RemoteSession?
    /// Whether one request makes the whole copy, which no session precedes.
    func copiesAtOnce(_ object: ObjectMetadata) -> Bool
    /// Whether the first call states the metadata of the source.
    var repeatsMetadata: Bool { get }
    /// - Parameters:
    ///   - object: the source.
    ///   - token: the token of the previous call; nil for the first one.
    ///   - conditions: the preconditions on the copy.
    func copy(
        _ object: ObjectMetadata, as upload: Upload, _ write: RemoteWrite, after token: String?,
        if conditions: Preconditions
    ) -> RemoteRequest
    /// Reads a successful response to a request of `copy`.
    func copied(
        _ response: HTTPResponse, by request: RemoteRequest, of object: ObjectMetadata, to reference: Reference,
        after token: String?
    ) throws(GarbledAnswer) -> CopyStatus
}

extension CopyDialect {
    func session(of token: String, copying object: ObjectMetadata) -> RemoteSession? { nil }
    func copiesAtOnce(_ object: ObjectMetadata) -> Bool { false }
    var repeatsMetadata: Bool { false }
}

enum CopyStatus {
    case done(ObjectMetadata)
    /// The copy is stored. The response does not contain its metadata.
    case stored
    /// An error in a response with a status of success.
    case refused(HTTPResponse)
    /// The number of bytes copied so far; the next call carries the token.
    case copied(Int64, token: String)
}

enum Links {
    case tokens(any TokenDialect)
    case signatures(any SignatureDialect)
    case presigned(any PresigningDialect)
}

/// Download URLs that are signed with the secret of the caller's own token.
protocol PresigningDialect {
    /// The maximum lifetime of a URL in seconds.
    var longestLifetime: Int64 { get }
    /// Nil if the token cannot sign.
    func downloadURL(of reference: Reference, signedWith token: Token, lifetime: Int64) -> String?
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
    var isMissingObject = false
    /// The request may succeed later, whatever its status says.
    var isPassing = false
    /// The caller's credentials are refused, whatever the status says.
    var isAboutCaller = false
    /// The server's clock differs from the one by which the request was signed.
    var isAboutClock = false
    var isWrongChecksum = false
}
