import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Platform

@Suite(.watchdog) struct SecureRandomTests {
    /// A source of the bytes 1, 2, 3 …, with these counts of bytes for its first calls; a negative count is an errno.
    private func random(_ counts: [Int]) -> SecureRandom {
        let state = Mutex((counts: counts, last: UInt8(0)))
        return SecureRandom { buffer in
            state.withLock { state in
                let count = state.counts.isEmpty ? buffer.count : state.counts.removeFirst()
                guard count >= 0 else {
                    errno = Int32(-count)
                    return -1
                }
                for index in 0..<count {
                    state.last &+= 1
                    buffer[index] = state.last
                }
                return count
            }
        }
    }

    @Test func `Reading random bytes continues after interruptions and short reads`() {
        let random = random([Int(-EINTR), 3, Int(-EINTR), 1, 4])
        #expect(withUnsafeBytes(of: random.next()) { Array($0) } == [1, 2, 3, 4, 5, 6, 7, 8])
    }

    @Test func `Numbers that are drawn ahead are each given once`() {
        let last = Mutex(UInt64(0))
        let source = RandomSource(
            drawingAheadFrom: SecureRandom { buffer in
                let number = last.withLock { last in
                    last += 1
                    return last
                }
                buffer.storeBytes(of: number, as: UInt64.self)
                return 8
            })
        let numbers = (0..<100).map { _ in source.next() }
        #expect(Set(numbers).count == numbers.count)
    }

    @Test func `A UUID has version 4 and the RFC variant`() {
        #expect(random([]).uuid() == "08070605-0403-4201-900f-0e0d0c0b0a09")
        let zeros = SecureRandom { buffer in
            buffer.initializeMemory(as: UInt8.self, repeating: 0)
            return buffer.count
        }
        #expect(zeros.uuid() == "00000000-0000-4000-8000-000000000000")
    }

    @Test func `A thousand UUIDs all differ`() {
        let numbers = (0..<1000).map { _ in SecureRandom().uuid() }
        #expect(Set(numbers).count == numbers.count)
    }

    @Test(arguments: [ENOSYS, EPERM]) func `Without random numbers of the system the process ends`(error: Int32) async {
        await #expect(processExitsWith: .failure) { [error] in
            _ = SecureRandom { _ in
                errno = error
                return -1
            }.uuid()
        }
    }
}
