import TestSupport
import Testing

@testable import Platform

@Suite(.watchdog(minutes: 10)) struct ThreadConfinedTests {
    @Test func `The thread that owns the state may touch it`() async throws {
        let results = Mail<Int>()
        startTestThread("owner") {
            let state = ThreadConfined(1)
            state.bind()
            state.withState { $0 += 1 }
            results.deliver(state.withState { $0 })
        }
        #expect(try await results.next() == 2)
    }

    @Test func `Any other thread is stopped`() async {
        await #expect(processExitsWith: .failure) {
            let bound = Mail<ThreadConfined<Int>>()
            startTestThread("owner") {
                let state = ThreadConfined(1)
                state.bind()
                bound.deliver(state)
            }
            try await bound.next().withState { $0 += 1 }
        }
    }
}
