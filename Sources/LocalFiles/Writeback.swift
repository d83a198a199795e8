import Platform

/// Keeps the disk busy while a file grows, so that the sync at the end finds little to do, and of a large one only
/// its first and its last pages in memory: the system finds new pages more slowly than it writes these back.
package struct Writeback {
    private static let size: Int64 = 8 << 20
    private static let cachedHead: Int64 = 64 << 20
    private static let cachedTail: Int64 = 32 << 20

    private var begun: Int64 = 0
    private var dropped = cachedHead

    package init() {}

    /// To be told after each write behind the one before. May wait for the disk.
    package mutating func wrote(_ file: OpenFile, upTo offset: Int64) {
        guard offset - begun >= Self.size else { return }
        file.startWriteback(begun, offset - begun)
        begun = offset
        let end = offset - Self.cachedTail
        guard end > dropped else { return }
        file.dropWritten(dropped, end - dropped)
        dropped = end
    }
}
