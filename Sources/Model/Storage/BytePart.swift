import Platform

/// A part of an object that a client wants.
public struct BytePart: Equatable, Sendable {
    /// In bytes, like `length`; both are at least 0. Without a length the part extends to the end of the object.
    public var offset: Int64
    public var length: Int64?

    /// Throws `invalidArgument` for a negative number.
    public init(offset: Int64, length: Int64? = nil) throws(StorageError) {
        for (name, value) in [("offset", offset), ("length", length ?? 0)] where value < 0 {
            throw .invalidArgument(name, "\(name) must be at least 0, not \(value).")
        }
        (self.offset, self.length) = (offset, length)
    }

    /// The range of the part in an object of this size. Throws `invalidArgument` if the object ends before the part
    /// begins.
    public func range(in size: Int64) throws(StorageError) -> Range<Int64> {
        guard offset <= size else {
            throw .invalidArgument("offset", "offset is \(offset), but the object has only \(size) bytes.")
        }
        return offset..<min(size, offset.addingSaturated(length ?? .max))
    }
}
