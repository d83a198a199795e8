import HTTPText

/// The range that the bytes of a request have in the upload: `bytes 0-99/200`, `bytes 0-99/*`, `bytes 0-*/*`,
/// `bytes 0-*/200`, `bytes */200` or `bytes */*`. Without a Content-Range they are the whole object.
struct SentRange {
    /// The offset of the first byte; nil for a request without bytes.
    private(set) var start: Int64?
    /// The offset behind the last byte; nil where the end of the body decides.
    private(set) var end: Int64?
    private(set) var total: Int64?
    private(set) var isLast = true

    init(_ request: GatewayRequest) throws(GatewayError) {
        guard let text = request.header("Content-Range") else {
            start = 0
            return
        }
        guard let range = ContentRange(text) else { throw .badRequest("The Content-Range is malformed: \(text)") }
        (start, total) = (range.first, range.size)
        guard start != nil else { return }
        end = range.last.map { $0 + 1 } ?? total
        isLast = range.last == nil || end == total
    }

    /// Throws 400 where a body of this length cannot have the bytes of the range. To be called before the body is read.
    func check(_ length: Int64?) throws(GatewayError) {
        if start == nil, length ?? 0 != 0 {
            throw .badRequest("The Content-Range has no bytes, but the body has some.")
        }
        guard let length, let start, let end, length != end - start else { return }
        throw .badRequest("The body has \(length) bytes, but its Content-Range says \(end - start).")
    }

    /// The divisor of the sizes of all chunks but the last, in bytes, as on Google's servers.
    static let granularity: Int64 = 256 << 10

    /// The last multiple of the granularity up to an offset.
    static func wholeGranules(of offset: Int64) -> Int64 { offset - offset % granularity }

    /// Throws 400 for a chunk before the last one whose size is no multiple of the granularity.
    func checkGranularity() throws(GatewayError) {
        guard !isLast, let start, let end, (end - start) % Self.granularity != 0 else { return }
        throw .badRequest(
            "The chunk has \(end - start) bytes: all chunks but the last are multiples of \(Self.granularity) bytes.")
    }

    /// Throws 400 where the upload has another size than this request says.
    func check(size: Int64?) throws(GatewayError) {
        guard let total, let size, total != size else { return }
        throw .badRequest("The upload has \(size) bytes, not \(total).")
    }
}
