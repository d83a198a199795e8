import TestSupport
import Testing

@testable import Platform

@Suite(.watchdog(minutes: 10)) struct ThreadConfinedTests {
    @Test func `The owning thread may access the state`() async throws {
        let results = Mail<Int>()
        startTestThread("owner") {
            let state = ThreadConfined(1)
            state.bind()
            state.withState { $0 += 1 }
            results.deliver(state.withState { $0 })
        }
        #expect(try await results.next() == 2)
    }

    @Test func `Access by another thread ends the process`() async {
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
