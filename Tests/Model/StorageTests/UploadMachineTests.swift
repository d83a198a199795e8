import Storage
import TestSupport
import Testing

@Suite(.watchdog) struct UploadMachineTests {
    @Test func `Chunks grow up to the maximum and the last one completes the upload`() throws {
        var machine = UploadMachine.growing()
        machine.converse(
            opening + [
                (.answered(.received(upTo: 2)), [.publish(.progress), .perform(.send(2..<6))]),
                (.answered(.received(upTo: 6)), [.publish(.progress), .perform(.send(6..<14))]),
                (.answered(.received(upTo: 14)), [.publish(.progress), .perform(.send(14..<20))]),
                (.answered(.completed(try stored())), [.release, .publish(.progress), .publish(.success)]),
            ])
        #expect(machine.state == .ended(.succeeded(try stored())))
        #expect(machine.acknowledged == 20)
    }

    @Test func `Chunks of a fixed size do not grow`() throws {
        var machine = UploadMachine(size: 10, chunks: ChunkSizes(first: 4, largest: 4))
        machine.converse([
            (.requested(.start), [.acquire]),
            (.admitted, [.publish(.resume), .perform(.open)]),
            (.answered(.opened()), [.perform(.send(0..<4))]),
            (.answered(.received(upTo: 4)), [.publish(.progress), .perform(.send(4..<8))]),
            (.answered(.received(upTo: 8)), [.publish(.progress), .perform(.send(8..<10))]),
        ])
    }

    @Test(arguments: [(4, 0..<4), (5, 0..<4), (3, 0..<3)] as [(Int64, Range<Int64>)])
    func `A chunk ends where the upload ends`(size: Int64, first: Range<Int64>) {
        var machine = UploadMachine(size: size, chunks: ChunkSizes(first: 4, largest: 4))
        _ = machine.handle(.requested(.start))
        _ = machine.handle(.admitted)
        #expect(machine.handle(.answered(.opened())) == [.perform(.send(first))])
    }

    @Test func `Sizes close to the maximum do not overflow`() {
        var machine = UploadMachine(size: .max, chunks: .fixed(.max))
        _ = machine.handle(.requested(.start))
        _ = machine.handle(.admitted)
        #expect(machine.handle(.answered(.opened())) == [.perform(.send(0..<ChunkSizes.fixed(.max).first))])
        let next = ChunkSizes.fixed(.max).first..<Int64.max
        #expect(
            machine.handle(.answered(.received(upTo: next.lowerBound))) == [.publish(.progress), .perform(.send(next))])
    }

    @Test func `An empty upload sends one empty chunk`() throws {
        var machine = UploadMachine(size: 0, chunks: ChunkSizes(first: 2, largest: 8))
        machine.converse([
            (.requested(.start), [.acquire]),
            (.admitted, [.publish(.resume), .perform(.open)]),
            (.answered(.opened()), [.perform(.send(0..<0))]),
            (.answered(.completed(try stored(0))), [.release, .publish(.progress), .publish(.success)]),
        ])
        #expect(machine.progress.fractionCompleted == 1)
    }

    @Test(arguments: [Int64(0), 1, 20])
    func `A small upload sends everything in one request`(size: Int64) throws {
        var machine = UploadMachine.whole(size)
        machine.converse([
            (.requested(.start), [.acquire]),
            (.admitted, [.publish(.resume), .perform(.sendWhole)]),
            (.answered(.completed(try stored(size))), [.release, .publish(.progress), .publish(.success)]),
        ])
        #expect(machine.acknowledged == size)
    }

    @Test func `An upload with all bytes acknowledged sends an empty final chunk`() throws {
        var machine = UploadMachine.growing()
        machine.converse(
            opening + [
                (.answered(.received(upTo: 20)), [.publish(.progress), .perform(.send(20..<20))]),
                (.answered(.completed(try stored())), [.release, .publish(.progress), .publish(.success)]),
            ])
    }

    @Test func `An unexpected event has no effect`() throws {
        let strangers: [UploadMachine.Event] = [
            .admitted, .answered(.opened()), .answered(.received(upTo: 2)), .answered(.aborted),
            .answered(.completed(try stored())), .answered(.failed(.refused)), .retryDue(attempt: 1),
        ]
        var paused = UploadMachine.growing()
        paused.converse([(.requested(.pause), [.release, .publish(.pause)])])
        var ended = UploadMachine.growing()
        _ = ended.handle(.requested(.cancel))
        for machine in [UploadMachine.growing(), paused, ended] {
            for stranger in strangers {
                var same = machine
                #expect(same.handle(stranger) == [])
                #expect(same == machine)
            }
        }
    }

    @Test func `A second admission has no effect`() {
        var machine = UploadMachine.growing()
        machine.converse([(.requested(.start), [.acquire]), (.requested(.start), [])])
        _ = machine.handle(.admitted)
        machine.converse([(.admitted, []), (.requested(.start), []), (.retryDue(attempt: 0), [])])
    }
}
