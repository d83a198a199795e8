import CSystem
import Glibc

/// The one source of everything that must be unique or secret: getrandom(2), which needs no descriptor.
///
/// Where the kernel gives no random bytes the process ends with a message: it never continues with predictable ones.
public struct SecureRandom: RandomNumberGenerator, Sendable {
    /// As getrandom(2): the number of bytes written, or -1 and `errno`.
    typealias Source = @Sendable (UnsafeMutableRawBufferPointer) -> Int

    private let source: Source

    public init() { self.init { csystem_getrandom($0.baseAddress, $0.count) } }

    init(_ source: @escaping Source) { self.source = source }

    public func next() -> UInt64 {
        var number: UInt64 = 0
        withUnsafeMutableBytes(of: &number, fill)
        return number
    }

    /// A random UUID (version 4) in lower case: 122 random bits.
    public func uuid() -> String { RandomSource.uuid(next(), next()) }

    private func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        var filled = 0
        while filled < buffer.count {
            let count = source(UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                fatalError("The system has no random numbers (getrandom: \(String(cString: strerror(errno)))).")
            }
            filled += count
        }
    }
}
