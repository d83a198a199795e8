import Checksums
import HTTPClient
import HTTPText
import Storage

/// How one service's protocol is spoken. Nothing here moves a byte: what to ask, and what an answer means.
protocol Dialect: Sendable {
    /// Kinds of tokens in the order of preference; the first one that there is proves who asks.
    var authorization: [Token.Kind] { get }
    /// Whether a request has to show the app's token, too.
    var takesAppCheck: Bool { get }
    func sign(_ headers: inout HTTPHeaders, with token: Token)
    /// Where tokens come from, for people who are asked for one.
    var signIn: String { get }

    // Requests. Targets begin with a slash and are the endpoint's.
    /// Whether requests can be bound to a generation. Where they cannot, conditions are left out.
    var bindsWrites: Bool { get }
    func metadata(of reference: Reference, generation: Int64?) -> RemoteRequest
    func update(_ reference: Reference, _ change: MetadataChange, if conditions: Preconditions) -> RemoteRequest
    func delete(_ reference: Reference, if conditions: Preconditions) -> RemoteRequest
    /// Of that generation alone, whatever else is there.
    func delete(_ reference: Reference, generation: Int64) -> RemoteRequest
    func list(_ query: ListQuery) -> RemoteRequest
    /// From that byte on; of that generation, where the service can tell it from another.
    ///
    /// - Parameter isGzip: they may come so, as they are stored: the service would else unpack them.
    func media(of reference: Reference, generation: Int64?, isGzip: Bool, from offset: Int64) -> RemoteRequest
    /// With the checksums that the server is to compare before it stores anything.
    func sendWhole(
        _ upload: Upload, _ bytes: [UInt8], _ checksum: Checksum, boundary: String, if conditions: Preconditions
    ) -> RemoteRequest
    func open(_ upload: Upload, if conditions: Preconditions) -> RemoteRequest
    /// Whether the last bytes may come with the CRC32C of all.
    var takesFinalChecksum: Bool { get }
    func send(
        _ range: Range<Int64>, of total: Int64, to session: ResumableSession, _ body: HTTPBody, crc32c: UInt32?
    ) -> RemoteRequest
    func query(_ session: ResumableSession, total: Int64) -> RemoteRequest
    func cancel(_ session: ResumableSession) -> RemoteRequest

    /// How objects come by URLs for everybody.
    var links: Links { get }

    // Answers of status 2xx, and of those others that are no refusal.
    func opened(_ response: HTTPResponse) -> ResumableSession?
    /// What the answer to a chunk, a finalization or a query says; nil where it is a refusal.
    func news(_ response: HTTPResponse, after range: Range<Int64>?, of total: Int64) -> UploadNews?
}

enum Links {
    case tokens(any TokenDialect)
    case signatures
}

/// How a service is asked for the tokens that make a URL good for everybody.
protocol TokenDialect {
    func createToken(for reference: Reference) -> RemoteRequest
    func deleteToken(_ token: String, of reference: Reference) -> RemoteRequest
}

/// What a server is asked, before anybody has signed it.
struct RemoteRequest {
    var method: String
    /// A target at the endpoint, or the whole URL of a session.
    var target: String
    var headers: HTTPHeaders = [:]
    var body = HTTPBody.none
    /// Where the answer's body goes if the sink accepts it.
    var sink: (any HTTPBodySink)?
    /// Of a body that is held in memory, in bytes.
    var answerBytes = HTTPLimits().answerBytes
    /// What a missing thing would be.
    var subject = Subject.object
    /// The server compares the bytes with a checksum.
    var hasChecksum = false

    enum Subject { case object, bucket, listing, session }
}

extension RemoteRequest {
    static let largestListing = 32 << 20

    static func media(_ target: String, isGzip: Bool, from offset: Int64) -> RemoteRequest {
        var request = RemoteRequest(method: "GET", target: target)
        if offset > 0 { request.headers.add("Range", "bytes=\(offset)-") }
        request.headers.add("Accept-Encoding", isGzip ? "gzip" : "identity")
        return request
    }
}

/// A line to the server for one upload; whoever has it may go on with it.
struct ResumableSession: Equatable, Sendable, CustomStringConvertible {
    /// A bearer secret.
    var url: String
    /// In bytes: every chunk but the last is a multiple of it.
    var granularity = ChunkSizes.granularity

    /// As the server wants it cut: who asks for it after a restart may not know how.
    func chunk(_ range: Range<Int64>, of size: Int64) -> Range<Int64> {
        guard range.upperBound < size, granularity > 0 else { return range }
        let count = max((range.upperBound - range.lowerBound) / granularity * granularity, granularity)
        return range.lowerBound..<range.lowerBound + min(count, size - range.lowerBound)
    }

    var description: String { "session(…)" }
}

/// Where an upload stands, as its server tells it.
enum UploadNews: Equatable {
    case received(upTo: Int64)
    /// With the object's metadata as JSON, where the server sent it.
    case stored([UInt8])
    /// Ended by somebody, without an object.
    case ended
    /// Not to be understood.
    case garbled(String)
}
