@testable import EmbeddedEngine
@testable import Roots
@testable import Database

/// Bytes in the place of others, a few at a time.
func patched(_ template: [UInt8], _ feed: inout Feed) -> [UInt8] {
    var bytes = template
    while !feed.isEmpty {
        let offset = Int(feed.number(3)) % bytes.count
        for (index, byte) in feed.bytes(Int(feed.byte() % 9)).enumerated() where offset + index < bytes.count {
            bytes[offset + index] = byte
        }
    }
    return bytes
}

private let columns = [
    "counters.generation", "buckets.id", "buckets.name", "files.id", "files.state", "objects.bucket", "objects.name",
    "objects.generation", "objects.metageneration", "objects.size", "objects.timeCreated", "objects.updated",
    "objects.md5", "objects.crc32c", "objects.cacheControl", "objects.contentType", "objects.downloadTokens",
    "objects.file", "customMetadata.generation", "customMetadata.key", "customMetadata.value", "bodies.generation",
    "bodies.bytes",
]

/// Values in the place of others, of any type.
func editRows(_ feed: inout Feed, _ root: StorageRoot) throws {
    let database = try Database(path: root.database, applicationID: StorageRoot.applicationID)
    while !feed.isEmpty {
        let column = columns[Int(feed.byte()) % columns.count].split(separator: ".")
        let value: Value =
            switch feed.byte() % 6 {
            case 0: .null
            case 1: .integer(Int64(bitPattern: feed.number(8)))
            case 2: .integer(Int64(feed.byte()))
            case 3: .text("\(Double(bitPattern: feed.number(8)))")
            case 4: .text(feed.line())
            default: .blob(feed.bytes(Int(feed.byte())))
            }
        let which = ["1", "name = x'61'", "generation % 2 = 0", "id = 1", "file = 1"][Int(feed.byte()) % 5]
        do {
            try database.run("UPDATE OR IGNORE \(column[0]) SET \(column[1]) = :value WHERE \(which)", ["value": value])
        } catch {
            // Not every table has every column, and not every column takes every value.
        }
    }
    try database.close()
}
