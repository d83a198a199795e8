/// What a parameter of a statement, `?` or `:name`, is filled with.
public enum Value {
    case null
    case integer(Int64)
    /// NaN is stored as NULL.
    case real(Double)
    /// Any text, NUL characters included; SQLite takes a copy.
    case text(String)
    /// An array's bytes, read in place.
    case blob([UInt8])
    /// Bytes read in place, which have to stay until the call that was given them returns; none are an empty blob.
    case bytes(UnsafeRawBufferPointer)
}

// nil is NULL.
extension Value {
    public static func integer(_ value: Int64?) -> Value {
        if let value { .integer(value) } else { .null }
    }

    public static func real(_ value: Double?) -> Value {
        if let value { .real(value) } else { .null }
    }

    public static func text(_ value: String?) -> Value {
        if let value { .text(value) } else { .null }
    }

    public static func blob(_ value: [UInt8]?) -> Value {
        if let value { .blob(value) } else { .null }
    }
}
