import HTTPClient
import HTTPText
import JSONRPC
import JSONText
import Storage

@testable import EmbeddedEngine
@testable import RemoteEngines
@testable import Methods

private let firebase = FirebaseDialect(version: "fuzz")
private let gcs = GCSDialect()
private let size: Int64 = 1000

/// What a server says cannot make the client believe what cannot be: a status, headers line by line, a body.
@Sendable func fuzzAnswers(_ input: UnsafeRawBufferPointer) {
    guard let reference = attempt({ () throws(StorageError) in try Reference(bucket: "b", path: "a/ä") }) else {
        return
    }
    var feed = Feed(input)
    var response = HTTPResponse(status: 100 + Int(feed.number(2) % 500))
    while case let line = feed.line(), !line.isEmpty {
        let sides = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        response.headers.add(sides[0], sides.count > 1 ? String(sides[1].drop { $0 == " " }) : "")
    }
    response.body = feed.all()
    checkNews(response)
    checkMedia(response, reference)
    checkRefusal(response, reference)
    checkListing(response.body, reference)
    if let metadata = try? ObjectMetadata(wire: response.body, reference) { checkMetadata(metadata) }
    if let url = response.headers["Location"] { checkReach(of: url) }
}

private func checkNews(_ response: HTTPResponse) {
    for dialect in [firebase, gcs] as [any GoogleDialect] {
        var session = RemoteSession(text: "")
        if let opened = try? dialect.session(in: response, to: RemoteRequest(method: "POST", target: "/")) {
            expect(!opened.text.isEmpty, "a session has a URL")
        }
        for range in [nil, 256..<size] as [Range<Int64>?] {
            guard let status = dialect.status(in: response, after: range, of: size, &session) else { continue }
            expect(response.status < 400 || response.status == 499, "a refusal is no news: \(response.status)")
            if case .received(let offset) = status { checkUpload(told: offset) }
        }
    }
}

/// Whatever the server says it has, the next chunk is within the object, and progress is too.
private func checkUpload(told offset: Int64) {
    var machine = UploadMachine(UploadStrategy(size: size, chunks: ChunkSizes(first: 256, largest: 512)))
    var effects = machine.handle(.requested(.start)) + machine.handle(.admitted)
    for answer in [.opened(granularity: offset), .received(upTo: offset)] as [UploadMachine.Answer] {
        effects += machine.handle(.answered(answer, took: .zero, at: Timestamp(microseconds: 0)))
    }
    for case .perform(.send(let range)) in effects {
        expect(range.lowerBound >= 0 && range.upperBound <= size, "a chunk is within the object: \(range)")
    }
    expect((0...size).contains(machine.progress.completedUnitCount), "progress is within the object")
}

private func checkMedia(_ response: HTTPResponse, _ reference: Reference) {
    let object = ObjectMetadata(
        reference: reference, generation: 7, metageneration: 1, size: size, timeCreated: Timestamp(microseconds: 0),
        updated: Timestamp(microseconds: 0), checksums: Checksums(crc32c: 42), settable: SettableMetadata())
    for offset in [0, 5] as [Int64] {
        let head = MediaHead(
            response.status, response.headers, gcs.description(in: response.headers, of: reference),
            of: StoredContent(object),
            from: offset)
        expect((head == nil) == ![200, 206].contains(response.status), "only 200 and 206 bring bytes")
        if case .bytes(let first) = head {
            expect(first == (response.status == 200 ? 0 : offset), "bytes begin where they were asked for")
        }
    }
    expect(
        gcs.description(in: response.headers, of: reference).checksums.md5.map { $0.count == 16 } ?? true,
        "an MD5 has 16 bytes")
}

private func checkRefusal(_ response: HTTPResponse, _ reference: Reference) {
    for request in [gcs.metadata(of: reference, generation: nil), gcs.list(ListQuery(reference, maxResults: 1))] {
        let error = StorageError.refusal(response, of: request, to: reference, by: gcs)
        expect(!error.message.isEmpty && error.httpStatus == response.status, "a refusal says what was answered")
        expect(error.retryAfter.map { $0 >= .zero } ?? true, "no rest is negative")
        expect((error.serverResponse?.utf8.count ?? 0) <= 3 * 2048, "a refusal quotes the beginning alone")
        expect(
            attempt { () throws(JSONSyntaxError) in try parse(error.rpcError.json.text) } != nil, "it can be sent on")
    }
}

private func checkListing(_ body: [UInt8], _ parent: Reference) {
    for isExact in [false, true] { checkListing(body, ListQuery(parent, maxResults: 1, isExact: isExact)) }
}

private func checkListing(_ body: [UInt8], _ query: ListQuery) {
    guard let listing = try? Listing(wire: body, for: query) else { return }
    expect(listing.pageToken != "", "a page token is not empty")
    for references in [listing.items, listing.prefixes] {
        expect(Set(references).count == references.count, "nothing is listed twice")
        for reference in references {
            let name = query.isExact ? reference.object : reference.fullPath
            expect(name.utf8.starts(with: query.reference.namesBelow), "what is listed is below: \(reference.url)")
        }
    }
}

private func checkMetadata(_ metadata: ObjectMetadata) {
    expect(metadata.size >= 0, "no size is negative")
    expect(attempt { () throws(JSONSyntaxError) in try parse(metadata.json.text) } != nil, "metadata can be sent on")
    var sent = metadata.settable.wire(name: metadata.reference.object, md5Hash: nil, crc32c: nil).object ?? []
    sent += [.init(key: "generation", value: 1), .init(key: "size", value: 0)]
    let again = try? ObjectMetadata(wire: JSON.object(sent).bytes, metadata.reference)
    expect(again.map { metadata.settable.isMet(by: $0.settable) } ?? false, "what was read is sent as it was")
}

/// Tokens go to the endpoint and nowhere else.
private func checkReach(of url: String) {
    let endpoint = Endpoint.gcs
    let rest = url.lowercased().utf8.dropFirst(endpoint.url.utf8.count)
    let isThere = url.lowercased().hasPrefix(endpoint.url) && (rest.first.map("/?#:".utf8.contains) ?? true)
    expect(isThere || !endpoint.covers(url), "tokens do not go to \(url)")
    expect(endpoint.allows(url) || !endpoint.covers(url), "where tokens may go, bytes may go")
    expect(!endpoint.allows(url) || url.lowercased().hasPrefix("https://"), "bytes do not go in the clear to \(url)")
}

private func parse(_ text: String) throws(JSONSyntaxError) -> JSON {
    let outcome = Array(text.utf8).withUnsafeBytes { bytes in
        Result { () throws(JSONSyntaxError) in try JSON(parsing: bytes) }
    }
    return try outcome.get()
}
