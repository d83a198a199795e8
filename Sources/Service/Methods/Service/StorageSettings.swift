import JSONRPC
import JSONText
import Storage
import Transfers

/// `storage/getSettings`: the settings of this connection.
struct GetSettings: ParameterlessMethod, PromptMethod {
    static let name = "storage/getSettings"

    func run(in request: Request<ConnectionContext>) throws -> JSON { request.context.settings.json }
}

/// `storage/updateSettings`: changes the named settings, for tasks and calls that the connection begins afterwards.
struct UpdateSettings: PromptMethod {
    static let name = "storage/updateSettings"

    let retryTimes: [(Settings.RetryTime, Double)]
    let uploadChunkSizeBytes: Int64?
    let userProject: String?

    init(_ params: inout Params) throws(RPCError) {
        var times: [(Settings.RetryTime, Double)] = []
        for time in Settings.RetryTime.allCases {
            if let seconds = try params.optionalNumber(time.rawValue) { times.append((time, seconds)) }
        }
        retryTimes = times
        uploadChunkSizeBytes = try params.optionalInteger("uploadChunkSizeBytes")
        userProject = try params.optionalString("userProject")
    }

    func run(in request: Request<ConnectionContext>) throws -> JSON {
        var settings = request.context.settings
        for (time, seconds) in retryTimes { try settings.set(time, to: seconds) }
        if let uploadChunkSizeBytes { try settings.setUploadChunkSize(uploadChunkSizeBytes) }
        if let userProject { try settings.setUserProject(userProject) }
        request.context.settings = settings
        return settings.json
    }
}
