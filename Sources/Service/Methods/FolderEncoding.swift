import JSONRPC
import JSONText
import Storage
import Transfers

// Encoding of tasks over folders.

extension FolderSnapshot: JSONConvertible {
    /// The notification about an event of a task.
    static let event = "folderTask/event"

    public var json: JSON {
        .object(
            .init(present: [
                "task": .string(task), "kind": .string(request.kind.rawValue), "status": .string(status.rawValue),
                "state": .string(state.rawValue), "progress": progress.json, "files": counts.json,
                "isPlanned": .bool(isPlanned), "reference": request.reference.result,
                "directory": request.directory.map(JSON.string), "dryRun": request.isDryRun ? true : nil,
                "key": request.key.map(JSON.string),
                "failures": failures.isEmpty ? nil : .array(failures.map { $0.json(of: request) }),
                "error": error?.rpcError.json, "endpoint": endpoint.map(JSON.string),
            ]))
    }

    /// Only progress may be skipped for a slow reader.
    func deliveryPolicy(for handle: String) -> DeliveryPolicy { status == .progress ? .latest(key: handle) : .always }
}

extension FolderCounts {
    fileprivate var json: JSON {
        [
            "total": JSON(total), "completed": JSON(completed), "unchanged": JSON(unchanged),
            "toDelete": JSON(toDelete), "deleted": JSON(deleted), "refused": JSON(refused), "failed": JSON(failed),
        ]
    }
}

extension FolderItem {
    func json(of request: FolderRequest) -> JSON {
        let object = try? request.object(path)
        return .object(
            .init(present: [
                "path": .string(path),
                "action": .string(action == .transfer ? request.kind.rawValue : action.rawValue),
                "state": .string(state.rawValue), "size": JSON(size), "reference": object?.result,
                "error": error?.rpcError.json,
            ]))
    }
}
