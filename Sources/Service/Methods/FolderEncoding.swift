import JSONRPC
import JSONText
import Storage
import Transfers

// Encoding of tasks over folders.

extension FolderSnapshot: JSONConvertible, JSONObjectWritable {
    /// The name of the notification about an event of a task.
    static let event = "folderTask/event"

    public func writeMembers(to json: inout JSONWriter) {
        json.member("task", task)
        json.member("kind", request.kind.rawValue)
        json.member("status", status.rawValue)
        json.member("state", state.rawValue)
        json.member("progress", progress)
        json.member("files", counts)
        json.member("kept", counts.kept)
        json.member("isPlanned", isPlanned)
        json.member("reference", request.reference)
        json.member("directory", request.directory)
        json.member("to", request.target)
        if request.isDryRun { json.member("dryRun", true) }
        json.member("key", request.key)
        if !failures.isEmpty { json.member("failures") { $0.array(failures) { $1.write(to: &$0, of: request) } } }
        json.member("error", error?.rpcError.json)
        json.member("endpoint", endpoint)
    }

    /// Only progress may be dropped for a slow reader.
    func deliveryPolicy(for handle: String) -> DeliveryPolicy { status == .progress ? .latest(key: handle) : .always }
}

extension FolderCounts: JSONObjectWritable {
    public func writeMembers(to json: inout JSONWriter) {
        json.member("total", total)
        json.member("completed", completed)
        json.member("unchanged", unchanged)
        json.member("unchangedBytes", unchangedBytes)
        json.member("toDelete", toDelete)
        json.member("deleted", deleted)
        json.member("refused", refused)
        json.member("failed", failed)
    }
}

extension FolderItem {
    func write(to json: inout JSONWriter, of request: FolderRequest) {
        json.object { json in
            json.member("path", path)
            json.member("action", action == .transfer ? request.kind.rawValue : action.rawValue)
            json.member("state", state.rawValue)
            json.member("size", size)
            json.member("reference", try? request.object(path))
            json.member("source", source)
            json.member("error", error?.rpcError.json)
        }
    }
}
