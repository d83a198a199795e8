import FoundationEssentials
import HTTPClient
import HTTPText
import Storage

/// What the head of an answer says about the bytes behind it.
enum MediaHead: Equatable {
    /// They begin there, at the asked-for byte or before it.
    case bytes(from: Int64)
    /// They are those of another generation.
    case changed
    case garbled(String)

    /// Nil where no bytes of an object come. `offset` is the first byte that was asked for.
    init?(status: Int, headers: HTTPHeaders, of content: StoredContent, from offset: Int64) {
        guard status == 200 || status == 206 else { return nil }
        if headers.isOther(than: content) {
            self = .changed
        } else if status == 200 {
            self = .bytes(from: 0)
        } else {
            self.init(headers["Content-Range"] ?? "", of: content, from: offset)
        }
    }

    private init(_ range: String, of content: StoredContent, from offset: Int64) {
        guard let part = ContentRange(range), part.first == offset else {
            self = .garbled("Content-Range: \(range.prefix(100))")
            return
        }
        self = part.isOf(content.size) ? .bytes(from: part.first) : .changed
    }
}

extension HTTPHeaders {
    fileprivate func isOther(than content: StoredContent) -> Bool {
        if let text = self["x-goog-generation"], let generation = Int64(text) {
            return generation != content.generation
        }
        if let theirs = storedCRC32C, let ours = content.crc32c { return theirs != ours }
        if let theirs = storedMD5, let ours = content.md5 { return theirs != ours }
        return false
    }

    /// Of all bytes of the object, whichever of them follow.
    var storedCRC32C: UInt32? {
        guard let bytes = storedHash("crc32c"), bytes.count == 4 else { return nil }
        return bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    var storedMD5: [UInt8]? { storedHash("md5").flatMap { $0.count == 16 ? $0 : nil } }

    /// In one header or in several.
    private func storedHash(_ name: String) -> [UInt8]? {
        let entries = all("x-goog-hash").flatMap { $0.split(separator: ",") }
        let values = entries.compactMap { entry -> Substring? in
            let sides = entry.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            return sides.count == 2 && sides[0] == name ? sides[1] : nil
        }
        return values.first.flatMap { Data(base64Encoded: String($0)) }.map(Array.init)
    }
}
