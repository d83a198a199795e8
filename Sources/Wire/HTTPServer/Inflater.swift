import CZlib

/// Unpacks gzip piece by piece. Takes about 64 KiB, whatever the size of its bytes.
final class Inflater {
    private let zlib: OpaquePointer
    /// Added, but not unpacked.
    private var input: ArraySlice<UInt8> = []
    /// The last piece was full: there may be more without further input.
    private var isFull = false
    /// A gzip member is complete. Another one may follow.
    private(set) var isComplete = false
    private(set) var hasBegun = false

    /// Nil where there is no zlib, or no memory. To be called on the loop: the first call loads zlib.
    init?() {
        guard let zlib = czlib_open() else { return nil }
        self.zlib = zlib
    }

    deinit { czlib_close(zlib) }

    /// All that was added is unpacked.
    var needsInput: Bool { input.isEmpty && !isFull }

    /// Adds the bytes that follow. All earlier ones must be unpacked.
    func add(_ bytes: [UInt8]) { (input, hasBegun) = (bytes[...], true) }

    /// The next bytes, at most `count`. None where more input is needed first; nil where the input is no gzip.
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
