import Database
import JSONText
import Storage
import TaskStore

/// An upload whose client sends numbered parts in any order, and finally selects those that make up the object.
///
/// The row of a complete upload stays, so that a client may repeat the end. Only `end` reads it.
package struct Multipart: Sendable {
    package let id: String
    package let reference: Reference
    /// The metadata that the client has sent, encoded by its dialect.
    package let metadata: String
    package let began: Timestamp
}

/// A stored part.
package struct MultipartPart: Sendable {
    package let number: Int
    /// In bytes.
    package let size: Int64
    package let md5: [UInt8]
    package let crc32c: UInt32
    /// Other checksums that the client has declared, by the names of its dialect.
    package let declared: [String: String]
    package let stored: Timestamp
    let file: Int64
}

// The caller opens the transaction.
extension Database {
    func insert(_ upload: Multipart) throws {
        try run(
            """
            INSERT INTO multiparts (id, bucket, name, metadata, began, used)
            VALUES (:id, :bucket, :name, :metadata, :now, :now)
            """,
            upload.reference.key + [
                "id": .text(upload.id), "metadata": .text(upload.metadata), "now": .integer(upload.began.microseconds),
            ])
    }

    /// Nil for an upload that is unknown or complete, and for one of another object.
    func multipart(_ id: String, of reference: Reference) throws -> Multipart? {
        try first(
            """
            SELECT \(Self.multipartColumns) FROM multiparts
            WHERE id = :id AND bucket = :bucket AND name = :name AND generation IS NULL
            """,
            reference.key + ["id": .text(id)]
        ) { try $0.multipart }
    }

    /// The end of a complete upload; nil for others, and for one of another object.
    func end(of id: String, to reference: Reference) throws -> Multiparts.End? {
        try first(
            """
            SELECT generation, selection FROM multiparts
            WHERE id = :id AND bucket = :bucket AND name = :name AND generation IS NOT NULL
            """,
            reference.key + ["id": .text(id)]
        ) { .init(generation: try $0.integer("generation"), selection: try $0.blob("selection")) }
    }

    /// Makes an upload a complete one. Returns the files of its parts, which must stay until the transaction is durable.
    func complete(_ id: String, _ end: Multiparts.End, at now: Timestamp) throws -> [Int64] {
        let files = try removeParts(of: id)
        try run(
            "UPDATE multiparts SET generation = :generation, selection = :selection, used = :used WHERE id = :id",
            [
                "generation": .integer(end.generation), "selection": .blob(end.selection),
                "used": .integer(now.microseconds), "id": .text(id),
            ])
        try run(
            """
            DELETE FROM multiparts WHERE generation IS NOT NULL AND id NOT IN (
                SELECT id FROM multiparts WHERE generation IS NOT NULL ORDER BY used DESC LIMIT :most)
            """, ["most": .integer(Multiparts.mostEnds)])
        return files
    }

    /// The unfinished uploads of a bucket, ordered by name and id, that follow the given one.
    func multiparts(in bucket: String, _ prefix: String, after last: (name: String, id: String), most: Int) throws
        -> [Multipart]
    {
        var found: [Multipart] = []
        try rows(
            """
            SELECT \(Self.multipartColumns) FROM multiparts WHERE bucket = :bucket AND generation IS NULL
            AND substr(name, 1, length(:prefix)) = :prefix AND (name, id) > (:name, :id)
            ORDER BY name, id LIMIT :most
            """,
            [
                "bucket": .text(bucket), "prefix": .blob(Array(prefix.utf8)), "name": .blob(Array(last.name.utf8)),
                "id": .text(last.id), "most": .integer(Int64(most)),
            ]
        ) { found.append(try $0.multipart) }
        return found
    }

    /// The parts of an upload with greater numbers, in order.
    func parts(of id: String, after number: Int, most: Int) throws -> [MultipartPart] {
        var found: [MultipartPart] = []
        try rows(
            """
            SELECT number, size, md5, crc32c, declared, stored, file FROM parts
            WHERE multipart = :id AND number > :number ORDER BY number LIMIT :most
            """, ["id": .text(id), "number": .integer(Int64(number)), "most": .integer(Int64(most))]
        ) { found.append(try $0.part) }
        return found
    }

