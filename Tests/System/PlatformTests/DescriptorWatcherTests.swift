import Platform
import Glibc
import TestSupport
import Testing

@Loop @Suite(.watchdog(minutes: 10)) struct DescriptorWatcherTests {
    @Test func `Readable bytes are reported until they are read`() async throws {
        let pipe = try Pipe()
        let news = Mail<Readiness>()
        let watcher = try #require(DescriptorWatcher(pipe.reading, for: .readable) { news.deliver($0) })
        #expect(news.waiting.isEmpty)
        pipe.write("a")
        #expect(try await news.next() == .readable)
        #expect(try await news.next() == .readable, "they are still there")
        watcher.cancel()
    }

    @Test func `Only the requested events are reported, and a change takes effect immediately`() async throws {
        let pipe = try Pipe()
        let news = Mail<Readiness>()
        let watcher = try #require(DescriptorWatcher(pipe.writing, for: []) { news.deliver($0) })
        try await laterEvent()
        #expect(news.waiting.isEmpty)
        watcher.change(to: .writable)
        #expect(try await news.next() == .writable)
        watcher.change(to: .readable)
        try await laterEvent()
        let before = news.waiting.count
        try await laterEvent()
        #expect(news.waiting.count == before)
        watcher.cancel()
    }

    @Test func `A hang-up is always reported`() async throws {
        for interest: Readiness in [[], .readable] {
            let pipe = try Pipe()
            let news = Mail<Readiness>()
            let watcher = try #require(DescriptorWatcher(pipe.reading, for: interest) { news.deliver($0) })
            pipe.closeWriting()
            #expect(try await news.next().contains(.hungUp))
            watcher.cancel()
        }
    }

    @Test func `Bytes before a hang-up are reported together with it`() async throws {
        let pipe = try Pipe()
        pipe.write("last words")
        pipe.closeWriting()
        let news = Mail<Readiness>()
        let watcher = try #require(DescriptorWatcher(pipe.reading, for: .readable) { news.deliver($0) })
        // A program that another thread is starting may have a copy of the writing end for a moment.
        var told: Readiness = []
        while !told.contains(.hungUp) { told.formUnion(try await news.next()) }
        #expect(told == [.readable, .hungUp])
        watcher.cancel()
    }

    @Test func `A cancelled watcher reports nothing, even within the same iteration`() async throws {
        let (first, second) = (try Pipe(), try Pipe())
        first.write("a")
        second.write("b")
        let heard = Mail<Int>()
        let watchers = Watchers()
        for (number, pipe) in [first, second].enumerated() {
            watchers.all[number] = DescriptorWatcher(pipe.reading, for: .readable) { _ in
                heard.deliver(number)
                for watcher in watchers.all.values { watcher.cancel() }
            }
        }
        _ = try await heard.next()
        try await laterEvent()
        #expect(heard.waiting.isEmpty)
    }

    @Test func `A regular file cannot be watched`() throws {
        let file = open("/proc/self/exe", O_RDONLY)
        defer { close(file) }
        #expect(DescriptorWatcher(file, for: .readable) { _ in } == nil)
        #expect(DescriptorWatcher(-1, for: .readable) { _ in } == nil)
    }

    @Test func `Events of many descriptors are all reported`() async throws {
        let pipes = try (0..<200).map { _ in try Pipe() }
        let heard = Mail<Int>()
        let watchers = Watchers()
        for (number, pipe) in pipes.enumerated() {
            watchers.all[number] = DescriptorWatcher(pipe.reading, for: .readable) { _ in
                heard.deliver(number)
                watchers.all.removeValue(forKey: number)?.cancel()
            }
        }
        for pipe in pipes { pipe.write("x") }
        var numbers: Set<Int> = []
        for _ in pipes { numbers.insert(try await heard.next()) }
        #expect(numbers.count == pipes.count)
    }
}

/// Returns after an event of another descriptor, and thus after the events that were ready before.
@Loop private func laterEvent() async throws {
    let (pipe, heard) = (try Pipe(), Mail<Readiness>())
    let watcher = try #require(DescriptorWatcher(pipe.reading, for: .readable) { heard.deliver($0) })
    pipe.write("x")
    _ = try await heard.next()
    watcher.cancel()
}

@Loop private final class Watchers {
    var all: [Int: DescriptorWatcher] = [:]
}

final class Pipe: Sendable {
    let reading: Int32
    let writing: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        (reading, writing) = (ends[0], dup(ends[1]))
        close(ends[1])
    }

    deinit {
        close(reading)
        close(writing)
    }

    func write(_ text: String) { #expect(Glibc.write(writing, text, text.utf8.count) == text.utf8.count) }

    /// Replaces the writing end with /dev/null, so that its number is not reused.
    func closeWriting() {
        let other = open("/dev/null", O_RDONLY)
        dup2(other, writing)
        close(other)
    }
}
