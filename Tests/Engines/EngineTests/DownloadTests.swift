import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine

/// Deletions and downloads with every engine.
@Suite(.watchdog(minutes: 10)) struct DownloadTests {
    @Test(arguments: [0, 1, 64 << 10, (64 << 10) + 1, 4 << 20, (9 << 20) + 12_345])
    func `A download has the bytes that were uploaded`(size: Int) async throws {
        let bytes = noise(size, seed: UInt64(size))
        for place in ConformanceTests.places {
            let (place, scratch, reports) = (try await place.init(), try Scratch(), ProgressRecorder())
            let stored = try await place.backend.put(bytes, at: "a/b")
            #expect(try await place.backend.data("a/b") == bytes)
            let file = try scratch.file("file", [1, 2, 3])
            let session = try place.backend.download("a/b", to: file)
            #expect(await session.fetch(reports.take) == .completed(stored))
            #expect(try contentsOf(file) == bytes)
            #expect(try names(in: scratch.path) == ["file"])
            #expect(reports.counts == reports.counts.sorted() && reports.counts.last == Int64(size))
            #expect(reports.totals == [Int64(size)])
        }
    }

    @Test(arguments: [0, 10, 200_000])
    func `A part of an object is what its offset and its length say`(size: Int) async throws {
        let bytes = noise(size)
        try await forEachAtOnce(ConformanceTests.places) { type in
            let place = try await type.init()
            try await place.backend.put(bytes, at: "a")
            func part(_ offset: Int64, _ length: Int64?, maxSize: Int64 = .max) async throws -> [UInt8] {
                try await place.backend.data(
                    of: ref("a"), part: BytePart(offset: offset, length: length), known: nil, maxSize: maxSize,
                    for: Caller(retryTime: .seconds(600)))
            }
            let end = Int64(size)
            let parts: [(Int64, Int64?)] = [
                (0, nil), (0, .max), (0, 0), (end / 2, nil), (end / 2, 3), (end, nil), (end, 5), (end / 3, end / 3),
                (0, 1),
            ]
            for (offset, length) in parts {
                let wanted = bytes.dropFirst(Int(offset)).prefix(Int(clamping: length ?? .max))
                #expect(try await part(offset, length) == Array(wanted), "\(offset) \(length ?? -1)")
            }
            let beyond = try await failure { _ = try await part(end + 1, 1) }
            #expect(beyond.code == .invalidArgument && beyond.param == "offset")
            if size > 5 {
                #expect(try await part(1, 4, maxSize: 4).count == 4)
                #expect(try await failure { _ = try await part(1, 5, maxSize: 4) }.code == .downloadSizeExceeded)
            }
        }
    }

    @Test(arguments: [10, 200_000])
    func `An object larger than maxSize is refused with both sizes`(size: Int) async throws {
        for place in ConformanceTests.places {
            let place = try await place.init()
            try await place.backend.put(noise(size), at: "a")
            #expect(try await place.backend.data("a", maxSize: Int64(size)) == noise(size))
            for limit in [Int64(size) - 1, 0, -1] {
                let error = try await failure { _ = try await place.backend.data("a", maxSize: limit) }
                #expect(error.code == .downloadSizeExceeded && error.object == "a")
                #expect(error.message.contains(" \(size) ") && error.message.contains(" \(limit) "))
            }
        }
    }

    @Test(arguments: [10, 200_000])
    func `A deleted object frees its space and can be stored again`(size: Int) async throws {
        for place in ConformanceTests.places {
            let (place, scratch) = (try await place.init(), try Scratch())
            let first = try await place.backend.put(noise(size), at: "dir/a")
            try await place.backend.delete("dir/a")
            for error in [
                try await failure { _ = try await place.backend.metadata(of: ref("dir/a")) },
                try await failure { _ = try await place.backend.data("dir/a") },
                try await failure { try await place.backend.fetch("dir/a", to: scratch.path + "/x") },
                try await failure { try await place.backend.delete("dir/a") },
            ] { #expect(try error.isObjectNotFound(ref("dir/a"))) }
            #expect(try await failure { try await place.backend.delete("dir") }.code == .objectNotFound)
            await place.backend.settle()
            #expect(try names(in: scratch.path) == [])
            if let place = place as? EmbeddedFixture { #expect(try await place.settledContents(.none) == .none) }
            #expect(try await place.backend.put(noise(3), at: "dir/a").generation > first.generation)
            #expect(try await place.backend.data("dir/a") == noise(3))
        }
    }

    @Test func `Deleting an object does not affect objects with similar names`() async throws {
        for place in ConformanceTests.places {
            let place = try await place.init()
            for name in ["a", "a/b", "a/b/c", "ab"] { try await place.backend.put([UInt8(name.count)], at: name) }
            try await place.backend.delete("a/b")
            for name in ["a", "a/b/c", "ab"] {
                #expect(try await place.backend.data(name) == [UInt8(name.count)])
            }
        }
    }

    @Test func `A download of a missing object does not change the file`() async throws {
        for place in ConformanceTests.places {
            let (place, scratch) = (try await place.init(), try Scratch())
            let file = try scratch.file("file", [1, 2, 3])
            let error = try await failure { try await place.backend.fetch("missing", to: file) }
            #expect(try error.isObjectNotFound(ref("missing")))
            #expect(try contentsOf(file) == [1, 2, 3])
        }
    }

    @Test(arguments: 0..<4)
    func `A download that was aborted at a progress report continues with the received bytes`(victim: Int) async throws
    {
        let bytes = noise((14 << 20) + 77)
        for place in ConformanceTests.places {
            let (place, scratch) = (try await place.init(), try Scratch())
            let stored = try await place.backend.put(bytes, at: "a")
            let file = try scratch.file("file", [1, 2, 3])
            let session = try place.backend.download("a", to: file)
            let (before, after) = (ProgressRecorder(), ProgressRecorder())
            let answer = await session.fetch { progress in
                before.take(progress)
                if before.counts.count == victim + 1 { session.abort() }
            }
            #expect(answer == .aborted && before.counts.count == victim + 1)
            #expect(try contentsOf(file) == [1, 2, 3])
            #expect(try names(in: scratch.path).count == 2)
            #expect(await session.fetch(after.take) == .completed(stored))
            #expect(try contentsOf(file) == bytes)
            #expect(try names(in: scratch.path) == ["file"])
            let last = try #require(before.counts.last)
            #expect(after.counts.allSatisfy { $0 >= last } && after.counts.last == stored.size, "it started over")
        }
    }

    @Test(arguments: 0..<12)
    func `A download that is aborted at any moment leaves no partial file under the final name`(moment: Int)
        async throws
    {
        let bytes = noise(2 << 20)
        for place in ConformanceTests.places {
            let (place, scratch) = (try await place.init(), try Scratch())
            try await place.backend.put(bytes, at: "a")
            let session = try place.backend.download("a", to: scratch.path + "/file")
            var answer = DownloadAnswer.aborted
            for round in 0..<3 where answer == .aborted {
                async let next = session.fetch { _ in }
                for _ in 0..<(moment * moment * (round + 1)) { await Task.yield() }
                session.abort()
                answer = await next
                let isThere = try names(in: scratch.path).contains("file")
                #expect(isThere == (answer != .aborted))
            }
            if answer == .aborted { answer = await session.fetch { _ in } }
            guard case .completed = answer else { return #expect(Bool(false), "\(answer)") }
            #expect(try contentsOf(scratch.path + "/file") == bytes)
            #expect(try names(in: scratch.path) == ["file"])
        }
    }

    @Test func `A download starts over if its object was overwritten during a pause`() async throws {
        for place in ConformanceTests.places {
            let (place, scratch) = (try await place.init(), try Scratch())
            try await place.backend.put(noise(9 << 20), at: "a")
            let session = try place.backend.download("a", to: scratch.path + "/file")
            #expect(await session.fetch { _ in session.abort() } == .aborted)
            let bytes = noise(5 << 20, seed: 2)
            let stored = try await place.backend.put(bytes, at: "a")
            let reports = ProgressRecorder()
            #expect(await session.fetch(reports.take) == .completed(stored))
            #expect(reports.counts.last == 5 << 20 && reports.counts.first ?? 0 <= 4 << 20)
            #expect(reports.totals == [5 << 20])
            #expect(try contentsOf(scratch.path + "/file") == bytes)
            #expect(try names(in: scratch.path) == ["file"])
        }
    }

    @Test func `A download fails if its object was deleted during a pause`() async throws {
        for place in ConformanceTests.places {
            let (place, scratch) = (try await place.init(), try Scratch())
            try await place.backend.put(noise(9 << 20), at: "a")
            let session = try place.backend.download("a", to: scratch.path + "/file")
            #expect(await session.fetch { _ in session.abort() } == .aborted)
            try await place.backend.delete("a")
            guard case .failed(let error) = await session.fetch({ _ in }) else {
                return #expect(Bool(false), "it was found")
            }
            #expect(try error.isObjectNotFound(ref("a")))
            session.discard()
            await place.backend.settle()
            #expect(try names(in: scratch.path) == [])
        }
    }
}
