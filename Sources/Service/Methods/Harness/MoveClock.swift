import Harness
import JSONRPC
import JSONText
import Storage

/// `harness/clock`: stops and advances the clock.
struct MoveClock: HarnessMethod {
    static let name = "harness/clock"

    private enum Move: Sendable {
        case none, at(Timestamp), advance(Duration), toNext, run, skip
    }

    private let move: Move

    init(_ params: inout Params) throws(RPCError) {
        let at = try params.optionalString("at").map { text throws(RPCError) in
            guard let time = Timestamp(rfc3339: text) else {
                throw RPCError.invalidParam("at", "must be a time as 2026-01-01T00:00:00Z, not \"\(text)\"")
            }
            return Move.at(time)
        }
        let advance = try params.optionalDuration("advance").map(Move.advance)
        let toNext = try params.optionalBool("toNext") == true ? Move.toNext : nil
        let run = try params.optionalString("run").map { text throws(RPCError) in
            guard ["real", "skip"].contains(text) else { throw RPCError.invalidParam("run", "must be real or skip") }
            return text == "skip" ? Move.skip : Move.run
        }
        let moves = [("at", at), ("advance", advance), ("toNext", toNext), ("run", run)].compactMap { name, move in
            move.map { (name, $0) }
        }
        guard moves.count <= 1 else { throw .invalidParam(moves[1].0, "cannot be given with \(moves[0].0)") }
        move = moves.first?.1 ?? .none
    }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let harness = try request.harness
        switch move {
        case .none: break
        case .run: harness.run()
        case .skip: harness.skip()
        case .at(let time):
            guard harness.stop(at: time) else {
                let now = harness.clock.timeOfDay.rfc3339
                throw StorageError.invalidArgument("at", "The clock stands at \(now); it does not go back.")
            }
        case .advance(let delay):
            try check(harness, "advance")
            await harness.advance(by: delay)
        case .toNext:
            try check(harness, "toNext")
            await harness.advanceToNext()
        }
        return [
            "now": .string(harness.clock.timeOfDay.rfc3339), "stands": .bool(harness.clock.stands),
            "sleeping": JSON(Int64(harness.clock.sleeping)),
        ]
    }

    private func check(_ harness: Harness, _ param: String) throws(StorageError) {
        guard !harness.clock.stands else { return }
        throw .invalidArgument(param, "The clock runs: stop it with at.")
    }
}
