// Paths of files as texts. They are split by bytes: a slash before a combining mark is still a slash.
extension String {
    /// The directory of the path: `.` for a name alone, `/` for `/` and its entries.
    package var parentPath: String {
        guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == startIndex ? "/" : String(self[..<slash])
    }

    /// The text after the last slash; empty for a path that ends with one.
    package var fileName: String {
        guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return self }
        return String(self[utf8.index(after: slash)...])
    }
}
