import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage

@testable import EmbeddedEngine
@testable import Roots
@testable import Database
@testable import Methods

private nonisolated(unsafe) let place: DamagedRoot = {
    do { return try DamagedRoot() } catch { fail("there is no template: \(error)") }
}()

/// Whatever has happened to the database's file or rows: an error that says so, or what was stored.
@Sendable func fuzzDatabase(_ input: UnsafeRawBufferPointer) {
    var feed = Feed(input)
    do {
        switch feed.byte() % 4 {
        case 0: try look(patched(place.template, &feed), mayLose: true)
        case 1:
            try place.restore(place.template)
            try editRows(&feed, place.root)
            try look(nil, mayLose: true)
        case 2: try look(Array(place.template.prefix(Int(feed.number(3)))), mayLose: false)
        default:
            let length = Int(feed.number(3))
            try place.restore(place.template, log: Array(patched(place.log, &feed).prefix(length)))
            try look(nil, mayLose: false)
        }
    } catch {
        fail("the stage broke: \(error)")
    }
}

private func look(_ bytes: [UInt8]?, mayLose: Bool) throws {
    if let bytes { try place.restore(bytes) }
    do throws(StorageError) {
        let database = try place.open()
        check(database, mayLose)
    } catch {
        expect(error.message.contains(place.root.database), "an error names the file: \(error.message)")
    }
}

private func check(_ database: Database, _ mayLose: Bool) {
    for (reference, bytes) in place.objects {
        switch read(reference, database) {
        case .success(let found):
            expect(mayLose || found == bytes, "\(reference.url) is what was stored")
            expect(place.objects.values.contains(found), "what is read was stored, if elsewhere: \(reference.url)")
        case .failure(let error):
            expect(
                !error.message.contains("No such file") || isStrange(reference, database),
                "no object loses its file: \(error.message)")
            expect(mayLose || error.code != .objectNotFound, "nothing is lost in silence: \(reference.url)")
        }
    }
    checkListing(database, mayLose)
    checkNumbers(database)
    checkLatest(database)
    checkWrites(database)
}

/// An object that only the log has is complete, or missing.
private func checkLatest(_ database: Database) {
    for (reference, bytes) in place.latest {
        switch read(reference, database) {
        case .success(let found): expect(found == bytes, "\(reference.url) is what was stored")
        case .failure(let error):
            expect(!error.message.contains("No such file"), "\(reference.url) is lost as a whole: \(error.message)")
        }
    }
}

/// The number of an existing file cannot be given to another one.
private func checkNumbers(_ database: Database) {
    guard case .success(true) = trying({ try database.isSound() }) else { return }
    place.objectFiles.forEachBatch(100) { numbers in
        for number in numbers where number < 1 << 62 {
            let row = trying {
                try database.first("SELECT id FROM files WHERE id = :id", ["id": .integer(number)]) { _ in true }
            }
            if case .success(let isKnown) = row { expect(isKnown == true, "the file \(number) has a row") }
        }
    }
}

/// Whether the row names a file that there never was.
private func isStrange(_ reference: Reference, _ database: Database) -> Bool {
    let body = attempt { try database.body(of: reference) }
    guard case .file(let id)? = body else { return true }
    return !(1...3).contains(id)
}

private func read(_ reference: Reference, _ database: Database) -> Result<[UInt8], StorageError> {
    trying {
        let (metadata, body) = try database.snapshot {
            (try database.metadata(of: reference), try database.body(of: reference))
        }
        _ = metadata.json.text
        let checked = CheckedBodies { _ in }
        let object: OpenObject
        switch body {
        case .bytes(let bytes): object = try OpenObject(metadata: metadata, body: .bytes(bytes), checked)
        case .file(let id):
            let file = Result { () throws(SystemError) in try OpenFile(place.objectFiles.path(of: id), []) }
            object = try OpenObject(
                metadata: metadata,
                body: .file(
                    file.mapError { OpenObject.unreadable(reference, $0.reason) }.get(), number: id,
                    path: place.objectFiles.path(of: id)), checked)
        }
        if !reference.fullPath.hasPrefix("n/") { serve(object) }
        return try object.readWhole()
    }
}

/// Gives the object to who has its URL.
private func serve(_ object: OpenObject) {
    onLoop {
        for range in ["bytes=0-", "bytes=-3"] {
            let response = await respond(
                to: HTTPServerRequest("/", headers: ["Range": range]), with: object.resource,
                at: TimeSource.system.httpDate)
            expect([200, 206, 404, 416].contains(response.status), "an object is served or not: \(response.status)")
        }
    }
}

private func checkListing(_ database: Database, _ mayLose: Bool) {
    for path in ["", "b", "n"] {
        let outcome = trying { () -> Int in
            let reference = try Reference(bucket: "b", path: path)
            let query = ListQuery(reference, maxResults: 3, isExact: path == "n")
            var (count, token) = (0, PageToken?.none)
            for _ in 0..<1000 {
                let page = try database.snapshot { try database.list(query, after: token) }
                count += page.items.count + page.prefixes.count
                expect(page.items.count + page.prefixes.count <= 3, "a page is as long as was asked for")
                guard let text = page.pageToken else { return count }
                token = try PageToken(text, of: reference)
            }
            fail("a listing comes to an end")
        }
        let expected = ["": 7, "b": 3, "n": 48]
        if !mayLose, case .success(let count) = outcome {
            expect(count == expected[path], "a listing is whole: \(count)")
        }
    }
}

private func checkWrites(_ database: Database) {
    for name in ["a", "new", "large"] {
        guard let reference = attempt({ () throws(StorageError) in try Reference(bucket: "b", path: name) }) else {
            return
        }
        let bytes = Array("new \(name)".utf8)
        let change = MetadataChange()
        for _ in 0..<2 {
            _ = trying {
                try database.transaction {
                    try database.update(reference, change, token: "t", at: TimeSource.system.now())
                }
            }
            _ = trying {
                try database.transaction {
                    try database.settingDownloadTokens(of: reference, ["t"], at: TimeSource.system.now())
                }
            }
        }
        if case .success = trying({
            try database.transaction {
                try database.put(NewObject(reference, bytes), token: "t", at: TimeSource.system.now(), Generations())
            }
        }),
            case .success(let found) = read(reference, database)
        {
            expect(found == bytes, "what was put is there: \(name)")
        }
        if case .success = trying({ try database.transaction { try database.delete(reference) } }),
            case .success = read(reference, database)
        {
            fail("what was deleted is gone: \(name)")
        }
    }
}

/// The error, as the callers receive it.
private func trying<Value>(_ body: () throws -> Value) -> Result<Value, StorageError> {
    do {
        return .success(try body())
    } catch {
        expect(error is StorageError || error is DatabaseError, "an error is one of two kinds: \(error)")
        return .failure(.database(error))
    }
}
