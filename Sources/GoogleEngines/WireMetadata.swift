import FoundationEssentials
import JSONText
import Storage

// The metadata resource of both services, which differ in details only. What a server sends is read leniently.

extension ObjectMetadata {
    /// Nil unless it is JSON that has at least a generation. Where it has no size, the object is empty.
    init?(wire bytes: [UInt8], _ reference: Reference) {
        guard let json = JSON(wire: bytes), let generation = json.integer("generation"),
            let size = (json["size"] ?? .null).isNull ? 0 : json.integer("size"), size >= 0
        else { return nil }
        let created = json["timeCreated"]?.string.flatMap(Timestamp.init(rfc3339:)) ?? Timestamp(microseconds: 0)
        self.init(
            reference: reference, generation: generation, metageneration: json.integer("metageneration") ?? 1,
            size: size, timeCreated: created,
            updated: json["updated"]?.string.flatMap(Timestamp.init(rfc3339:)) ?? created,
            md5: json["md5Hash"]?.string.flatMap { Data(base64Encoded: $0) }.map(Array.init),
            crc32c: json["crc32c"]?.string.flatMap(UInt32.init(wireChecksum:)), settable: SettableMetadata(wire: json))
    }
}

extension SettableMetadata {
    fileprivate init(wire json: JSON) {
        self.init()
        for property in ContentProperty.allCases { content[property] = json[property.rawValue]?.string }
        for member in json["metadata"]?.object ?? [] {
            custom[member.key] = member.value.string ?? member.value.text
        }
    }

    /// As the resource that begins an object.
    func wire(name: String, md5Hash: String?, crc32c: String?) -> JSON {
        var members = [JSON.Member(key: "name", value: .string(name))]
        members += ContentProperty.allCases.compactMap { property in
            content[property].map { JSON.Member(key: property.rawValue, value: .string($0)) }
        }
        if let md5Hash { members.append(.init(key: "md5Hash", value: .string(md5Hash))) }
        if let crc32c { members.append(.init(key: "crc32c", value: .string(crc32c))) }
        if !custom.isEmpty { members.append(.init(key: "metadata", value: JSON(members: custom))) }
        return .object(members)
    }
}

extension MetadataChange {
    /// The members to change alone; null removes.
    var wire: JSON {
        var members = ContentProperty.allCases.compactMap { property in
            content[property].map { JSON.Member(key: property.rawValue, value: .init($0)) }
        }
        switch custom {
        case .keep: break
        case .removeAll: members.append(.init(key: "metadata", value: .null))
        case .merge(let entries):
            let entries = entries.map { JSON.Member(key: $0.key, value: .init($0.value)) }
            members.append(.init(key: "metadata", value: .object(entries)))
        }
        return .object(members)
    }
}

extension JSON {
    fileprivate init(_ text: String?) { self = text.map(JSON.string) ?? .null }

    /// Written as a number or as its digits.
    fileprivate func integer(_ key: String) -> Int64? {
        let value = self[key]
        return value?.number?.int64 ?? value?.string.flatMap { Int64($0) }
    }
}

extension UInt32 {
    /// Base64 of four bytes, the first one highest.
    var wireChecksum: String { withUnsafeBytes(of: bigEndian) { Data($0) }.base64EncodedString() }

    /// The same; the emulator of Firebase writes a decimal number.
    fileprivate init?(wireChecksum text: String) {
        if let bytes = Data(base64Encoded: text), bytes.count == 4 {
            self = bytes.reduce(0) { $0 << 8 | UInt32($1) }
        } else {
            self.init(text)
        }
    }
}
