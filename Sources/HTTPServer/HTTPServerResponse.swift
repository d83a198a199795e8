import HTTPText

/// The answer of a handler. The server adds Content-Length, Date and Connection.
public struct HTTPServerResponse: Sendable {
    /// A HEAD request gets the length of the body only.
    public enum Body: Sendable {
        case none
        case bytes([UInt8])
        case file(ServedFile)
        /// The length of an unopened body, for HEAD only. A GET gets a 500.
        case unopened(Int64)
    }

    /// 200 to 599; anything else is sent as a 500.
    public var status: Int
    /// Control characters in values are removed, as are fields whose names are no tokens, and Content-Length,
    /// Transfer-Encoding, Connection and similar fields, which the server sets.
    public var headers: HTTPHeaders
    public var body: Body

    public init(_ status: Int, headers: HTTPHeaders = [:], body: Body = .none) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }
}

/// A range of an open file, which stays open while `owner` is retained.
public struct ServedFile: Sendable {
    public let owner: any AnyObject & Sendable
    public let descriptor: Int32
    public let offset: Int64
    public let count: Int64
    /// If set, the last bytes are sent only if it matches all bytes.
    public let checksum: Checksum?

    public struct Checksum: Sendable {
        let crc32c: UInt32
        let report: @Sendable (Fault) -> Void

        /// `report` is called on any thread, before the connection ends.
        public init(crc32c: UInt32, report: @escaping @Sendable (Fault) -> Void) {
            (self.crc32c, self.report) = (crc32c, report)
        }
    }

    /// The reason why a file was not sent completely.
    public enum Fault: Sendable, Equatable {
        case wrongBytes
        case unreadable(errno: Int32)
    }

    public init(
        _ descriptor: Int32, of owner: any AnyObject & Sendable, offset: Int64, count: Int64, checksum: Checksum? = nil
    ) {
        (self.descriptor, self.owner, self.offset, self.count) = (descriptor, owner, offset, count)
        self.checksum = checksum
    }
}

extension HTTPServerResponse.Body {
    /// The length; nil where it is invalid.
    var count: Int64? {
        switch self {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .file(let file):
            file.count >= 0 && file.offset >= 0 && file.offset <= Int64.max - file.count ? file.count : nil
        case .unopened(let count): count >= 0 ? count : nil
        }
    }

    var isUnopened: Bool {
        if case .unopened = self { true } else { false }
    }
}
