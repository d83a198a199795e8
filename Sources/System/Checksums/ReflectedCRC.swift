/// CRCs with reflected bits, which clients of Amazon S3 send. They are computed byte by byte; for CRC32C, which every
/// object has, `Checksum` is faster.
package struct ReflectedCRC: Sendable {
    package struct Polynomial: Sendable {
        /// The size of the checksum in bytes.
        package let size: Int
        fileprivate let table: [UInt64]
        fileprivate let mask: UInt64

        fileprivate init(_ reflected: UInt64, size: Int) {
            self.size = size
            mask = size == 8 ? .max : 1 << UInt64(8 * size) - 1
            table = (0..<256).map { index in
                (0..<8).reduce(UInt64(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ reflected : value >> 1 }
            }
        }

        /// The polynomial of zlib.
        package static let crc32 = Polynomial(0xEDB8_8320, size: 4)
        /// The polynomial of NVM Express.
        package static let crc64NVMe = Polynomial(0x9A6C_9329_AC4B_C9B5, size: 8)
    }

    private let polynomial: Polynomial
    private var state: UInt64

    package init(_ polynomial: Polynomial) { (self.polynomial, state) = (polynomial, polynomial.mask) }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var state = state
        polynomial.table.withUnsafeBufferPointer { table in
            for byte in bytes { state = table[Int(UInt8(truncatingIfNeeded: state) ^ byte)] ^ state >> 8 }
        }
        self.state = state
    }

    /// The checksum in big-endian order.
    package var bytes: [UInt8] {
        let value = state ^ polynomial.mask
        return (0..<polynomial.size).reversed().map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) }
    }
}
