import Database
import Foundation
import Glibc
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import LocalFiles
@testable import Roots
@testable import TaskStore

@Suite(.watchdog(minutes: 10)) struct FolderFilesTests {
    private let scratch: Scratch
    private let began = Timestamp(microseconds: 1_700_000_000_123_456)
    private var beginning: Beginning { Beginning(began, lastGeneration: 42) }
    private var folder: String { scratch.path + "/root/folders" }

    init() throws { scratch = try Scratch() }

    private func root(_ name: String = "root") throws -> StorageRoot { try StorageRoot("\(scratch.path)/\(name)") }

    private func request(_ kind: FolderRequest.Kind = .put) throws -> FolderRequest {
        var request = FolderRequest(kind, try ref("dir/\u{E9}"), directory: kind == .delete ? nil : "/local/dir")
        (request.include, request.exclude) = (["*.txt"], ["/a/", "e\u{301}"])
        (request.onlyChanged, request.deletesOthers, request.keepsExisting) = (true, true, true)
        request.metadata.content = [.cacheControl: "no-store", .contentType: ""]
        request.metadata.custom = ["\u{E9}": "1", "e\u{301}": "2"]
        (request.client.chunkSize, request.client.newFilesMask) = (7, 0o77)
        (request.key, request.atOnce) = ("\u{E9}", 64)
        request.refreshed = beginning
        (request.client.userProject, request.client.hasOwnTokens, request.client.retryTime) = ("p", true, 0.5)
        return request
    }

    private func begin(_ files: FolderFiles, _ id: String = "task", dryRun: Bool = false) async throws -> FolderPlanFile
    {
        var request = try request()
        request.isDryRun = dryRun
        let plan = try await files.begin(id, request, number: 5, began: beginning)
        return try #require(plan as? FolderPlanFile)
    }

    private func stored(_ files: FolderFiles) async throws -> [StoredFolder] {
        try await files.stored().map { try $0.get() }
    }

    private func object(_ generation: Int64?, md5: [UInt8]? = [1, 2], crc32c: UInt32? = .max) -> FolderObject {
        FolderObject(generation: generation, size: 77, checksums: Checksums(md5: md5, crc32c: crc32c))
    }

    private func all(_ plan: FolderPlanFile) async throws -> [FolderItem] {
        try await plan.items(FolderItem.State.allCases, after: 0, most: 100_000)
    }

    // MARK: - Tasks

    @Test func `A plan is found unchanged by the next process`() async throws {
        let root = try root()
        let failed = FolderStage.ended(.failed(DatabaseTaskStoreTests.longFailure()), at: began)
        let stages: [FolderStage] = [
            .planning, .working, failed, .ended(.succeeded, at: began), .ended(.cancelled, at: began),
        ]
        do {
            let files = FolderFiles(root, place: "p")
            for (number, stage) in stages.enumerated() {
                let plan = try await files.begin("task \(number)", request(), number: Int64(number), began: beginning)
                try await plan.keep(stage)
            }
        }
        let found = try await stored(FolderFiles(root, place: "p")).sorted { $0.number < $1.number }
        #expect(found.map(\.stage) == stages && found.map(\.number) == [0, 1, 2, 3, 4])
        for stored in found {
            #expect(try stored.request == request() && stored.began == beginning && stored.endpoint == nil)
            #expect(stored.plan.id == "task \(stored.number)")
        }
    }

    @Test func `Files of plans are private, closed after the end, and removed with it`() async throws {
        let files = FolderFiles(try root(), place: "p")
        let plan = try await begin(files)
        try await plan.add([FolderItem("a")], directories: [])
        #expect(try names(in: folder) == ["task.sqlite", "task.sqlite-wal"])
        for name in try names(in: folder) {
            #expect(try FileStatus(ofPath: "\(folder)/\(name)").permissions == 0o600)
        }
        #expect(try FileStatus(ofPath: folder).permissions == 0o700)
        try await plan.keep(.ended(.succeeded, at: began))
        #expect(try names(in: folder) == ["task.sqlite"])
        #expect(try await plan.counts().total == 1)
        #expect(try names(in: folder).count == 2)
        await plan.remove()
        #expect(try names(in: folder).isEmpty)
        #expect(try await failure { _ = try await plan.counts() }.message == "The plan of task task was removed.")
        #expect(try names(in: folder).isEmpty)
    }

    @Test func `A task begins once, and has a name that is one of a file`() async throws {
        let files = FolderFiles(try root(), place: "p")
        let plan = try await begin(files)
        try await plan.add([FolderItem("a")], directories: [])
        #expect(try await failure { _ = try await begin(files) }.message.contains("task.sqlite: File exists"))
        await plan.close()
        #expect(try await all(plan).map(\.path) == ["a"])
        for id in ["", "../task", "a/b", ".hidden", "a\0b"] {
            #expect(try await failure { _ = try await begin(files, id) }.code == .internalError)
        }
    }

    // MARK: - Items

    @Test func `Items are found in the order of their numbers, each path once`() async throws {
        let plan = try await begin(FolderFiles(try root(), place: "p"))
        let error = DatabaseTaskStoreTests.longFailure()
        let first = [
            FolderItem("b", size: 3), FolderItem("a", .delete, object: object(5)),
            FolderItem("l", .delete, version: LocalVersion(inode: .max, changed: .min)),
            FolderItem("e\u{301}", .transfer, .refused, error: error),
            FolderItem("\u{E9}", .transfer, .unchanged, size: 9),
            FolderItem("x/y", object: object(-1, md5: nil, crc32c: nil)),
        ]
        try await plan.add(first, directories: ["", "x"])
        try await plan.add([FolderItem("b", .delete, .failed, size: 8), FolderItem("z")], directories: ["x", "w"])
        var expected = first + [FolderItem("z")]
        for index in expected.indices { expected[index].number = Int64(index + 1) }
        #expect(try await all(plan) == expected)
        #expect(try await plan.items([.pending, .unchanged], after: 1, most: 2).map(\.path) == ["a", "l"])
        #expect(try await plan.items([], after: 0, most: 9).isEmpty)
        #expect(
            try await plan.items([.pending, .pending], after: 0, most: 9).map(\.path) == ["b", "a", "l", "x/y", "z"])
        #expect(try await plan.pending(.transfer, after: 0, most: 2).map(\.path) == ["b", "x/y"])
        #expect(try await plan.pending(.transfer, after: 6, most: 2).map(\.path) == ["z"])
        #expect(try await plan.pending(.delete, after: 0, most: 2) == [expected[1], expected[2]])
        for directory in ["", "x", "w"] {
            #expect(try await plan.nextDirectory() == directory)
            try await plan.didRead(directory)
        }
        #expect(try await plan.nextDirectory() == nil)
        try await plan.clear()
        #expect(try await all(plan).isEmpty)
        #expect(try await plan.nextDirectory() == nil)
        #expect(try await plan.counts() == FolderCounts())
    }

    @Test func `Objects are recorded, and paths without items are found`() async throws {
        let plan = try await begin(FolderFiles(try root(), place: "p"))
        try await plan.add(
            [FolderItem("a"), FolderItem("b", object: object(1)), FolderItem("\u{E9}")], directories: [])
        #expect(try await plan.note([("a", object(2)), ("b", object(3, md5: nil)), ("c", object(4))]) == ["c"])
        #expect(try await all(plan).map(\.object) == [object(2), object(3, md5: nil), nil])
        // A summary has no generation.
        #expect(try await plan.note([("a", object(nil))]).isEmpty)
        #expect(try await plan.item("a")?.object == object(nil))
        #expect(try await plan.note([]).isEmpty)
    }

    @Test func `What is below something refused or failed is not reported as missing`() async throws {
        let plan = try await begin(FolderFiles(try root(), place: "p"))
        try await plan.add(
            [FolderItem("no", .transfer, .refused), FolderItem("d/e", .read, .failed), FolderItem("file")],
            directories: [])
        let paths = ["no", "no/a", "no/a/b", "d", "d/e", "d/e/f", "d/ef", "nobody", "file", "file/a"]
        #expect(try await plan.note(paths.map { ($0, object(1)) }) == ["d", "d/ef", "nobody", "file/a"])
    }

    private func copy(_ source: String, to path: String, _ bucket: String = "b") throws -> FolderItem {
        var item = FolderItem(path, size: 77, object: object(3))
        item.source = try Reference(bucket: bucket, object: source)
        return item
    }

    @Test func `Copies keep their sources, and what their targets had`() async throws {
        let plan = try await begin(FolderFiles(try root(), place: "p"))
        try await plan.keep(.working)
        let items = [try copy("d/\u{E9}", to: "e/\u{E9}"), try copy("d//", to: "e//", "other")]
        #expect(try await plan.add(items, directories: []).isEmpty)
        #expect(try await plan.add([copy("x", to: "e//"), copy("y", to: "z")], directories: []).map(\.path) == ["e//"])
        #expect(try await all(plan).map(\.source?.url) == ["gs://b/d/\u{E9}", "gs://other/d//", "gs://b/y"])
        let (found, none) = (try await plan.item("e//"), try await plan.item("none"))
        #expect(found?.source == items[1].source && none == nil)
        try await plan.noteTargets(
            [("e//", object(9)), ("e/\u{E9}", object(8, md5: [3])), ("no", object(1))], settlesSame: false)
        #expect(try await all(plan).map(\.replaced) == [8, 9, nil])
        var failed = try await all(plan)[0]
        (failed.state, failed.object, failed.replaced) = (.failed, object(11), 12)
        try await plan.update([failed])
        let updated = try await all(plan)[0]
        #expect(updated.object == object(11) && updated.replaced == 12)
        #expect(try await plan.renew(at: beginning).stage == .completing)
        #expect(try await all(plan).map(\.replaced) == [nil, nil, nil])
        try await plan.noteTargets(
            [("e//", object(9)), ("e/\u{E9}", object(8, crc32c: 1)), ("z", object(8, md5: [3], crc32c: 1))],
            settlesSame: true)
        #expect(try await all(plan).map(\.state) == [.pending, .unchanged, .pending])
    }

    @Test func `The versions of files to remove can be noted again`() async throws {
        let plan = try await begin(FolderFiles(try root(), place: "p"))
        let version = LocalVersion(inode: 1, changed: 2), next = LocalVersion(inode: .max, changed: 3)
        try await plan.add([FolderItem("a", .delete, version: version)], directories: [])
        var item = try #require(try await all(plan).first)
        #expect(item.version == version)
        item.version = next
        try await plan.update([item])
        #expect(try await all(plan).map(\.version) == [next])
    }

    @Test func `Copies that cannot both be made are found`() async throws {
        let plan = try await begin(FolderFiles(try root(), place: "p"))
        try await plan.add([copy("a", to: "b/a"), copy("b", to: "b/b"), copy("c", to: "a", "other")], directories: [])
        #expect(try await plan.conflict(in: "other", moves: true) == nil)
        let (writer, reader) = try #require(try await plan.conflict(in: "b", moves: false))
        #expect(writer.path == "a" && reader.source?.url == "gs://b/a")
        try await plan.clear()
        try await plan.add([copy("a", to: "x"), copy("a", to: "y")], directories: [])
        #expect(try await plan.conflict(in: "b", moves: false) == nil)
        let (first, second) = try #require(try await plan.conflict(in: "b", moves: true))
        #expect([first.path, second.path] == ["x", "y"])
    }

    @Test func `A path is a folder where a transfer is below it`() async throws {
        let plan = try await begin(FolderFiles(try root(), place: "p"))
        #expect(try await !plan.hasItems(below: ""))
        let others = [FolderItem("no/link", .transfer, .refused), FolderItem("d/old", .delete)]
        try await plan.add(
            ["a/b/c", "a!", "ab/c", "a0", "d", "no"].map { FolderItem($0) } + others, directories: [])
        for folder in ["", "a", "a/b", "ab"] { #expect(try await plan.hasItems(below: folder), "\(folder)") }
        for file in ["a/b/c", "d", "a!", "no", "x", "a/", "A"] {
            #expect(try await !plan.hasItems(below: file), "\(file)")
        }
    }

    @Test func `States are stored, and failed items can become pending again`() async throws {
        let plan = try await begin(FolderFiles(try root(), place: "p"))
        try await plan.keep(.working)
        try await plan.add([FolderItem("a", size: 1), FolderItem("b"), FolderItem("c", .delete)], directories: [])
        var items = try await all(plan)
        (items[0].state, items[0].size) = (.done, 10)
        (items[1].state, items[1].error) = (.failed, StorageError(.unknown, "A sentence."))
        items[2].state = .failed
        try await plan.update(items)
        #expect(try await all(plan) == items)
        #expect(try await plan.hasFailedTransfers())
        #expect(try await plan.renew(at: beginning).counts == plan.counts())
        #expect(try await !plan.hasFailedTransfers())
        for index in [1, 2] { (items[index].state, items[index].error) = (.pending, nil) }
        #expect(try await all(plan) == items)
    }

    @Test func `Unchanged items with an error are those that were kept`() async throws {
        let plan = try await begin(FolderFiles(try root(), place: "p"))
        let error = StorageError(.preconditionFailed, "A sentence.")
        try await plan.add(
            [FolderItem("a", .transfer, .unchanged, error: error), FolderItem("b", .transfer, .unchanged)],
            directories: [])
        let counts = try await plan.counts()
        #expect(counts.unchanged == 2 && counts.kept == 1)
    }

    @Test func `Failed reads become directories that are still to be read`() async throws {
        let plan = try await begin(FolderFiles(try root(), place: "p"))
        try await plan.keep(.working)
        let error = StorageError(.unknown, "A sentence.")
        try await plan.add([FolderItem("a"), FolderItem("d", .read, .failed, error: error)], directories: [])
        let counts = try await plan.counts()
        #expect(counts.failed == 1 && counts.total == 1)
        #expect(try await plan.hasFailedTransfers())
        #expect(try await plan.renew(at: beginning).stage == .completing)
        #expect(try await all(plan).map(\.path) == ["a"])
        #expect(try await plan.nextDirectory() == "d")
    }

    @Test func `Sizes beyond 64 bits are counted as a large number`() async throws {
        let plan = try await begin(FolderFiles(try root(), place: "p"))
        let states: [FolderItem.State] = [.pending, .done, .unchanged]
        try await plan.add(
            (0..<9).map { FolderItem("\($0)", .transfer, states[$0 % 3], size: .max) }, directories: [])
        let counts = try await plan.counts()
        #expect(counts.total == 9 && counts.totalBytes == .max && counts.completedBytes == .max)
    }

    @Test func `Items are counted by what is done with them`() async throws {
        let plan = try await begin(FolderFiles(try root(), place: "p"))
        var items: [FolderItem] = []
        for (number, state) in FolderItem.State.allCases.enumerated() {
            for copy in 0...number {
                items.append(FolderItem("t\(number)/\(copy)", .transfer, state, size: 1 << number))
                items.append(FolderItem("d\(number)/\(copy)", .delete, state, size: 1 << 40))
            }
        }
        try await plan.add(items, directories: [])
        // One pending, two done, three unchanged, four refused and five failed ones of either action.
        var expected = FolderCounts()
        (expected.total, expected.totalBytes) = (11, 1 + 2 * 2 + 3 * 4 + 5 * 16)
        (expected.completed, expected.toDelete, expected.deleted) = (2, 11, 2)
        (expected.refused, expected.failed, expected.unchangedBytes) = (8, 10, 3 * 4)
        let counts = try await plan.counts()
        (expected.unchanged, expected.completedBytes) = (counts.unchanged, counts.completedBytes)
        #expect(counts == expected)
    }

    // MARK: - The end

    @Test(arguments: [FolderOutcome.succeeded, .cancelled])
    func `A task that has ended keeps what it could not do, and its counts`(outcome: FolderOutcome) async throws {
        let files = FolderFiles(try root(), place: "p")
        let plan = try await begin(files)
        let items = (0..<20_000).map { number in
            FolderItem("directory/\(number)", .transfer, number % 1000 == 0 ? .failed : .done, size: 2)
        }
        try await plan.add(items + [FolderItem("link", .transfer, .refused)], directories: ["left"])
        let counts = try await plan.counts()
        await plan.close()
        let size = try FileStatus(ofPath: folder + "/task.sqlite").size
        try await plan.keep(.ended(outcome, at: began))
        #expect(try FileStatus(ofPath: folder + "/task.sqlite").size < size / 20)
        for plan in [plan, try #require(try await stored(files).first?.plan as? FolderPlanFile)] {
            #expect(try await plan.counts() == counts)
            let kept = try await all(plan)
            #expect(kept.count == 21 && kept.last?.path == "link" && kept.first?.number == 1)
            #expect(try await plan.nextDirectory() == nil)
            await plan.close()
        }
    }

    @Test func `A dry run and a task that has failed keep all items`() async throws {
        let files = FolderFiles(try root(), place: "p")
        for (id, isDryRun) in [("dry", true), ("failed", false)] {
            let plan = try await begin(files, id, dryRun: isDryRun)
            let items = FolderItem.State.allCases.map { FolderItem($0.rawValue, .transfer, $0) }
            try await plan.add(items, directories: [])
            let failure = FolderOutcome.failed(StorageError(.unknown, "A sentence."))
            try await plan.keep(.ended(isDryRun ? .succeeded : failure, at: began))
            #expect(try await all(plan).count == items.count)
            _ = try await plan.renew(at: beginning)
            try await plan.keep(.working)
            #expect(try await plan.counts().failed == 0)
        }
    }

    // MARK: - A full disk

    @Test(arguments: [
        FolderOutcome.succeeded, .cancelled, .failed(StorageError(.quotaExceeded, "A sentence.")),
    ])
    func `An end that the plan has no room for is found by the next process`(outcome: FolderOutcome) async throws {
        let root = try root(), end = FolderStage.ended(outcome, at: began)
        let files = FolderFiles(root, place: "p")
        let plan = try await begin(files)
        try await plan.add([FolderItem("a")], directories: [])
        try await plan.keep(.working)
        try await plan.refuseChanges()
        try await plan.keep(end)
        #expect(try await stored(FolderFiles(root, place: "p")).map(\.stage) == [end])
        // Now there is room: the plan has it.
        try FileManager.default.removeItem(atPath: root.path + "/tombstones")
        #expect(try await stored(FolderFiles(root, place: "p")).map(\.stage) == [end])
    }

    @Test func `An end that cannot be synced is found by the next process`() async throws {
        let root = try root(), end = FolderStage.ended(.succeeded, at: began)
        let plan = try await begin(FolderFiles(root, place: "p"))
        try await plan.add([FolderItem("a")], directories: [])
        try await plan.keep(.working)
        // A device without a disk takes all bytes, and cannot be synced.
        try redirect(descriptorsOf: folder + "/task.sqlite-wal", to: "/dev/null")
        try await plan.keep(end)
        #expect(try await stored(FolderFiles(root, place: "p")).map(\.stage) == [end])
    }

    @Test(arguments: [true, false])
    func `Items of a task that failed while it planned are not taken for its plan`(hasRoom: Bool) async throws {
        let root = try root()
        let first = try await begin(FolderFiles(root, place: "p"))
        try await first.add([FolderItem("a")], directories: ["d"])
        if !hasRoom { try await first.refuseChanges() }
        try await first.keep(.ended(.failed(StorageError(.quotaExceeded, "A sentence.")), at: began))
        let plan = try #require(try await stored(FolderFiles(root, place: "p")).first?.plan)
        #expect(try await plan.renew(at: beginning).stage == .planning)
        #expect(try await plan.counts() == FolderCounts())
    }

    @Test func `A task that continues after such an end is not ended in the next process`() async throws {
        let root = try root()
        let plan = try await begin(FolderFiles(root, place: "p"))
        try await plan.refuseChanges()
        try await plan.keep(.ended(.failed(StorageError(.quotaExceeded, "A sentence.")), at: began))
        _ = try await plan.renew(at: beginning)
        try await plan.keep(.working)
        await plan.close()
        #expect(try await stored(FolderFiles(root, place: "p")).map(\.stage) == [.working])
    }

    @Test func `A retry is stored as a whole, with its stage and its moment, or not at all`() async throws {
        let root = try root()
        let plan = try await begin(FolderFiles(root, place: "p"))
        try await plan.keep(.working)
        let error = StorageError(.unknown, "A sentence.")
        try await plan.add([FolderItem("a", .transfer, .failed, error: error)], directories: [])
        let items = try await all(plan), end = FolderStage.ended(.failed(error), at: began)
        try await plan.refuseChanges()
        // Only a slot has this end.
        try await plan.keep(end)
        try await plan.refuseChanges()
        _ = try await failure { _ = try await plan.renew(at: beginning) }
        #expect(try await all(plan) == items)
        await plan.close()
        let found = try #require(try await stored(FolderFiles(root, place: "p")).first)
        #expect(found.stage == end && found.retried == nil)
        _ = try await found.plan.renew(at: beginning)
        await found.plan.close()
        let again = try #require(try await stored(FolderFiles(root, place: "p")).first)
        #expect(again.stage == .completing && again.retried == beginning)
    }

    // MARK: - Crashes

    @Test func `What was committed survives a process that ends without closing`() async throws {
        let root = try root()
        let files = FolderFiles(root, place: "p")
        let plan = try await begin(files)
        try await plan.add((0..<1000).map { FolderItem("\($0)") }, directories: ["d"])
        try await plan.keep(.working)
        // The files as kill -9 leaves them: the log is not in the database yet.
        let copy = scratch.path + "/copy"
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
        try FileManager.default.copyItem(atPath: folder, toPath: copy + "/folders")
        try #require(chmod(copy, 0o700) == 0)
        let found = try await stored(FolderFiles(try self.root("copy"), place: "p"))
        #expect(found.map(\.stage) == [.working])
        let again = try #require(found.first?.plan as? FolderPlanFile)
        #expect(try await all(again).count == 1000)
        #expect(try await again.nextDirectory() == "d")
        await plan.close()
    }

    @Test func `A start removes what a task that did not begin has left`() async throws {
        let root = try root()
        _ = try root.openDirectory("folders")
        for name in ["empty.sqlite", "gone.sqlite-wal", "gone.sqlite-shm", "other"] {
            _ = try scratch.file("root/folders/\(name)", [])
        }
        #expect(try await FolderFiles(root, place: "p").stored().isEmpty)
        #expect(try names(in: folder) == ["other"])
    }

    @Test func `A store that has no plans makes no directory`() async throws {
        let root = try root()
        #expect(try await FolderFiles(root, place: "p").stored().isEmpty)
        #expect(try !names(in: root.path).contains("folders"))
    }

    @Test(arguments: [
        "stage = 'x'", "stage = 'ended'", "stage = 'ended', ended = 1, outcome = 'failed'", "request = '{}'",
        "number = -1", "id = 'other'", "began = 'x'",
        "stage = 'ended', ended = 1, outcome = 'lost'", "request = replace(request, '/local', 'local')",
        "request = replace(request, '0.5', '-1')",
    ])
    func `An unreadable plan is an error that names its file, and is kept`(damage: String) async throws {
        let root = try root()
        let files = FolderFiles(root, place: "p")
        let plan = try await begin(files, "damaged")
        _ = try await begin(files, "sound")
        await plan.close()
        try Database(path: folder + "/damaged.sqlite", applicationID: StorageRoot.applicationID)
            .execute("UPDATE folder SET \(damage)")
        try await expectDamage(root, damage)
    }

    @Test func `A file that is not a database is an error that names it, and is kept`() async throws {
        let root = try root()
        let files = FolderFiles(root, place: "p")
        _ = try await begin(files, "sound")
        for (index, bytes) in [noise(5000), Array("SQLite format 3\0".utf8) + noise(9000)].enumerated() {
            _ = try scratch.file("root/folders/damaged.sqlite", bytes)
            try await expectDamage(root, "\(index)")
            #expect(try contentsOf(folder + "/damaged.sqlite") == bytes)
        }
        try #require(unlink(folder + "/damaged.sqlite") == 0)
        try #require(symlink("sound.sqlite", folder + "/damaged.sqlite") == 0)
        try await expectDamage(root, "a link")
    }

    private func expectDamage(_ root: StorageRoot, _ damage: String) async throws {
        var found: [String] = [], errors: [String] = []
        for stored in try await FolderFiles(root, place: "p").stored() {
            do { found.append(try stored.get().plan.id) } catch { errors.append(error.message) }
        }
        #expect(found == ["sound"] && errors.count == 1, "\(damage)")
        let start = "The task over a folder in \(folder)/damaged.sqlite cannot be restored: "
        #expect(errors.first?.hasPrefix(start) == true, "\(damage): \(errors)")
        #expect(try names(in: folder).contains("damaged.sqlite"))
    }

    @Test func `A plan of a newer version is not changed`() async throws {
        let root = try root()
        await (try begin(FolderFiles(root, place: "p"), "newer")).close()
        try Database(path: folder + "/newer.sqlite", applicationID: StorageRoot.applicationID)
            .execute("UPDATE schemas SET version = 99")
        let found = try await FolderFiles(root, place: "p").stored()
        let error = try await failure { _ = try found.first?.get() }
        #expect(found.count == 1 && error.message.contains("newer version"))
    }

    @Test func `A plan whose file was removed is not made again`() async throws {
        let plan = try await begin(FolderFiles(try root(), place: "p"))
        await plan.close()
        try #require(unlink(folder + "/task.sqlite") == 0)
        #expect(try await failure { _ = try await plan.counts() }.message.contains("No such file"))
        #expect(try names(in: folder).isEmpty)
    }

    @Test func `A process that has lost the root changes no plan`() async throws {
        let root = try root()
        let plan = try await begin(FolderFiles(root, place: "p"))
        try #require(unlink(root.path + "/lock") == 0)
        #expect(try await failure { try await plan.keep(.working) }.message.contains("does not belong to this process"))
        await plan.remove()
        #expect(try names(in: folder).contains("task.sqlite"))
    }

    // MARK: - Places

    @Test func `Plans of another endpoint are listed with it, without its secrets`() async throws {
        let root = try root()
        let one = FolderFiles(root, place: "http://me:secret@one:80?key=secret")
        await (try begin(one)).close()
        let other = FolderFiles(root, place: "http://other")
        let found = try #require(try await stored(other).first)
        #expect(found.endpoint == "http://(…)@one:80…")
        try await found.plan.keep(.ended(.cancelled, at: began))
        #expect(try await stored(one).map(\.endpoint) == [nil])
        await found.plan.remove()
        #expect(try await stored(one).isEmpty)
    }

    @Test func `The plans of an ended process are adopted, except others`() async throws {
        let (old, new) = (try root("old"), try root("new"))
        let plan = try await begin(FolderFiles(old, place: "p"), "adopted")
        try await plan.add([FolderItem("a")], directories: ["d"])
        _ = try await begin(FolderFiles(old, place: "other"), "other")
        _ = try scratch.file("old/folders/damaged.sqlite", noise(5000))
        _ = try scratch.file("old/folders/taken.sqlite", [])
        await (try begin(FolderFiles(new, place: "p"), "kept")).close()
        await plan.close()
        let store = DatabaseTaskStore(new, place: "p")
        var complaints: [String] = []
        for _ in 0..<2 {
            complaints = []
            try await store.adopt(DatabaseTaskStore(old, place: "p")) { complaints.append($0) }
        }
        let found = try await stored(store.folders)
        #expect(Set(found.map(\.plan.id)) == ["adopted", "kept"])
        let adopted = try #require(found.first { $0.plan.id == "adopted" }?.plan as? FolderPlanFile)
        #expect(try await all(adopted).map(\.path) == ["a"])
        #expect(try await adopted.nextDirectory() == "d")
        #expect(try names(in: old.path + "/folders") == ["damaged.sqlite", "other.sqlite"])
        #expect(complaints.count == 1 && complaints.first?.contains("old/folders/damaged.sqlite cannot be") == true)
        #expect(complaints.first?.hasSuffix("It is kept in \(old.path)/folders.") == true)
        await store.close()
    }

    @Test func `A plan with a name that is taken is not adopted`() async throws {
        let (old, new) = (try root("old"), try root("new"))
        for root in [old, new] { await (try begin(FolderFiles(root, place: "p"))).close() }
        var complaints: [String] = []
        try await FolderFiles(new, place: "p").adopt(FolderFiles(old, place: "p")) { complaints.append($0) }
        #expect(complaints.count == 1 && complaints.first?.contains("There is a plan") == true)
        #expect(try names(in: old.path + "/folders") == ["task.sqlite"])
    }

    @Test func `Without a root plans are in a directory that is removed with the process`() async throws {
        let files = FolderFiles(temporaryIn: scratch.path)
        #expect(try await files.stored().isEmpty && names(in: scratch.path).isEmpty)
        let plan = try await begin(files)
        try await plan.add([FolderItem("a")], directories: [])
        let directory = try #require(try names(in: scratch.path).first)
        #expect(directory.hasPrefix("storage-rpc-folders-"))
        await plan.close()
        #expect(try await all(plan).count == 1)
        #expect(try await files.stored().isEmpty)
        await files.close()
        #expect(try names(in: scratch.path).isEmpty)
        #expect(try await failure { _ = try await plan.counts() }.message.contains("is closed"))
        #expect(try await failure { _ = try await begin(files, "new") }.message.contains("is closed"))
        #expect(try names(in: scratch.path).isEmpty)
        do { _ = try await begin(FolderFiles(temporaryIn: scratch.path)) }
        try await eventually { try names(in: scratch.path).isEmpty }
    }

    @Test func `A closed store neither opens nor changes files`() async throws {
        let files = FolderFiles(try root(), place: "p")
        let plan = try await begin(files)
        await files.close()
        #expect(try names(in: folder) == ["task.sqlite"])
        for error in [
            try await failure { _ = try await plan.counts() }, try await failure { try await plan.keep(.working) },
            try await failure { _ = try await begin(files, "new") },
        ] { #expect(error.message.contains("is closed")) }
        await plan.remove()
        #expect(try names(in: folder) == ["task.sqlite"])
    }

    @Test func `Copies of a root have no plans, and a replaced root gives its own away`() async throws {
        let root = try root()
        do {
            let backend = try EmbeddedBackend(root, time: .system)
            try await backend.open()
            try await (backend.folders.begin("task", request(), number: 1, began: beginning)).close()
            _ = try await backend.save(into: scratch.path + "/copy")
            await backend.close()
            #expect(try names(in: folder) == ["task.sqlite"])
        }
        #expect(try !names(in: scratch.path + "/copy").contains("folders"))
        let backend = try EmbeddedBackend(root, time: .system)
        try await backend.open()
        #expect(try await stored(backend.folders).map(\.plan.id) == ["task"])
        await backend.close()
        try StorageRoot.replace(root.path, by: scratch.path + "/copy", former: scratch.path + "/former")
        #expect(try names(in: scratch.path + "/former/folders") == ["task.sqlite"])
        #expect(try !names(in: root.path).contains("folders"))
    }

    // MARK: - Resources

    @Test func `Of many plans few have an open file`() async throws {
        let files = FolderFiles(try root(), place: "p")
        var plans: [FolderPlanFile] = []
        for number in 0..<30 { plans.append(try await begin(files, "\(number)")) }
        for plan in plans { try await plan.add([FolderItem(plan.id)], directories: []) }
        try await eventually { try names(in: folder).count { $0.hasSuffix("-wal") } <= 8 }
        for plan in plans { #expect(try await all(plan).map(\.path) == [plan.id]) }
        await files.close()
    }

    @Test func `Pages of many items are read in order`() async throws {
        let plan = try await begin(FolderFiles(try root(), place: "p"))
        let count = 10_000
        for start in stride(from: 0, to: count, by: 500) {
            try await plan.add((start..<start + 500).map { FolderItem("d\($0 % 7)/\($0)", size: 1) }, directories: [])
        }
        var last: Int64 = 0, found = 0
        while case var page = try await plan.pending(.transfer, after: last, most: 500), let end = page.last {
            #expect(page.count <= 500 && page.first?.number == last + 1)
            (last, found) = (end.number, found + page.count)
            for index in page.indices { page[index].state = .done }
            try await plan.update(page)
        }
        #expect(found == count)
        #expect(try await plan.counts().completed == Int64(count))
        #expect(try await plan.pending(.transfer, after: 0, most: 500).isEmpty)
        await plan.remove()
    }
}

extension FolderFiles {
    /// With the ends that an earlier process has left.
    fileprivate convenience init(_ root: StorageRoot, place: String) {
        let files = TaskFiles(in: root)
        try? files.tombstones.load()
        self.init(files, place: place)
    }
}

extension FolderPlanFile {
    /// Until it is closed.
    fileprivate func refuseChanges() async throws { try await write { try $0.execute("PRAGMA query_only = ON") } }
}
