import JSONText
import Storage

extension Listing {
    /// What both services send as a page of a listing, each order as it came; nil where it is no JSON object.
    ///
    /// Names are left out that are no references, or not below the one that was listed.
    init?(wire bytes: [UInt8], below parent: Reference) {
        guard let json = JSON(wire: bytes), json.object != nil else { return nil }
        let items = (json["items"]?.array ?? []).compactMap { $0["name"]?.string }
        let prefixes = (json["prefixes"]?.array ?? []).compactMap(\.string)
        let token = json["nextPageToken"]?.string ?? ""
        self.init(
            prefixes: Self.references(prefixes.map(\.withoutLastSlash), below: parent),
            items: Self.references(items, below: parent), pageToken: token.isEmpty ? nil : token)
    }

    private static func references(_ names: [String], below parent: Reference) -> [Reference] {
        var seen: Set<Reference> = []
        return names.compactMap { Reference(listed: $0, below: parent) }.filter { seen.insert($0).inserted }
    }
}

extension Reference {
    fileprivate init?(listed name: String, below parent: Reference) {
        do throws(StorageError) {
            try self.init(bucket: parent.bucket, path: name)
        } catch {
            return nil
        }
        guard !isRoot, fullPath.utf8.elementsEqual(name.utf8), name.utf8.starts(with: parent.namesBelow) else {
            return nil
        }
    }
}

extension String {
    fileprivate var withoutLastSlash: String {
        utf8.last == UInt8(ascii: "/") ? String(decoding: utf8.dropLast(), as: UTF8.self) : self
    }
}
