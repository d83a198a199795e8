extension JSON {
    /// Nil unless the bytes are one JSON text.
    package init?(wire bytes: [UInt8]) {
        let parsed = bytes.withUnsafeBytes { bytes in
            Result { () throws(JSONSyntaxError) in try JSON(parsing: bytes) }
        }
        guard case .success(let json) = parsed else { return nil }
        self = json
    }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return bytes
    }

    package init(members: some Sequence<(key: String, value: String)>) {
        self = .object(members.map { Member(key: $0.key, value: .string($0.value)) })
    }
}
