import HTTPText
import JSONRPC
import JSONText
import Storage
import Transfers

// Decoding of params.

extension Params {
    /// Decodes a `gs://` URL, a download URL, or an object with `bucket` and either `fullPath` or the exact name
    /// `object`.
    mutating func reference(_ name: String) throws(RPCError) -> Reference {
        let value = try require(name)
        do {
            if let url = value.string { return try Reference(url: url) }
            guard value.object != nil else { throw mistyped(name, "a reference or a URL", value) }
            var object = try object(name, in: value)
            if let exact = try object.optionalString("object") {
                let reference = try Reference(bucket: object.string("bucket"), object: exact)
                if let path = try object.optionalString("fullPath"),
                    try !Reference(bucket: reference.bucket, path: path).fullPath.hasSameBytes(as: reference.fullPath)
                {
                    throw RPCError.invalidParam(
                        object.fullName("object"), "names another object than \(object.fullName("fullPath"))")
                }
                return reference
            }
            return try Reference(bucket: object.string("bucket"), path: object.string("fullPath"))
        } catch let error as StorageError {
            throw error.naming(fullName(name)).rpcError
        } catch let error as RPCError {
            throw error
        } catch {
            throw .internalError("\(error)")
        }
    }

    /// Decodes an absolute path, or a `file://` URL of this machine.
    mutating func localFile(_ name: String) throws(RPCError) -> String {
        let text = try string(name)
        let path = text.utf8.starts(with: "file:".utf8) ? Self.path(ofFileURL: text) : text
        guard let path, path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else {
            throw StorageError.invalidArgument(
                fullName(name), "\"\(text)\" is neither an absolute path nor a file:// URL of this machine."
            ).rpcError
        }
        guard path.utf8.count <= Self.maxPathBytes else {
            let why = "has \(path.utf8.count) bytes, but a path has at most \(Self.maxPathBytes)."
            throw StorageError.invalidArgument(fullName(name), "\(fullName(name)) \(why)").rpcError
        }
        return path
    }

    private static let maxPathBytes = 4095

    mutating func preconditions() throws(RPCError) -> Preconditions {
        Preconditions(
            generation: try version("ifGenerationMatch"), metageneration: try version("ifMetagenerationMatch"))
    }

    /// The preconditions on the source of a copy.
    mutating func sourcePreconditions() throws(RPCError) -> Preconditions {
        Preconditions(
            generation: try version("ifSourceGenerationMatch"),
            metageneration: try version("ifSourceMetagenerationMatch"))
    }

    /// Decodes a generation or metageneration: a string of decimal digits, as in metadata, or an integer.
    mutating func version(_ name: String) throws(RPCError) -> Int64? {
        guard let value = take(name) else { return nil }
        let number =
            value.string.map { text in
                text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
            } ?? value.number?.int64
        guard let number, number >= 0 else {
            throw mistyped(name, "an integer from 0 on, or a string of its digits", value)
        }
        return number
    }

    /// The key that a client gives a task.
    mutating func taskKey() throws(RPCError) -> String? {
        guard let key = try optionalString("key") else { return nil }
        guard (1...256).contains(key.utf8.count) else {
            throw .invalidParam("key", "must have 1 to 256 bytes, not \(key.utf8.count)")
        }
        return key
    }

    mutating func statuses(_ name: String) throws(RPCError) -> [Status] {
        guard let value = take(name) else { return [] }
        if let all = value.bool { return all ? Status.allCases : [] }
        guard let elements = value.array else { throw mistyped(name, "true or an array of statuses", value) }
        var statuses: [Status] = []
        for (index, element) in elements.enumerated() {
            let status = try status("\(name)[\(index)]", in: element)
            if !statuses.contains(status) { statuses.append(status) }
        }
        return statuses
    }

    func status(_ name: String, in value: JSON) throws(RPCError) -> Status {
        guard let text = value.string else { throw mistyped(name, "a status", value) }
        guard let status = Status(rawValue: text) else {
            let known = Status.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalidParam(fullName(name), "must be one of \(known), not \"\(text)\"")
        }
        return status
    }

    /// The path of a `file://` URL. Nil for a URL with a query, a fragment, an encoded slash or an incomplete escape.
    private static func path(ofFileURL text: String) -> String? {
        let escapes = text.utf8.split(separator: UInt8(ascii: "%"), omittingEmptySubsequences: false).dropFirst()
        guard !text.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }),
            escapes.allSatisfy({ Self.isEscape($0.prefix(2)) })
        else { return nil }
        var path = text.utf8.dropFirst("file:".utf8.count)
        if path.starts(with: "//".utf8) {
            path = path.dropFirst(2)
            let host = path.prefix { $0 != UInt8(ascii: "/") }
            guard ["", "localhost"].contains(String(host)?.lowercased()) else { return nil }
            path = path.dropFirst(host.count)
        }
        return percentDecoded(Substring(path))
    }

    private static func isEscape(_ digits: Substring.UTF8View.SubSequence) -> Bool {
        let text = String(digits) ?? ""
        return text.utf8.count == 2 && UInt8(text, radix: 16) != nil && text.utf8.first != UInt8(ascii: "+")
            && text.lowercased() != "2f"
    }
}

extension MetadataChange {
    private static let readOnly: Set = [
        "bucket", "fullPath", "name", "object", "generation", "metageneration", "size", "timeCreated", "updated",
        "crc32c",
    ]

    /// Decodes writable properties. Ignores read-only ones, which clients send back.
    init(_ params: Params) throws(RPCError) {
        self.init()
        var params = params
        for property in ContentProperty.allCases {
            guard let value = params.takeOrNull(property.rawValue) else { continue }
            let text = try params.stringOrNull(property.rawValue, value)
            // An empty content type counts as absent: it is inferred, or removed.
            content[property] = .some(property == .contentType && text == "" ? nil : text)
        }
        md5Hash = try params.optionalString("md5Hash")
        custom = try Self.custom(&params)
        for name in Self.readOnly { _ = params.takeOrNull(name) }
        try params.finish()
    }

    private static func custom(_ params: inout Params) throws(RPCError) -> Custom {
        guard let value = params.takeOrNull("customMetadata") else { return .keep }
        if value.isNull { return .removeAll }
        var object = try params.object("customMetadata", in: value)
        var entries: ByteKeyedDictionary<String?> = [:]
        for member in object.takeRest() {
            entries[member.key] = .some(try object.stringOrNull(member.key, member.value))
        }
        return .merge(entries)
    }

    /// Throws `invalidArgument` if `md5Hash` is not an MD5 in base64.
    func checkMD5() throws(StorageError) {
        guard let md5Hash, [UInt8](md5: md5Hash) == nil else { return }
        throw .invalidArgument(
            "metadata.md5Hash", "metadata.md5Hash must be the base64 of 16 bytes, not \"\(md5Hash)\".")
    }
}

extension Params {
    fileprivate func stringOrNull(_ name: String, _ value: JSON) throws(RPCError) -> String? {
        if value.isNull { return nil }
        guard let text = value.string else { throw mistyped(name, "a string or null", value) }
        return text
    }
}

extension StorageError {
    func naming(_ param: String) -> StorageError {
        var error = self
        error.param = param
        return error
    }
}
