import Platform

/// Starts writeback while a file grows, so that the final sync is short. Of a large file only the first and the last
/// pages stay in the page cache: allocating new pages is slower than writing these back.
package struct Writeback {
    private static let size: Int64 = 8 << 20
    private static let cachedHead: Int64 = 64 << 20
    private static let cachedTail: Int64 = 32 << 20

    private var begun: Int64 = 0
    private var dropped = cachedHead

    package init() {}

    /// To be called after each append. May block on the disk. An error means what that of a sync means: the disk may lack
    /// bytes, although the system counts them as written.
    package mutating func wrote(_ file: OpenFile, upTo offset: Int64) throws(SystemError) {
        guard offset - begun >= Self.size else { return }
        try file.startWriteback(begun, offset - begun)
        begun = offset
        let end = offset - Self.cachedTail
        guard end > dropped else { return }
        try file.dropWritten(dropped, end - dropped)
        dropped = end
    }
}
