import JSONText
import JSONRPC
import Storage

/// `storage/reference`: a reference to a path of a bucket, or the one that a URL names.
struct MakeReference: PromptMethod {
    static let name = "storage/reference"

    let bucket: String?
    let path: String?
    let url: String?

    init(_ params: inout Params) throws(RPCError) {
        bucket = try params.optionalString("bucket")
        path = try params.optionalString("path")
        url = try params.optionalString("url")
        guard url == nil || path == nil else { throw .invalidParam("path", "goes with bucket, not with url") }
    }

    func run(in request: Request<Session>) throws -> JSON {
        guard let url else {
            let bucket = bucket ?? request.context.service.configuration.defaultBucket
            return try Reference(bucket: bucket, path: path ?? "").json
        }
        let reference = try Reference(url: url)
        if let bucket { try reference.check(bucket: bucket) }
        return reference.json
    }
}
