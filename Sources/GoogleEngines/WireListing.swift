import JSONText
import Storage

extension Listing {
    /// What both services send as a page of a listing, each order as it came; nil where it is no JSON object.
    ///
    /// Names are left out that are no references, or not below the one that was listed.
    init?(wire bytes: [UInt8], for query: ListQuery) {
        guard let json = JSON(wire: bytes), json.object != nil else { return nil }
        let items = (json["items"]?.array ?? []).compactMap { $0["name"]?.string }
        let prefixes = (json["prefixes"]?.array ?? []).compactMap(\.string)
        let token = json["nextPageToken"]?.string ?? ""
        self.init(
            prefixes: Self.eachOnce(prefixes.compactMap(query.prefix)),
            items: Self.eachOnce(items.compactMap(query.item)), pageToken: token.isEmpty ? nil : token)
    }

    private static func eachOnce(_ references: [Reference]) -> [Reference] {
        var seen: Set<Reference> = []
        return references.filter { seen.insert($0).inserted }
    }
}
