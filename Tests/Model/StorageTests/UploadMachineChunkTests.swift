import Storage
import TestSupport
import Testing

/// The sizes of chunks.
@Suite(.watchdog) struct UploadMachineChunkTests {
    /// The sent ranges, each of them accepted completely after so many seconds.
    private func ranges(_ machine: UploadMachine, _ first: Range<Int64>, seconds: [Double]) -> [Int64] {
        var machine = machine, range = first, lengths: [Int64] = []
        for time in seconds {
            lengths.append(range.upperBound - range.lowerBound)
            let answer = UploadMachine.Event.answered(.received(upTo: range.upperBound), took: .seconds(time))
            guard case .perform(.send(let next))? = machine.handle(answer).last else { break }
            range = next
        }
        return lengths + [range.upperBound - range.lowerBound]
    }

    @Test func `Fast chunks double the chunk size and slow ones halve it`() {
        let machine = UploadMachine.sending(1000, ChunkSizes(first: 2, largest: 9))
        #expect(
            ranges(machine, 0..<2, seconds: [1, 0, 0.5, 0, 1.5, 2, 2.1, 3, 60, 60, 1.1, 1])
                == [2, 4, 8, 9, 9, 9, 9, 4, 2, 2, 2, 2, 4])
    }

    @Test func `A fixed chunk size ignores the speed`() {
        let machine = UploadMachine.sending(100, ChunkSizes(first: 4, largest: 4))
        #expect(ranges(machine, 0..<4, seconds: [0, 60, 0]) == [4, 4, 4, 4])
    }

    @Test func `A partial chunk or a failure does not change the chunk size`() {
        var machine = UploadMachine.sending(1000)
        machine.converse([
            (.answered(.received(upTo: 2)), [.publish(.progress), .perform(.send(2..<6))]),
            (.answered(.received(upTo: 5)), [.publish(.progress), .perform(.send(5..<9))]),
            (.answered(.received(upTo: 8), took: .seconds(9)), [.publish(.progress), .perform(.send(8..<12))]),
            (.answered(.received(upTo: 12)), [.publish(.progress), .perform(.send(12..<20))]),
            (.answered(.failed(.busy)), rested),
            (.retryDue(attempt: 1), [.publish(.progress), .perform(.query)]),
            (.answered(.received(upTo: 12)), [.perform(.send(12..<14))]),
        ])
    }

    @Test(
        arguments: [
            (10_000, 260_000), (262_144, 262_144), (262_143, 262_143), (200_000, 200_000), (262_145, 262_145),
            (1, 262_144), (0, 262_144), (-10_000, 262_144), (.min, 262_144), (9 << 20, 9 << 20),
        ] as [(Int64, Int64)])
    func `Chunks are multiples of the engine's granularity`(granularity: Int64, first: Int64) {
        let machine = UploadMachine.sending(
            1 << 40, ChunkSizes(largest: 8 << 20), granularity: granularity)
        #expect(machine.state == .working(.send(0..<first)))
    }

    @Test func `Growing chunks remain multiples of the granularity up to the maximum`() {
        let machine = UploadMachine.sending(1 << 40, ChunkSizes(largest: 1 << 20), granularity: 10_000)
        #expect(
            ranges(machine, 0..<260_000, seconds: [0, 0, 0, 3, 3, 3])
                == [260_000, 520_000, 1_040_000, 1_040_000, 520_000, 260_000, 260_000])
    }

    @Test func `The last chunk is the remainder`() {
        var machine = UploadMachine.sending(30, ChunkSizes(first: 12, largest: 12), granularity: 5)
        machine.converse([
            (.answered(.received(upTo: 7)), [.publish(.progress), .perform(.send(7..<17))]),
            (.answered(.received(upTo: 17)), [.publish(.progress), .perform(.send(17..<27))]),
            (.answered(.received(upTo: 27)), [.publish(.progress), .perform(.send(27..<30))]),
        ])
        #expect(UploadMachine.sending(30, granularity: .max).state == .working(.send(0..<30)))
        #expect(UploadMachine.sending(.max, granularity: .max).state == .working(.send(0..<Int64.max)))
    }

    @Test func `A new session may have another granularity`() {
        var machine = UploadMachine.sending(30, ChunkSizes(first: 12, largest: 12), granularity: 5)
        machine.converse([
            (.answered(.forgotten(.gone)), [.perform(.open)]),
            (.answered(.opened(granularity: 7)), [.perform(.send(0..<7))]),
        ])
    }
}
