import Database
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import Roots

@Suite(.watchdog(minutes: 10)) struct DownloadTokenTests {
    private func servable(_ place: EmbeddedFixture, _ name: String, _ token: String) async throws -> OpenObject? {
        try await place.backend.servable(bucket: "b", name: name, token: token)
    }

    @Test(arguments: [0, 10, 200_000])
    func `A request with the token of an object gets the object`(size: Int) async throws {
        let place = try await EmbeddedFixture()
        let stored = try await place.backend.put(noise(size), at: "a/b")
        let tokens = try await place.backend.downloadTokens(of: ref("a/b"))
        let token = try #require(tokens.first)
        let object = try #require(try await servable(place, "a/b", token))
        #expect(tokens.count == 1 && object.metadata == stored)
        try await place.backend.delete("a/b")
        #expect(try await place.settledContents(.none) == .none)
        #expect(try await place.backend.files.run { Result { try object.readWhole() } }.get() == noise(size))
    }

    @Test func `A request without the token does not reveal whether the object exists`() async throws {
        let place = try await EmbeddedFixture()
        for name in ["a", "other"] { try await place.backend.put([1], at: name) }
        let token = try #require(try await place.backend.downloadTokens(of: ref("a")).first)
        let other = try #require(try await place.backend.downloadTokens(of: ref("other")).first)
        #expect(token != other)
        for wrong in ["", other, token + "x", String(token.dropLast()), token.uppercased() + "!", ",", "\0", "é"] {
            #expect(try await servable(place, "a", wrong) == nil)
        }
        for name in ["", "/a", "a/", "//a", "missing", "a\n", "a\0"] {
            #expect(try await servable(place, name, token) == nil)
        }
        #expect(try await place.backend.servable(bucket: "c", name: "a", token: token) == nil)
        #expect(try await place.backend.servable(bucket: "", name: "a", token: token) == nil)
    }

    @Test func `Each of several tokens of an object is valid`() async throws {
        let place = try await EmbeddedFixture()
        try await place.backend.put([1], at: "a")
        try await place.backend.store.write { _ = try $0.run("UPDATE objects SET downloadTokens = 'one,two'") }
        #expect(try await place.backend.downloadTokens(of: ref("a")) == ["one", "two"])
        for token in ["one", "two"] { #expect(try await servable(place, "a", token) != nil) }
        for token in ["one,two", "", "on", "twoo"] { #expect(try await servable(place, "a", token) == nil) }
    }

    @Test func `Download URLs that are made concurrently for an object without a token are all valid`() async throws {
        let place = try await EmbeddedFixture()
        place.backend.urlBase = { "http://localhost" }
        for _ in 0..<20 {
            try await place.backend.put([1], at: "a")
            try await place.backend.store.write { _ = try $0.run("UPDATE objects SET downloadTokens = ''") }
            let urls = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<4 { group.addTask { try await place.backend.downloadURL("a") } }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(urls.count == 1)
        }
    }

    @Test(arguments: [10, 200_000])
    func `A copy has another token than its object, unless the request says otherwise`(size: Int) async throws {
        let place = try await EmbeddedFixture()
        let object = try await place.backend.put(noise(size), at: "a")
        let token = try #require(object.downloadTokens?.first)
        let copy = try await place.backend.run(.copy(of: ref("a"), to: ref("b")))
        #expect(copy.downloadTokens?.count == 1 && copy.downloadTokens != object.downloadTokens)
        #expect(try await servable(place, "b", token) == nil)
        let request = try CopyRequest(of: ref("a"), keepsDownloadTokens: true)
        let kept = try await place.backend.run(
            Upload(reference: ref("c"), source: .object(CopySource(request)), metadata: .init()))
        #expect(kept.downloadTokens == object.downloadTokens)
        let moved = try await place.backend.run(.copy(of: ref("a"), to: ref("d"), isMove: true))
        #expect(moved.downloadTokens == object.downloadTokens)
        let onItself = try await place.backend.run(.copy(of: ref("d"), to: ref("d")))
        #expect(onItself.downloadTokens == object.downloadTokens)
    }

    @Test func `A token that expires is signed with one of the object's own`() async throws {
        let token = try ExpiringToken(ref("a/b"), until: 1_760_000_000)
        let signed = try token.text(signedBy: "one")
        #expect(signed == "exp-1760000000-67f4b4f79342c0324165722f36618acea478494a40ea38d9a168e571c2209748")
        let long = try token.text(signedBy: String(repeating: "x", count: 100))
        #expect(long == "exp-1760000000-2067d390c7f77cdce81164664a73f60d2fd73f11865979472d4bd9ec2f62bcfc")
        let (before, end) = (
            Timestamp(microseconds: 1_759_999_999_999_999), Timestamp(microseconds: 1_760_000_000_000_000)
        )
        #expect(try ExpiringToken(signed, of: ref("a/b"), at: before) != nil)
        #expect(try ExpiringToken(signed, of: ref("a/b"), at: end) == nil)
        for wrong in ["", "exp-", "exp-1-2-3", "one", "exp--1-2", "exp-x-2", "xp-1760000000-2"] {
            #expect(try ExpiringToken(wrong, of: ref("a/b"), at: before) == nil)
        }
    }

    @Test func `A URL that expires opens its object until its end, and as long as the object's own URLs`() async throws
    {
        let place = try await EmbeddedFixture()
        for name in ["a", "other"] { try await place.backend.put([1], at: name) }
        let own = try #require(try await place.backend.downloadTokens(of: ref("a")).first)
        let now = place.backend.time.now().microseconds / 1_000_000
        let good = try ExpiringToken(ref("a"), until: now + 3600).text(signedBy: own)
        #expect(try await servable(place, "a", good) != nil)
        let wrong = [
            try ExpiringToken(ref("a"), until: now - 1).text(signedBy: own),
            try ExpiringToken(ref("other"), until: now + 3600).text(signedBy: own),
            try ExpiringToken(ref("a"), until: now + 3600).text(signedBy: ""),
            good.replacing("exp-\(now + 3600)", with: "exp-\(now + 7200)"), good + "0", good.uppercased(),
        ]
        for wrong in wrong { #expect(try await servable(place, "a", wrong) == nil) }
        #expect(try await servable(place, "other", good) == nil)
        let caller = Caller(retryTime: .zero)
        for seconds in [0, -1, 604_801, .max] {
            let error = try await failure {
                _ = try await place.backend.downloadURL(of: ref("a"), expiresIn: Int64(seconds), for: caller)
            }
            #expect(error.code == .invalidArgument && error.param == "expiresIn")
        }
        _ = try await place.backend.replaceDownloadTokens(of: ref("a"))
        #expect(try await servable(place, "a", good) == nil)
    }

    @Test func `A new token invalidates the old ones and increments the metageneration`() async throws {
        let place = try await EmbeddedFixture()
        var stored = try await place.backend.put([1], at: "a")
        let old = try await place.backend.downloadTokens(of: ref("a"))
        let new = try await place.backend.replaceDownloadTokens(of: ref("a"))
        #expect(try await [new] == place.backend.downloadTokens(of: ref("a")))
        #expect(Set(old).contains(new) == false)
        #expect(try await servable(place, "a", #require(old.first)) == nil)
        #expect(try await servable(place, "a", new) != nil)
        let changed = try await place.backend.metadata(of: ref("a"))
        (stored.metageneration, stored.updated, stored.downloadTokens) = (2, changed.updated, [new])
        #expect(changed == stored)
        try await place.backend.put([2], at: "a")
        #expect(try await servable(place, "a", new) == nil)
        let missing = try await failure { _ = try await place.backend.replaceDownloadTokens(of: ref("x")) }
        #expect(try missing == .objectNotFound(ref("x")))
    }

    @Test func `A download URL contains the object's name and token`() async throws {
        let place = try await EmbeddedFixture()
        place.backend.urlBase = { () async throws(StorageError) in "http://127.0.0.1:9199" }
        let name = "dir/ä b+&?#%.txt"
        try await place.backend.put([1], at: name)
        let url = try await place.backend.downloadURL(name)
        let token = try #require(try await place.backend.downloadTokens(of: ref(name)).first)
        let path = "/v0/b/b/o/dir%2F%C3%A4%20b%2B%26%3F%23%25.txt"
        #expect(url == "http://127.0.0.1:9199\(path)?alt=media&token=\(token)")
        #expect(try await place.backend.downloadURL(name) == url)
        #expect(try Reference(url: url) == ref(name))
        let next = try await place.backend.revokeDownloadURL(name)
        #expect(next != url && next.hasPrefix("http://127.0.0.1:9199\(path)?alt=media&token="))
        #expect(try await servable(place, name, token) == nil)
        #expect(try await place.backend.downloadURL(name) == next)
    }

    @Test func `downloadURL gives an object without a token a token`() async throws {
        let place = try await EmbeddedFixture()
        place.backend.urlBase = { () async throws(StorageError) in "" }
        try await place.backend.put([1], at: "a")
        try await place.backend.store.write { _ = try $0.run("UPDATE objects SET downloadTokens = ''") }
        #expect(try await servable(place, "a", "") == nil)
        let url = try await place.backend.downloadURL("a")
        let token = try #require(try await place.backend.downloadTokens(of: ref("a")).first)
        #expect(url.hasSuffix("token=\(token)") && !token.isEmpty)
        #expect(try await place.backend.metadata(of: ref("a")).metageneration == 2)
    }

    @Test func `downloadURL fails without a server, and passes on the error of a server`() async throws {
        let place = try await EmbeddedFixture()
        try await place.backend.put([1], at: "a")
        let unserved = try await failure { _ = try await place.backend.downloadURL("a") }
        #expect(unserved.code == .internalError && unserved.message.contains("nothing serves them"))
        let broken = StorageError(.unknown, "The port is taken.")
        place.backend.urlBase = { () async throws(StorageError) in throw broken }
        #expect(try await failure { _ = try await place.backend.downloadURL("a") } == broken)
        let missing = try await failure { _ = try await place.backend.downloadURL("x") }
        #expect(try missing == .objectNotFound(ref("x")))
    }
}
