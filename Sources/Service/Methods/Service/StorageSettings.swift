import JSONRPC
import JSONText
import Storage
import Transfers

/// `storage/getSettings`: returns the settings of this connection.
struct GetSettings: ServiceMethod, ParameterlessMethod, PromptMethod {
    static let name = "storage/getSettings"
    var uses: [Use] { [] }

    func run(in request: Request<ConnectionContext>) throws -> JSON {
        request.context.settings.json(request.transfers.atOnce)
    }
}

/// `storage/updateSettings`: changes the named settings, for tasks and calls that the connection starts afterwards.
struct UpdateSettings: ServiceMethod, PromptMethod {
    static let name = "storage/updateSettings"
    var uses: [Use] { uploadsAtOnce == nil && downloadsAtOnce == nil ? [] : [.changingService] }

    let retryTimes: [(Settings.RetryTime, Double)]
    let uploadChunkSizeBytes: Int64?
    let userProject: String?
    let uploadsAtOnce: Int64?
    let downloadsAtOnce: Int64?

    init(_ params: inout Params) throws(RPCError) {
        var times: [(Settings.RetryTime, Double)] = []
        for time in Settings.RetryTime.allCases {
            if let seconds = try params.optionalNumber(time.rawValue) { times.append((time, seconds)) }
        }
        retryTimes = times
        uploadChunkSizeBytes = try params.optionalInteger("uploadChunkSizeBytes")
        userProject = try params.optionalString("userProject")
        uploadsAtOnce = try params.optionalInteger("uploadsAtOnce")
        downloadsAtOnce = try params.optionalInteger("downloadsAtOnce")
    }

    func run(in request: Request<ConnectionContext>) throws -> JSON {
        var (settings, atOnce) = (request.context.settings, request.transfers.atOnce)
        for (time, seconds) in retryTimes { try settings.set(time, to: seconds) }
        if let uploadChunkSizeBytes { try settings.setUploadChunkSize(uploadChunkSizeBytes) }
        if let userProject { try settings.setUserProject(userProject) }
        if let uploadsAtOnce { try atOnce.setUploads(uploadsAtOnce) }
        if let downloadsAtOnce { try atOnce.setDownloads(downloadsAtOnce) }
        request.context.settings = settings
        request.transfers.atOnce = atOnce
        return settings.json(atOnce)
    }
}

/// `storage/buckets`: returns the names of all buckets.
struct ListBuckets: ServiceMethod {
    static let name = "storage/buckets"
    var uses: [Use] { [] }

    let project: String?

    init(_ params: inout Params) throws(RPCError) { project = try params.optionalString("project") }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let names = try await request.transfers.buckets(of: project, for: request.client)
        let known = request.context.rights.map { rights in names.filter(rights.knows(bucket:)) } ?? names
        return ["buckets": .array(known.map(JSON.string))]
    }
}
