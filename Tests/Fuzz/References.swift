import HTTPText
import JSONText
import Storage

@testable import JSONRPC
@testable import Methods

/// References, moments and content types: what is read is sound, and reads back from every way to write it.
@Sendable func fuzzReferences(_ input: UnsafeRawBufferPointer) {
    var feed = Feed(input)
    let kind = feed.byte()
    let (first, second) = (feed.line(), String(decoding: feed.all(), as: UTF8.self))
    switch kind % 4 {
    case 0: check(attempt { () throws(StorageError) in try Reference(url: first) }, child: second)
    case 1: check(attempt { () throws(StorageError) in try Reference(bucket: first, path: second) }, child: first)
    case 2: checkMoment(first)
    default: expect(ContentType.inferred(fromName: first)?.contains("/") ?? true, "a content type has a slash")
    }
}

private func check(_ found: Reference?, child path: String) {
    guard let reference = found else { return }
    checkSoundness(reference)
    checkTexts(reference)
    checkSteps(reference, path)
}

private func checkSoundness(_ reference: Reference) {
    let path = Array(reference.fullPath.utf8)
    expect(path.count <= Reference.maxPathBytes, "a path is not too long")
    expect(!path.contains { $0 == 0x0D || $0 == 0x0A }, "a path has no line break")
    let segments = path.split(separator: 0x2F, omittingEmptySubsequences: false)
    expect(path.isEmpty || !segments.contains { $0.isEmpty }, "a path has no empty segment")
    expect(reference.bucket.utf8.allSatisfy { $0 > 0x20 && $0 != 0x2F && $0 != 0x7F }, "a bucket has no slash or space")
    expect(reference.name.utf8.elementsEqual(segments.last ?? []), "a name is the last segment")
}

/// A download URL and JSON name exactly the object; a gs:// URL names its path.
private func checkTexts(_ reference: Reference) {
    let download = "https://host/v0/b/\(reference.bucket.escaped)/o/\(reference.object.escaped)?alt=media&token=x"
    for (url, expected) in [(reference.url, reference.withoutExactName), (download, reference)] {
        expect(attempt { () throws(StorageError) in try Reference(url: url) } == expected, "\(url) reads back")
    }
    for (json, expected) in [(reference.json, reference), (.string(reference.url), reference.withoutExactName)] {
        var params = Params([.init(key: "reference", value: json)])
        let again = attempt { () throws(RPCError) in try params.reference("reference") }
        expect(again == expected, "\(json.text) reads back")
    }
}

private func checkSteps(_ reference: Reference, _ path: String) {
    expect(reference.fullPath.isEmpty == (reference.parent == nil), "only a path without a segment has no parent")
    expect(reference.root.isRoot, "a root is a root")
    if let parent = reference.parent {
        let back = attempt { () throws(StorageError) in try parent.child(reference.name) }
        expect(back == reference.withoutExactName, "a parent's child of that name is where one came from")
    }
    guard let child = attempt({ () throws(StorageError) in try reference.child(path) }) else { return }
    checkSoundness(child)
    expect(child.bucket == reference.bucket, "a child is in the same bucket")
    expect(child.fullPath.utf8.starts(with: reference.fullPath.utf8), "a child is below")
}

private func checkMoment(_ text: String) {
    guard let moment = Timestamp(rfc3339: text) else { return }
    guard let again = Timestamp(rfc3339: moment.rfc3339) else { fail("\(moment.rfc3339) reads back") }
    expect(again.rfc3339 == moment.rfc3339 && moment.rfc3339.utf8.count == 24, "\(moment.rfc3339) reads back")
    let isOfFourDigits = !["0000-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"].contains(moment.rfc3339)
    let lost = moment.microseconds - again.microseconds
    expect(!isOfFourDigits || (0..<1000).contains(lost), "\(moment.rfc3339) is the same millisecond")
}
