import HTTPClient
import HTTPText
import JSONText
import Storage

extension Upload {
    /// Metadata and bytes in one multipart/related body (RFC 2387).
    func multipart(_ metadata: JSON, _ bytes: [UInt8], boundary: String) -> (contentType: String, body: HTTPBody) {
        var body = Array("--\(boundary)\r\nContent-Type: application/json; charset=utf-8\r\n\r\n".utf8)
        body += metadata.bytes
        body += "\r\n--\(boundary)\r\nContent-Type: \(headerContentType)\r\n\r\n".utf8
        body += bytes
        body += "\r\n--\(boundary)--\r\n".utf8
        return ("multipart/related; boundary=\(boundary)", .bytes(body))
    }

    /// The metadata with the MD5 that the client has sent, or else with this one.
    func wireMetadata(md5: [UInt8]? = nil, crc32c: UInt32? = nil) -> JSON {
        metadata.wire(
            name: reference.object, md5Hash: expectedMD5 ?? md5?.base64,
            crc32c: crc32c?.base64)
    }

    /// The content type, if a header can carry it. The metadata always carries it, and takes precedence.
    var headerContentType: String {
        let type = metadata.content[.contentType] ?? ""
        let isSound = !type.isEmpty && type.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        return isSound ? type : ContentType.fallback
    }
}
