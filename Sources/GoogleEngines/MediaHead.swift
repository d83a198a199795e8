import HTTPClient
import HTTPText
import Storage

/// What a response header says about the bytes that follow it.
enum MediaHead: Equatable {
    /// The bytes start there, at the requested offset or before it.
    case bytes(from: Int64)
    /// The bytes belong to another generation.
    case changed
    case garbled(String)

    /// Nil where no bytes of an object follow. `offset` is the first requested byte.
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
