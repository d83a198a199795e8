// Paths of files as texts. They are cut at bytes: a slash before a combining mark is still a slash.
extension String {
    /// The directory that has the file: `.` for a name alone, `/` for `/` and for what is in it.
    package var parentPath: String {
        guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == startIndex ? "/" : String(self[..<slash])
    }

    /// What follows the last slash; empty for a path that ends with one.
    package var fileName: String {
        guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return self }
        return String(self[utf8.index(after: slash)...])
    }
}
