import JSONRPC
import JSONText
import Platform
import Storage
import Transfers

/// `folderTask/items`: returns a page of the files of a task.
struct ListFolderItems: ServiceMethod {
    static let name = "folderTask/items"
    var uses: [Use] { [] }
    /// The estimated size of a page with long names.
    private static let pageBytes = 8 << 20

    let task: String
    let states: [FolderItem.State]
    let maxResults: Int64?
    let pageToken: String?

    init(_ params: inout Params) throws(RPCError) {
        task = try params.string("task")
        states = try params.itemStates("states")
        maxResults = try params.optionalInteger("maxResults")
        pageToken = try params.optionalString("pageToken")
    }

    func run(in request: Request<ConnectionContext>) async throws -> SegmentedBytes {
        let task: FolderTask = try await request.task(task, .reading)
        try await request.roomToAnswer(expecting: Self.pageBytes)
        let page = try await task.items(states, maxResults, after: pageToken)
        let folder = task.snapshot().request
        return await SegmentedBytes.encode { text in
            text.add(verbatim: "{\"items\":")
            text.add(page.items) { text, item in text.add { item.write(to: &$0, of: folder) } }
            text.finishPage(page.pageToken)
        }
    }
}

extension Params {
    fileprivate mutating func itemStates(_ name: String) throws(RPCError) -> [FolderItem.State] {
        guard let value = take(name) else { return [] }
        guard let elements = value.array else { throw mistyped(name, "an array of states", value) }
        var states: [FolderItem.State] = []
        for element in elements {
            guard let state = element.string.flatMap(FolderItem.State.init) else {
                let known = FolderItem.State.allCases.map(\.rawValue).joined(separator: ", ")
                throw .invalidParam(name, "must have elements of \(known)")
            }
            states.append(state)
        }
        return states
    }
}
