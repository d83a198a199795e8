import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage

/// An upload in one request: its bytes, and what the request says of the object.
struct WholeUpload {
    private static let mostJSON = 1 << 20

    let bytes: any ByteSource
    /// The resource in the body; empty without one.
    var resource: JSON = [:]
    var change: MetadataChange
    /// The checksums of the bytes that the request declares.
    let expected: Checksums
}

extension WholeUpload {
    /// Reads a multipart body: a JSON resource, then the bytes.
    @Loop init(multipart request: GatewayRequest) async throws {
        let reader = try request.multipart()
        guard let first = try await reader.nextPart() else { throw GatewayError.badRequest("The body has no parts.") }
        let json = try await reader.readAll(atMost: Self.mostJSON)
        try first.checkPart(of: Int64(json.count))
        resource = try JSON.object(json)
        guard let headers = try await reader.nextPart() else {
            throw GatewayError.badRequest("The body has one part; there must be two.")
        }
        try headers.checkPart()
        let size = try headers.partLength()
        bytes = LastPart(reader, request.body, follower: { _ in "The body has more than two parts." }) {
            count, isWhole throws(GatewayError) in
            if isWhole, let size, size != count { throw HTTPHeaders.wrongLength(size, count) }
        }
        let ofPart = try Checksums(headers).adding(md5: headers["Content-MD5"])
        expected = try Checksums(request.http.headers).adding(ofPart)
        change = try MetadataChange(resource: resource)
        let type = try AnnouncedObject(request).type ?? headers["Content-Type"]
        if let type, resource["contentType"] == nil { change.content[.contentType] = type }
        if let encoding = request["contentEncoding"], resource["contentEncoding"] == nil {
            change.content[.contentEncoding] = encoding
        }
    }
}

extension Call {
    /// The object of an upload, which the query, the path, or the resource in the body names.
    func destination(_ json: JSON) throws -> Reference {
        try json.checkBucket(bucket)
        let (asked, named) = (request["name"], try json.text("name"))
        if let asked, let name, asked != name {
            throw GatewayError.badRequest("The object has two names: \(asked), \(name).")
        }
        guard let name = asked ?? name ?? named, !name.isEmpty else {
            throw GatewayError.badRequest("Required: the name of the object.")
        }
        return try .named(name, in: bucket)
    }

    /// Reads an upload whose body is the object or multipart, and compares its length with the announced one.
    func wholeUpload(_ isMultipart: Bool) async throws -> WholeUpload {
        for header in AnnouncedObject.sizes { try request.checkAnnounced(header, isWhole: !isMultipart) }
        try request.checkHasNoOffset()
        if isMultipart { return try await WholeUpload(multipart: request) }
        try request.checkHasLength()
        var change = MetadataChange()
        change.content[.contentType] = try (AnnouncedObject(request).type ?? request.header("Content-Type")).map { $0 }
        change.content[.contentEncoding] = request["contentEncoding"].map { .some($0) }
        return WholeUpload(bytes: request.body, change: change, expected: try .init(request.http.headers))
    }
}
