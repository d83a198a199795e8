import Storage
import TestSupport
import Testing

/// What a task over a folder decides, in conversations and in random walks.
@Suite(.watchdog) struct FolderMachineTests {
    private typealias Machine = FolderMachine

    private static let failure = StorageError(.unknown, "It failed.")

    private func working() -> Machine {
        var machine = Machine()
        machine.converse([(.requested(.start), [.publish(.resume), .begin])])
        return machine
    }

    @Test func `A task works until its work has ended`() {
        var machine = working()
        machine.converse([(.requested(.start), []), (.finished(.succeeded), [.end]), (.finished(.cancelled), [])])
        #expect(machine.taskState == .success)
    }

    @Test func `A pause is published when the work has stopped`() {
        var machine = working()
        machine.converse([(.requested(.pause), [.stop]), (.requested(.pause), [])])
        #expect(machine.taskState == .running && !machine.isSettled)
        machine.converse([(.stopped, [.publish(.pause)]), (.requested(.resume), [.publish(.resume), .begin])])
    }

    @Test func `A task that is resumed while it stops begins again once it has stopped`() {
        var machine = working()
        machine.converse([
            (.requested(.pause), [.stop]), (.requested(.resume), []),
            (.stopped, [.publish(.pause), .publish(.resume), .begin]),
        ])
    }

    @Test func `A task that is cancelled while it stops is cancelled`() {
        var machine = working()
        machine.converse([(.requested(.pause), [.stop]), (.requested(.cancel), []), (.stopped, [.end])])
        #expect(machine.taskState == .cancelled)
    }

    @Test func `A failure during a cancellation is a cancellation, and a success remains one`() {
        var machine = working()
        machine.converse([(.requested(.cancel), [.stop]), (.finished(.failed(Self.failure)), [.end])])
        #expect(machine.taskState == .cancelled)
        machine = working()
        machine.converse([(.requested(.cancel), [.stop]), (.finished(.succeeded), [.end])])
        #expect(machine.taskState == .success)
    }

    @Test func `An idle task is paused and cancelled immediately`() {
        var machine = Machine()
        machine.converse([(.requested(.pause), [.publish(.pause)]), (.requested(.cancel), [.end])])
    }

    @Test func `Only a task that has failed is revived`() {
        for (outcome, allows) in [(FolderOutcome.succeeded, false), (.cancelled, false), (.failed(Self.failure), true)]
        {
            var machine = Machine(.ended(outcome))
            #expect(machine.allows(.retry) == allows)
            machine.converse([(.requested(.retry), allows ? [.publish(.resume), .begin] : [])])
        }
    }

    @Test func `Random events never begin work twice, and end each task once`() {
        var states: Set<TaskState> = []
        for seed in UInt64(0)..<500 {
            var random = SeededGenerator(state: seed), machine = Machine(), works = false, ends = 0
            for _ in 0..<60 {
                let events: [Machine.Event] =
                    Machine.Control.allCases.filter { $0 != .retry }.map { .requested($0) }
                    + (works ? [.stopped, .finished(.succeeded), .finished(.failed(Self.failure))] : [])
                guard let event = events.randomElement(using: &random) else { continue }
                if event == .stopped, machine.isSettled { continue }
                if case .requested = event {} else { works = false }
                for effect in machine.handle(event) {
                    if effect == .begin {
                        #expect(!works, "seed \(seed)")
                        works = true
                    }
                    if effect == .end { ends += 1 }
                    if effect == .stop { #expect(works, "seed \(seed)") }
                }
                states.insert(machine.taskState)
            }
            #expect(ends == (machine.taskState.isFinished ? 1 : 0), "seed \(seed)")
        }
        #expect(states.isSuperset(of: [.running, .paused, .success, .failed, .cancelled]))
    }
}

extension FolderMachine {
    fileprivate mutating func converse(
        _ conversation: [(said: Event, heard: [Effect])], _ location: SourceLocation = #_sourceLocation
    ) {
        for (number, line) in conversation.enumerated() {
            let effects = handle(line.said)
            #expect(effects == line.heard, "line \(number + 1): \(line.said)", sourceLocation: location)
        }
    }
}
