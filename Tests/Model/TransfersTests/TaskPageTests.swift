import Platform
import Storage
import TestSupport
import Testing
import Transfers

/// Lists of tasks, a page at a time.
@Loop @Suite(.watchdog(minutes: 10)) struct TaskPageTests {
    typealias Uploads = TaskList<UploadTask>
    let stage = TransfersFixture(ScriptedBackend(), InMemoryTaskStore(), limits: .keeping(finished: 6))

    /// The ids on this page and all following ones.
    private func pages(
        _ size: Int64, from token: String? = nil, of uploads: Uploads, _ between: () async throws -> Void = {}
    ) async throws -> [[String]] {
        var pages: [[String]] = [], token = token
        repeat {
            let page = try uploads.page(size, after: token).fitting(.max) { ($0.task, bytes: 1) }
            pages.append(page.items)
            token = page.pageToken
            if token != nil { try await between() }
        } while token != nil
        return pages
    }

    @Test(arguments: [1, 2, 3, 6, 7, 1000] as [Int64])
    func `Pages contain all tasks in order and the last page has no token`(size: Int64) async throws {
        var ids: [String] = []
        for _ in 0..<6 { ids.append(try await stage.upload().0.id) }
        let pages = try await pages(size, of: stage.transfers.uploads)
        #expect(pages.flatMap { $0 } == ids)
        #expect(pages.dropLast().allSatisfy { $0.count == size } && !pages.contains([]))
    }

    @Test func `A task that exists throughout a listing appears once`()
        async throws
    {
        var waiting: [UploadTask] = []
        for _ in 0..<12 { waiting.append(try await stage.upload().0) }
        let uploads = stage.transfers.uploads
        // Between two pages the one that the token names is forgotten, another one ends, and two begin.
        let pages = try await pages(1, of: uploads) {
            guard waiting.count > 6 else { return }
            let gone = waiting.removeFirst()
            _ = try await gone.cancel()
            _ = await uploads.forget(gone)
            _ = try await waiting.removeLast().cancel()
            for _ in 0..<2 { _ = try await stage.upload() }
        }
        let told = pages.flatMap { $0 }
        #expect(Set(told).count == told.count)
        #expect(Set(waiting.map(\.id)).isSubset(of: told))
    }

    @Test func `Tasks that are dropped during a listing hide no others`() async throws {
        let first = try await stage.upload().0.id
        for _ in 0..<6 { _ = try await stage.storedUpload() }
        let last = try await stage.upload().0.id
        let pages = try await pages(2, of: stage.transfers.uploads) { _ = try await stage.storedUpload() }
        #expect(pages.flatMap { $0 }.count { $0 == first || $0 == last } == 2)
    }

    @Test func `A page token is valid after a restart`() async throws {
        var ids: [String] = []
        for index in 0..<5 { ids.append(try await index % 2 == 0 ? stage.storedUpload() : stage.upload().0.id) }
        let first = try stage.transfers.uploads.page(2, after: nil).fitting(.max) { ($0.task, bytes: 1) }
        let next = try await stage.afterCrash()
        let rest = try await pages(2, from: first.pageToken, of: next.transfers.uploads)
        #expect(first.items + rest.flatMap { $0 } == ids)
    }

    @Test(arguments: [
        "", "uploads", "uploads.1", "uploads.1.", "uploads.+1.a", "uploads.01.a", "uploads.x.a",
        "uploads.99999999999999999999.a", "downloads.1.a", "\u{1F600}", "..",
    ])
    func `An invalid page token is refused`(text: String) throws {
        let error = #expect(throws: StorageError.self) {
            try stage.transfers.uploads.page(1, after: text).fitting(.max) { ($0.task, bytes: 1) }
        }
        #expect(error?.code == .invalidArgument && error?.param == "pageToken")
    }

    @Test(arguments: [0, -1, 1001, .max, .min] as [Int64])
    func `A page has one to a thousand tasks`(size: Int64) throws {
        let error = #expect(throws: StorageError.self) {
            try stage.transfers.uploads.page(size, after: nil).fitting(.max) { ($0.task, bytes: 1) }
        }
        #expect(error?.code == .invalidArgument && error?.param == "maxResults")
    }

    @Test func `A page ends at the size limit and a whole list beyond it fails`() async throws {
        var ids: [String] = []
        for _ in 0..<5 { ids.append(try await stage.upload().0.id) }
        let uploads = stage.transfers.uploads
        #expect(try uploads.page(1000, after: nil).fitting(30) { ($0.task, bytes: 10) }.items == Array(ids.prefix(3)))
        #expect(try uploads.page(1000, after: nil).fitting(3) { ($0.task, bytes: 10) }.items == Array(ids.prefix(1)))
        #expect(try uploads.page(nil, after: nil).fitting(50) { ($0.task, bytes: 10) }.items == ids)
        let error = #expect(throws: StorageError.self) {
            try uploads.page(nil, after: nil).fitting(49) { ($0.task, bytes: 10) }
        }
        #expect(error?.code == .quotaExceeded && error?.retryable == false)
    }
}

extension TransferLimits {
    fileprivate static func keeping(finished: Int) -> TransferLimits {
        var limits = TransferLimits()
        limits.finishedTasks = finished
        return limits
    }
}
