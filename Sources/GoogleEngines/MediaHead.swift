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
    init?(
        _ status: Int, _ headers: HTTPHeaders, _ described: MediaDescription, of content: StoredContent,
        from offset: Int64
    ) {
        guard status == 200 || status == 206 else { return nil }
        if described.isOther(than: content) {
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
