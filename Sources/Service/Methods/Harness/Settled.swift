import Harness
import JSONRPC
import JSONText
import Storage
import Transfers
import Platform

/// `harness/settled`: answers when nothing further happens without a request or a move of the clock.
struct Settled: ParameterlessMethod, HarnessMethod {
    static let name = "harness/settled"

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let harness = try request.harness, transfers = request.context.transfers
        await harness.settle()
        try Task.checkCancellation()
        return [
            "tasks": transfers.counts, "held": .array(harness.holds.map { .object($0.members) }),
            "resting": .array(
                resting(transfers.uploads) + resting(transfers.downloads) + transfers.restingFolders.map(json)),
        ]
    }

    @Loop private func resting<Strategy>(_ list: TaskList<TransferTask<Strategy>>) -> [JSON] {
        list.all.compactMap { task in task.snapshot().retry.map { json(task.id, $0) } }
    }

    private func json(_ task: String, _ retry: Retry) -> JSON {
        ["task": .string(task), "at": .string(retry.at.rfc3339)]
    }
}
