import HTTPText

/// What a handler answers. The server adds the length, the date and what is to become of the connection.
public struct HTTPServerResponse: Sendable {
    /// Who is asked with HEAD is sent the length of a body, and no body.
    public enum Body: Sendable {
        case none
        case bytes([UInt8])
        case file(ServedFile)
        /// The length of one that was not opened, because only HEAD asks for it. Anybody else gets a 500.
        case unopened(Int64)
    }

    /// 200 to 599; anything else is sent as a 500.
    public var status: Int
    /// Control characters in a value are left out of it, and a field whose name is no token is left out as a whole.
    /// So are Content-Length, Transfer-Encoding, Connection and their like: those are the server's.
    public var headers: HTTPHeaders
    public var body: Body

    public init(_ status: Int, headers: HTTPHeaders = [:], body: Body = .none) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }
}

/// A piece of an open file, which stays open as long as its owner is held.
public struct ServedFile: Sendable {
    public let owner: any AnyObject & Sendable
    public let descriptor: Int32
    public let offset: Int64
    public let count: Int64
    /// Where it is known, the last bytes are sent only if it is that of all bytes.
    public let checksum: Checksum?

    public struct Checksum: Sendable {
        let crc32c: UInt32
        let report: @Sendable (Fault) -> Void

        /// `report` is called on any thread, before the connection ends.
        public init(crc32c: UInt32, report: @escaping @Sendable (Fault) -> Void) {
            (self.crc32c, self.report) = (crc32c, report)
        }
    }

    /// Why the bytes of a file were not sent to the end.
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
    /// Nil where it makes no sense.
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
