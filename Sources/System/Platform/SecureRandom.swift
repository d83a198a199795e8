import CSystem
import Glibc

/// The only source of unique and secret values: getrandom(2), which needs no descriptor.
///
/// If the kernel gives no random bytes, the process ends with a message: it never continues with predictable values.
public struct SecureRandom: RandomNumberGenerator, Sendable {
    /// Behaves as getrandom(2): returns the number of bytes written, or -1 with `errno` set.
    typealias Source = @Sendable (UnsafeMutableRawBufferPointer) -> Int

    private let source: Source

    public init() { self.init { csystem_getrandom($0.baseAddress, $0.count) } }

    init(_ source: @escaping Source) { self.source = source }

    public func next() -> UInt64 {
        var number: UInt64 = 0
        withUnsafeMutableBytes(of: &number, fill)
        return number
    }

    func numbers(_ count: Int) -> [UInt64] {
        [UInt64](unsafeUninitializedCapacity: count) { numbers, filled in
            fill(UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(numbers)[..<(count * 8)]))
            filled = count
        }
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
