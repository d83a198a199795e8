import CZlib

/// Unpacks gzip piece by piece. Takes about 64 KiB, whatever the size of its bytes.
final class Inflater {
    private let zlib: OpaquePointer
    /// The bytes that are added and not unpacked yet.
    private var input: ArraySlice<UInt8> = []
    /// Whether the last piece was full: more may follow without further input.
    private var isFull = false
    /// Whether a gzip member is complete. Another one may follow.
    private(set) var isComplete = false
    private(set) var hasBegun = false

    /// Nil without zlib or memory. To be called on the loop: the first call loads zlib.
    init?() {
        guard let zlib = czlib_open() else { return nil }
        self.zlib = zlib
    }

    deinit { czlib_close(zlib) }

    /// Whether all added bytes are unpacked.
    var needsInput: Bool { input.isEmpty && !isFull }

    /// Adds the next bytes. All earlier ones must be unpacked.
    func add(_ bytes: [UInt8]) { (input, hasBegun) = (bytes[...], true) }

    /// Returns the next bytes, at most `count`: none where more input is needed first, nil where the input is no gzip.
    func next(atMost count: Int) -> [UInt8]? {
        var (used, outcome) = (input.count, CZLIB_MORE)
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = count
            outcome = input.withUnsafeBytes { input in
                czlib_inflate(zlib, input.baseAddress, &used, buffer.baseAddress, &filled)
            }
        }
        input = input.dropFirst(used)
        (isComplete, isFull) = (outcome == CZLIB_END, bytes.count == count && outcome == CZLIB_MORE)
        return outcome == CZLIB_MALFORMED ? nil : bytes
    }
}
