import Checksums
import Platform
import Storage
import Synchronization
import TestSupport
import Testing

@testable import EmbeddedEngine

@Suite(.watchdog) struct BackgroundMD5Tests {
    private let threads = MD5Threads()
    private let blocks = BlockCache()

    /// Submits a part of the bytes.
    private func submit(_ bytes: ArraySlice<UInt8>, to md5: BackgroundMD5, _ pool: HashBufferPool) {
        let block = pool.take()
        block.prefix(bytes.count).copyBytes(from: bytes)
        md5.update(block, count: bytes.count, of: pool)
    }

    @Test(arguments: [1, 2, 3, 12]) func `The MD5 of each of many streams is that of its bytes`(count: Int) async {
        await withTaskGroup { group in
            for seed in 0..<UInt64(count) {
                let worker = WorkerThreads("stream")
                group.addTask {
                    await worker.run {
                        var random = SeededGenerator(state: seed)
                        for _ in 0..<5 {
                            let count = Int.random(in: 0...100_000, using: &random)
                            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
                            let (md5, pool) = (BackgroundMD5(on: threads), HashBufferPool(blocks))
                            var rest = bytes[...]
                            while !rest.isEmpty {
                                let piece = rest.prefix(.random(in: 1...20_000, using: &random))
                                submit(piece, to: md5, pool)
                                rest = rest.dropFirst(piece.count)
                            }
                            if Bool.random(using: &random) { md5.hashRest() }
                            #expect(md5.digest() == Checksum(of: bytes).md5)
                        }
                    }
                }
            }
        }
    }

    @Test func `Abandoned streams do not stop others`() async {
        let (idle, pool) = ((0..<10).map { _ in BackgroundMD5(on: threads) }, HashBufferPool(blocks))
        await WorkerThreads("stream").run {
            for md5 in idle.prefix(3) { submit([1, 2, 3], to: md5, pool) }
            let mine = BackgroundMD5(on: threads)
            for byte in 0..<100 as Range<UInt8> { submit([byte], to: mine, pool) }
            #expect(mine.digest() == Checksum(of: Array(0..<100)).md5)
            #expect(idle[0].digest() == Checksum(of: [1, 2, 3]).md5)
            #expect(idle[9].digest() == Checksum(of: []).md5)
        }
    }

    @Test func `A stream that is parked gives its buffers back`() async {
        let (others, pool) = ((0..<3).map { _ in BackgroundMD5(on: threads) }, HashBufferPool(blocks))
        await WorkerThreads("stream").run {
            // With three streams under way each next one waits for others.
            for md5 in others.prefix(2) { submit([1], to: md5, pool) }
            for byte in 0..<3 as Range<UInt8> { submit([byte], to: others[2], pool) }
            others[2].park()
            // Blocks until all are free again.
            let taken = (0..<8).map { _ in pool.take() }
            taken.forEach(pool.give(back:))
            #expect(others[2].digest() == Checksum(of: [0, 1, 2]).md5)
        }
    }

    @Test func `A question for the state of a parked stream does not make others wait for it`() async {
        let (parked, other, mine) = (
            BackgroundMD5(on: threads), BackgroundMD5(on: threads), BackgroundMD5(on: threads)
        )
        let pool = HashBufferPool(blocks)
        submit([1], to: parked, HashBufferPool(blocks))
        parked.park()
        await withCheckedContinuation { waiter in parked.state { _ in waiter.resume() } }
        await WorkerThreads("stream").run {
            submit([1], to: other, HashBufferPool(blocks))
            for byte in 0..<3 as Range<UInt8> { submit([byte], to: mine, pool) }
            // Blocks until the buffers are given back: with three open streams they wait for a fourth one.
            let taken = (0..<8).map { _ in pool.take() }
            taken.forEach(pool.give(back:))
            #expect(mine.digest() == Checksum(of: [0, 1, 2]).md5)
        }
    }

    @Test func `A state is that after the buffers before it, and a stream continues after it`() async {
        let (md5, pool) = (BackgroundMD5(on: threads), HashBufferPool(blocks))
        submit([1, 2], to: md5, pool)
        let state = await withCheckedContinuation { waiter in
            md5.state { waiter.resume(returning: $0) }
            submit([3], to: md5, pool)
        }
        #expect(Checksum(md5State: state, crc32c: 0, after: 2)?.md5 == Checksum(of: [1, 2] as [UInt8]).md5)
        #expect(md5.digest() == Checksum(of: [1, 2, 3]).md5)
    }
}
