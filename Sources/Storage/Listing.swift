/// One page of what is directly below a reference: items and prefixes in one order by the bytes of their names.
public struct Listing: Equatable, Sendable {
    /// As the service has it, for a page and for its default.
    public static let mostResults = 1000

    public var prefixes: [Reference]
    public var items: [Reference]
    /// What the next page is asked for with; nil on the last one.
    public var pageToken: String?

    public init(prefixes: [Reference] = [], items: [Reference] = [], pageToken: String? = nil) {
        self.prefixes = prefixes
        self.items = items
        self.pageToken = pageToken
    }
}
