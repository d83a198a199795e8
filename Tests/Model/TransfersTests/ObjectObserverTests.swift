import Platform
import Storage
import TestSupport
import Testing

@testable import Transfers

/// Which observers of objects a change is sent to.
@Loop @Suite(.watchdog) struct ObjectObserverTests {
    private let feed = ChangeFeed()
    private let stage: TransfersFixture
    private let told = Mail<String>()

    init() { stage = TransfersFixture(ScriptedBackend(changes: feed)) }

    private func connection() -> ConnectionObservers {
        ConnectionObservers(
            of: stage.transfers.registry,
            tell: { [told] handle, observed, change in
                told.deliver("\(handle) \(observed.url) \(change.snapshot.reference.url)")
            }
        ) { _, _ in }
    }

    private func publish(_ objects: [String], in bucket: String = "b") throws {
        feed.publish(
            try objects.map {
                ObjectChange(
                    .created, try Reference(bucket: bucket, object: $0), ObjectVersion(generation: 1, metageneration: 1)
                )
            })
    }

    /// The observed references whose observers receive a change of an object.
    private func observers(of object: String, in bucket: String = "b") async throws -> [String] {
        try publish([object], in: bucket)
        try publish(["end"], in: "last")
        var observers: [String] = []
        while case let text = try await told.next(), !text.contains("gs://last/end") {
            observers.append(String(text.split(separator: " ")[1].dropFirst("gs://".count)))
        }
        return observers.sorted()
    }

    @Test func `A change is sent to observers of its object, of the folders above it, and of its bucket`() async throws
    {
        let connection = connection()
        for name in ["a", "a/", "a/b", "ab", "A", "e\u{301}"] {
            _ = try stage.transfers.observe(try Reference(bucket: "b", object: name), connection)
        }
        _ = try stage.transfers.observe(try Reference(bucket: "b", path: ""), connection)
        _ = try stage.transfers.observe(try Reference(bucket: "last", path: ""), connection)
        #expect(try await observers(of: "a") == ["b/", "b/a"])
        #expect(try await observers(of: "a/") == ["b/", "b/a", "b/a/"])
        #expect(try await observers(of: "a/b") == ["b/", "b/a", "b/a/", "b/a/b"])
        #expect(try await observers(of: "a/b/c") == ["b/", "b/a", "b/a/", "b/a/b"])
        #expect(try await observers(of: "a/bc") == ["b/", "b/a", "b/a/"])
        #expect(try await observers(of: "abc") == ["b/"])
        #expect(try await observers(of: "/a") == ["b/"])
        #expect(try await observers(of: "\u{E9}") == ["b/"])
        #expect(try await observers(of: "a", in: "c") == [])
    }

    @Test func `A removed observer receives nothing, and the others of its reference do`() async throws {
        let (one, other) = (connection(), connection())
        let folder = try Reference(bucket: "b", path: "a")
        let handles = try [one, one, other].map { try stage.transfers.observe(folder, $0) }
        _ = try stage.transfers.observe(try Reference(bucket: "last", path: ""), other)
        #expect(!stage.transfers.removeObserver(handles[0], other))
        #expect(stage.transfers.removeObserver(handles[0], one))
        #expect(try await observers(of: "a/b").count == 2)
        stage.transfers.removeObservers(of: one)
        #expect(try await observers(of: "a/b").count == 1)
        stage.transfers.removeObservers(of: other)
        #expect(stage.transfers.registry.count == 0)
    }

    @Test func `Thousands of observers get all changes in their order, and others their turn in between`() async throws
    {
        let connection = connection()
        let root = try Reference(bucket: "b", path: "")
        for _ in 0..<2000 { _ = try stage.transfers.observe(root, connection) }
        let before = Loop.iteration
        try publish(["1", "2", "3"])
        var last: [String: Int] = [:]
        for _ in 0..<6000 {
            let words = try await told.next().split(separator: " ")
            let number = try #require(Int(words[2].dropFirst("gs://b/".count)))
            #expect(number == last[String(words[0]), default: 0] + 1)
            last[String(words[0])] = number
        }
        #expect(Loop.iteration - before >= 6000 / 256)
        #expect(last.count == 2000)
    }

    @Test func `A change visits only the observers of its own reference`() throws {
        var places = ObservedPlaces<Int>()
        for number in 0..<10_000 {
            places.add(number, "\(number)", at: try Reference(bucket: "b", path: "folder/\(number)/x"))
        }
        let found = places.groups(at: try Reference(bucket: "b", path: "folder/7/x/y"))
        #expect(found.flatMap(\.values) == [7])
        places.remove { $0 > 0 }
        #expect(places.groups(at: try Reference(bucket: "b", path: "folder/7/x/y")).isEmpty && !places.isEmpty)
        places.remove("0")
        #expect(places.isEmpty)
    }
}