    /// Stores a part whose file is synced. Returns the file of a part that it replaces.
    func put(_ part: MultipartPart, of upload: Multipart) throws -> Int64? {
        let key: Values = ["id": .text(upload.id), "number": .integer(Int64(part.number))]
        let old = try first("SELECT file FROM parts WHERE multipart = :id AND number = :number", key) {
            try $0.integer("file")
        }
        try run(
            """
            INSERT OR REPLACE INTO parts (multipart, number, file, size, md5, crc32c, declared, stored)
            VALUES (:id, :number, :file, :size, :md5, :crc32c, :declared, :stored)
            """,
            key + [
                "file": .integer(part.file), "size": .integer(part.size), "md5": .blob(part.md5),
                "crc32c": .integer(Int64(part.crc32c)),
                "declared": .text(JSON(members: part.declared.sorted { $0.key < $1.key }).text),
                "stored": .integer(part.stored.microseconds),
            ])
        try run(
            "UPDATE multiparts SET used = :used WHERE id = :id",
            ["used": .integer(part.stored.microseconds), "id": .text(upload.id)])
        try setState(.stored, of: part.file)
        if let old { try setState(.garbage, of: old) }
        return old
    }

    /// Removes an upload. Returns its files, which must stay until the transaction is durable.
    func removeMultipart(_ id: String) throws -> [Int64] {
        let files = try removeParts(of: id)
        try run("DELETE FROM multiparts WHERE id = :id", ["id": .text(id)])
        return files
    }

    /// Removes the parts of an upload. Returns their files, which must stay until the transaction is durable.
    private func removeParts(of id: String) throws -> [Int64] {
        var files: [Int64] = []
        let values: Values = ["id": .text(id)]
        try rows("SELECT file FROM parts WHERE multipart = :id", values) { files.append(try $0.integer("file")) }
        for file in files { try setState(.garbage, of: file) }
        try run("DELETE FROM parts WHERE multipart = :id", values)
        return files
    }

    /// The unfinished uploads ordered by their last use, the longest idle one first.
    func multipartsByUse(used: Set<String>) throws -> [SessionBounds.Session<String>] {
        var found: [SessionBounds.Session<String>] = []
        try rows("SELECT id, began FROM multiparts WHERE generation IS NULL ORDER BY used, id") {
            let (id, began) = (try $0.text("id"), Timestamp(microseconds: try $0.integer("began")))
            found.append(.init(id: id, began: began, isUsed: used.contains(id)))
        }
        return found
    }

    private static let multipartColumns = "id, bucket, name, metadata, began"

    private func setState(_ state: ObjectSchema.FileState, of file: Int64) throws {
        try run("UPDATE files SET state = :state WHERE id = :id", ["state": state.value, "id": .integer(file)])
    }
}

extension Row {
    fileprivate var multipart: Multipart {
        get throws {
            let name = String(decoding: try blob("name"), as: UTF8.self)
            return Multipart(
                id: try text("id"), reference: try Reference(bucket: text("bucket"), object: name),
                metadata: try text("metadata"), began: Timestamp(microseconds: try integer("began")))
        }
    }

    fileprivate var part: MultipartPart {
        get throws {
            let declared = try [(String, String)](declared: text("declared"))
            return MultipartPart(
                number: Int(try integer("number")), size: try integer("size"), md5: try blob("md5"),
                crc32c: UInt32(truncatingIfNeeded: try integer("crc32c")),
                declared: Dictionary(declared) { $1 },
                stored: Timestamp(microseconds: try integer("stored")), file: try integer("file"))
        }
    }
}

extension [(String, String)] {
    /// The checksums of a part by their names. Throws if the text is no JSON object of strings.
    fileprivate init(declared text: String) throws {
        guard let members = JSON(wire: [UInt8](text.utf8))?.object else { throw StorageError.damagedPart }
        self = try members.map { member in
            guard let sum = member.value.string else { throw StorageError.damagedPart }
            return (member.key, sum)
        }
    }
}

extension StorageError {
    fileprivate static let damagedPart = StorageError(
        .unknown, "The database is damaged: the declared checksums of a part are no JSON object of strings.")
}
