import JSONText

extension StorageFixture {
    /// Whose answers the fixture gives where servers that speak the same protocol differ.
    package enum Variant: Sendable, CaseIterable {
        case service
        /// Google's testbench for client libraries.
        case testbench
        /// fake-gcs-server.
        case fakeGCS
        /// The official emulator of Firebase Storage.
        case firebaseEmulator
    }
}

extension StorageFixture.Variant {
    /// What refuses an upload whose bytes do not have the given checksum; nil if checksums are not compared.
    var mismatchStatus: Int? {
        switch self {
        case .service, .fakeGCS: 400
        case .testbench: 412
        case .firebaseEmulator: nil
        }
    }

    /// What the head of an answer with an object's bytes does not say.
    var omittedHeaders: [String] {
        self == .firebaseEmulator
            ? ["x-goog-metageneration", "x-goog-stored-content-length", "x-goog-stored-content-encoding"] : []
    }

    /// Whether the checksum that comes with the last bytes of a resumable upload counts.
    var takesFinalChecksum: Bool { self == .service || self == .testbench }
}

/// What the bytes of an upload must be.
struct ExpectedChecksums: Sendable {
    private var values: [(name: String, value: String)] = []

    init(_ metadata: JSON, for dialect: StorageFixture.Dialect) {
        let names = dialect == .gcs ? ["md5Hash", "crc32c"] : ["md5Hash"]
        values = names.compactMap { name in metadata[name]?.string.map { (name, $0) } }
    }

    /// With what `X-Goog-Hash` says: `crc32c=VALUE,md5=VALUE`.
    mutating func add(_ header: String?) {
        for entry in (header ?? "").split(separator: ",") {
            let sides = entry.split(separator: "=", maxSplits: 1).map(String.init)
            if sides.count == 2 { values.append((sides[0] == "md5" ? "md5Hash" : sides[0], sides[1])) }
        }
    }

    /// The name of one that the object does not have.
    func mismatch(_ object: StoredObject) -> String? {
        values.first { $0.value != ($0.name == "md5Hash" ? object.md5Text : object.crcText) }?.name
    }
}
