import Database
import Foundation
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import Roots
@testable import TaskStore

/// Records of tasks that have failed, and run again.
@Suite(.watchdog(minutes: 10)) struct RetriedRecordTests {
    let scratch: Scratch
    let root: StorageRoot

    init() throws {
        scratch = try Scratch()
        root = try StorageRoot(scratch.path + "/root")
    }

    private static let time = Timestamp(microseconds: 1_700_000_000_123_456)
    private static let outage = StorageError(.unknown, "The server answered 503.").with(\.retryable, true)

    private func store(_ place: String = "p") -> DatabaseTaskStore { DatabaseTaskStore(root, place: place) }

    private func kept(_ store: DatabaseTaskStore) async throws -> [TaskRecord] {
        try await store.records().map { try $0.get() }
    }

    /// The record of an upload of a file.
    private func upload() throws -> TaskRecord {
        var record = try TaskRecord.sample()
        var request = TaskRequest(
            file: "/f", identity: .ofSize(100), retryTime: 7, chunkSize: 262_144, userProject: "u",
            preconditions: Preconditions(generation: 3), hasOwnTokens: true)
        request.newFilesMask = 0o77
        record.stage = .unfinished(request, Bookmark("a session"))
        return record
    }

    private func failed(_ error: StorageError = outage) throws -> TaskRecord {
        try upload().ended(.failed(error), at: Self.time)
    }

    @Test func `A failure that may pass keeps its request, and no session`() async throws {
        let record = try upload(), failed = try failed(), request = try #require(record.request)
        try await store().keep(record, isUrgent: true)
        try await store().keep(failed, isUrgent: true)
        let found = try #require(try await kept(store()).first)
        #expect(found == failed && found.retryRequest == RetryRequest(request: request))
        let again = try #require(found.forRetry)
        #expect(again.stage == .unfinished(request, nil) && again.number == record.number)
        #expect(again.progress.completedUnitCount == 0 && again.progress.total != nil)
    }

    @Test func `What cannot be retried keeps no request`() async throws {
        var spooled = try upload(), foreign = try upload(), bytes = try upload()
        guard var request = spooled.request else { return #expect(Bool(false)) }
        request.isSpooled = true
        spooled.stage = .unfinished(request, nil)
        (request.isSpooled, request.origin) = (false, .gateway)
        foreign.stage = .unfinished(request, nil)
        (request.origin, request.identity) = (nil, nil)
        bytes.stage = .unfinished(request, nil)
        for record in [spooled, foreign, bytes] {
            #expect(record.ended(.failed(Self.outage), at: Self.time).retryRequest == nil)
        }
        for outcome in [.cancelled, .cancelledInDoubt, .failed(StorageError(.unauthorized, "No."))] as [TaskOutcome] {
            #expect(try upload().ended(outcome, at: Self.time).retryRequest == nil)
        }
        #expect(try failed(StorageError(.retryLimitExceeded, "At last.")).retryRequest != nil)
    }

    @Test func `A failed task becomes unfinished in one step, and only once`() async throws {
        let store = store(), failed = try failed()
        try await store.keep(failed, isUrgent: true)
        let again = try #require(failed.forRetry)
        #expect(try await store.reopen(again))
        #expect(try await kept(store) == [again])
        #expect(try await !store.reopen(again), "it has not failed")
        try await store.keep(again.ended(.cancelled, at: Self.time), isUrgent: true)
        #expect(try await !store.reopen(again))
        try await store.forget([again.id])
        #expect(try await !store.reopen(again))
        #expect(try await kept(store).isEmpty)
    }

    @Test func `A failed task of another endpoint is left alone`() async throws {
        let failed = try failed(), again = try #require(failed.forRetry)
        try await store("one").keep(failed, isUrgent: true)
        #expect(try await !store("other").reopen(again))
        let elsewhere = try #require(try await kept(store("other")).first)
        #expect(elsewhere.hasEnded && elsewhere.forRetry == nil)
    }

    @Test func `A failure that an earlier release has recorded has no request`() async throws {
        let store = store()
        try await store.keep(failed(), isUrgent: true)
        for value in ["NULL", "'{'", "'{}'"] {
            try await store.database.write { try $0.execute("UPDATE endedTasks SET request = \(value)") }
            let found = try #require(try await kept(store).first)
            #expect(found.hasEnded && found.forRetry == nil)
        }
    }

    @Test func `An end in a slot does not end a task that runs again`() async throws {
        let record = try upload(), failed = try failed()
        let first = store()
        try await first.keep(record, isUrgent: true)
        try await first.keepEnd(of: failed)
        // The slot is released, and keeps its contents.
        try await first.keep(failed, isUrgent: true)
        #expect(try await first.reopen(try #require(failed.forRetry)))
        #expect(try await kept(store()) == [failed.forRetry])
    }

    @Test func `An end that only a slot has can be retried in the next process`() async throws {
        let failed = try failed()
        let first = store()
        try await first.keep(upload(), isUrgent: true)
        try await first.keepEnd(of: failed)
        let second = store()
        let found = try #require(try await kept(second).first)
        #expect(try await second.reopen(try #require(found.forRetry)))
        #expect(try await kept(store()).map(\.hasEnded) == [false])
    }

    @Test func `A slot that another task has got since keeps the end of that task`() async throws {
        let store = store(), failed = try failed()
        try await store.keep(upload(), isUrgent: true)
        try await store.keepEnd(of: failed)
        try await store.keep(failed, isUrgent: true)
        let other = try TaskRecord.sample("other"), end = other.ended(.cancelled, at: Self.time)
        try await store.keep(other, isUrgent: true)
        try await store.keepEnd(of: end)
        #expect(try await store.reopen(try #require(failed.forRetry)))
        #expect(Set(try await kept(self.store()).map(\.hasEnded)) == [true, false])
    }
}
