import Glibc
import HTTPClient
import HTTPText
import Storage

/// The bytes of an object, in both protocols.
extension FixtureState {
    func media(_ object: StoredObject, _ call: Call) -> Answer {
        var answer = Answer(status: 200, headers: object.headers(variant))
        switch BytesAsked(call.headers["Range"], of: object.bytes.count) {
        case .all: answer.body = object.bytes
        case .some(let range):
            answer.status = 206
            answer.headers["Content-Range"] =
                "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(object.bytes.count)"
            answer.body = Array(object.bytes[range])
        case .none:
            let xml =
                "<?xml version='1.0' encoding='UTF-8'?><Error><Code>InvalidRange</Code>"
                + "<Message>The requested range cannot be satisfied.</Message></Error>"
            answer = Answer(status: 416, headers: ["Content-Type": "application/xml"], body: Array(xml.utf8))
            answer.headers["Content-Range"] = "bytes */\(object.bytes.count)"
        }
        return answer
    }
}

/// What `Range` asks for; everything where it cannot be read.
enum BytesAsked {
    case all, none
    case some(Range<Int>)

    init(_ header: String?, of size: Int) {
        self = .all
        guard let header, header.hasPrefix("bytes=") else { return }
        let ends = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return }
        switch (Int(ends[0]), Int(ends[1])) {
        case (let first?, let last) where last ?? first >= first && (last != nil || ends[1].isEmpty):
            self = first < size ? .some(first..<min(last ?? size - 1, size - 1) + 1) : .none
        case (nil, let count?) where ends[0].isEmpty:
            self = count > 0 && size > 0 ? .some(max(0, size - count)..<size) : .none
        default: break
        }
    }
}

// MARK: Going wrong

extension Answer {
    /// Of the object, whatever the answer says.
    var firstByte: Int64 { trueFirstByte ?? statedFirstByte }

    private var statedFirstByte: Int64 {
        let range = headers["Content-Range"]?.split(separator: " ").last?.split(separator: "-").first
        return range.flatMap { Int64($0) } ?? 0
    }

    mutating func shiftRange(by count: Int64) {
        guard let sides = headers["Content-Range"]?.split(separator: "-"), sides.count == 2 else { return }
        trueFirstByte = statedFirstByte
        headers["Content-Range"] = "bytes \(statedFirstByte + count)-\(sides[1])"
    }

    mutating func lengthen(by count: Int, _ isSaid: Bool) {
        if !isSaid { announced = body.count }
        body = count < 0 ? body.dropLast(-count) : body + [UInt8](repeating: 0x2E, count: count)
    }
}

extension StoredObject {
    fileprivate func headers(_ variant: StorageFixture.Variant) -> HTTPHeaders {
        var headers: HTTPHeaders = [
            "Accept-Ranges": "bytes",
            "ETag": "\"\(md5.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())\"",
            "Last-Modified": lastModified, "x-goog-generation": "\(generation)",
            "x-goog-metageneration": "\(metageneration)", "x-goog-hash": "crc32c=\(crcText),md5=\(md5Text)",
            "x-goog-storage-class": "STANDARD", "x-goog-stored-content-length": "\(bytes.count)",
            "x-goog-stored-content-encoding": content[.contentEncoding] ?? "identity",
        ]
        for (name, property) in [
            ("Content-Type", ContentProperty.contentType), ("Content-Disposition", .contentDisposition),
            ("Cache-Control", .cacheControl), ("Content-Language", .contentLanguage),
            ("Content-Encoding", .contentEncoding),
        ] where content[property] != "identity" { headers[name] = content[property] }
        for (key, value) in custom { headers["x-goog-meta-\(key)"] = value }
        for name in variant.omittedHeaders { headers[name] = nil }
        return headers
    }

    var lastModified: String {
        var time = time_t(updated / 1_000_000)
        var parts = tm()
        gmtime_r(&time, &parts)
        var text = [CChar](repeating: 0, count: 64)
        let count = strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
