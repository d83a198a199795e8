import Checksums
import HTTPText
import Platform
import Storage

/// What this engine stores with each object in an entry of its metadata, since S3 counts no generations and does not say
/// which write has stored an object.
///
///     1.ID.GENERATION.METAGENERATION.CREATED.UPDATED.PART-SIZE.MD5.CRC32C.TYPE.NAME
///
/// Numbers are decimal, checksums and the hash of the name hexadecimal; what is unknown is empty. TYPE is "-" for an
/// object without a content type, for which S3 makes one up. The hash of bucket and
/// name tells an object from a copy that another program has made together with the mark.
struct S3Mark: Equatable {
    static let header = "x-amz-meta-storage-rpc"

    var id: String
    var generation: Int64
    var metageneration: Int64 = 1
    var created: Timestamp
    var updated: Timestamp
    /// In bytes; nil for an object that was stored in one request.
    var partSize: Int64?
    var checksums: Checksums
    var hasContentType = true

    init(_ write: RemoteWrite) {
        (id, generation, created, updated) = (write.id, write.generation, write.time, write.time)
        (partSize, checksums) = (write.partSize, Checksums(md5: write.md5, crc32c: write.crc32c))
    }

    /// The mark of an object after a change of its metadata. An object without a mark gets its first one.
    init(changing object: ObjectMetadata, at time: Timestamp, by id: String) {
        self.id = id
        (generation, metageneration) = (object.generation, object.metageneration.addingSaturated(1))
        (created, updated) = (object.timeCreated, max(time, object.updated))
        checksums = object.checksums
        // Some servers keep the tag of the parts.
        partSize = object.checksums.parts?.size
    }

    /// Nil for the text of another program or version, and for the mark of an object with another name.
    init?(_ text: String, of reference: Reference, _ library: CryptoLibrary) {
        let fields = text.split(separator: ".", omittingEmptySubsequences: false)
        guard fields.count == 11, fields[0] == "1", fields[10] == Self.hash(of: reference, library),
            let generation = Int64(digits: fields[2]), let metageneration = Int64(digits: fields[3]),
            let created = Int64(digits: fields[4]), let updated = Int64(digits: fields[5])
        else { return nil }
        (id, self.generation, self.metageneration) = (String(fields[1]), generation, metageneration)
        self.created = Timestamp(microseconds: created)
        self.updated = Timestamp(microseconds: updated)
        partSize = Int64(digits: fields[6]).flatMap { $0 > 0 ? $0 : nil }
        checksums = Checksums(
            md5: [UInt8](hexadecimal: fields[7]).flatMap { $0.count == 16 ? $0 : nil },
            crc32c: fields[8].utf8.count == 8 ? UInt32(fields[8], radix: 16) : nil)
        hasContentType = fields[9] != "-"
    }

    func text(of reference: Reference, _ library: CryptoLibrary) -> String {
        let crc32c = checksums.crc32c.map { crc in (0..<4).reversed().map { UInt8(truncatingIfNeeded: crc >> (8 * $0)) }
        }
        return [
            "1", id, "\(generation)", "\(metageneration)", "\(created.microseconds)", "\(updated.microseconds)",
            partSize.map { "\($0)" } ?? "", checksums.md5?.hexadecimal ?? "", crc32c?.hexadecimal ?? "",
            hasContentType ? "" : "-", Self.hash(of: reference, library),
        ].joined(separator: ".")
    }

    private static func hash(of reference: Reference, _ library: CryptoLibrary) -> String {
        Array((library.sha256(Array("\(reference.bucket)/\(reference.object)".utf8)) ?? []).prefix(8)).hexadecimal
    }
}

extension [UInt8] {
    /// Nil for a text with anything else than pairs of hexadecimal digits.
    init?(hexadecimal text: some StringProtocol) {
        var bytes: [UInt8] = []
        var rest = text.utf8.makeIterator()
        while let high = rest.next() {
            guard let high = hexDigit(high), let low = rest.next().flatMap(hexDigit) else { return nil }
            bytes.append(high << 4 | low)
        }
        self = bytes
    }
}
