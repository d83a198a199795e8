import Resources
import Storage
import TestSupport
import Testing

@Suite(.watchdog) struct ContentTypeTests {
    @Test(arguments: [
        ("a.txt", "text/plain"), ("a.png", "image/png"), ("a.mp3", "audio/mpeg"), ("a.mov", "video/quicktime"),
        ("a.js", "text/javascript"), ("a.mjs", "text/javascript"), ("a.json", "application/json"),
        ("a.md", "text/markdown"), ("a.ts", "video/mp2t"), ("a.m4a", "audio/mp4"), ("a.m4v", "video/x-m4v"),
        ("a.wav", "audio/wav"), ("a.heic", "image/heic"), ("a.svg", "image/svg+xml"), ("a.gz", "application/gzip"),
        ("a.xml", "application/xml"), ("a.yml", "application/yaml"), ("a.opus", "audio/ogg"),
        ("a.mkv", "video/x-matroska"), ("a.ico", "image/vnd.microsoft.icon"), ("a.swift", "text/x-swift"),
        ("a.psd", "image/vnd.adobe.photoshop"), ("a.bin", "application/octet-stream"), ("a.c", "text/x-c"),
        ("a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        ("a.apk", "application/vnd.android.package-archive"), ("a.dmg", "application/x-apple-diskimage"),
    ])
    func `Common file names have their usual content types`(name: String, type: String) {
        #expect(ContentType.inferred(fromName: name) == type)
    }

    @Test(arguments: [
        ("PHOTO.JPG", "image/jpeg"), ("a/b.c/d.Html", "text/html"), ("backup.tar.gz", "application/gzip"),
        (".config.json", "application/json"), ("ä/ö.pdf", "application/pdf"), ("a..css", "text/css"),
    ])
    func `The content type depends on the extension of the last segment`(name: String, type: String) {
        #expect(ContentType.inferred(fromName: name) == type)
    }

    @Test(arguments: [
        "", "/", ".", "..", "png", ".png", "a/.png", "a.", "a.png/", "a.png/b", "a.no-such-ending", "a.p ng",
        "a.\u{212A}ml", "a." + String(repeating: "z", count: 100_000), "a.png\n", "a.png\0",
    ])
    func `Unknown extensions have no content type`(name: String) {
        #expect(ContentType.inferred(fromName: name) == nil)
    }

    @Test func `The table is sorted, lower-case, well-formed and unambiguous`() {
        let table = UnsafeBufferPointer(start: resource_media_types().bytes, count: resource_media_types().count)
        #expect(table.last == UInt8(ascii: "\n") && table.count < UInt16.max)
        let lines = String(decoding: table, as: UTF8.self).dropLast().split(
            separator: "\n", omittingEmptySubsequences: false)
        let entries = lines.map { $0.split(separator: " ", omittingEmptySubsequences: false) }
        #expect(zip(entries, entries.dropFirst()).allSatisfy { $0[0] < $1[0] })
        #expect(entries.allSatisfy { $0.count > 1 && isMediaType($0[0]) && $0.dropFirst().allSatisfy(isExtension) })
        let extensions = entries.flatMap { $0.dropFirst() }
        #expect(extensions.count >= 900)
        #expect(Set(extensions).count == extensions.count)
    }

    private func isMediaType(_ text: Substring) -> Bool {
        text.wholeMatch(of: /[a-z]+\/[a-z0-9][a-z0-9!#$&^_.+-]*/) != nil
    }

    private func isExtension(_ text: Substring) -> Bool {
        text.wholeMatch(of: /[a-z0-9][a-z0-9+_-]{0,31}/) != nil
    }
}
