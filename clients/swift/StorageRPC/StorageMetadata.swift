import Foundation

/// The metadata of an object.
///
/// `updateMetadata` changes the properties that were assigned, and leaves the others: an assigned nil removes a property.
/// Of metadata that was read, and of a dictionary, it changes what differs from what was read: also of the custom metadata.
///
/// Sound: all that changes is guarded by `lock`.
open class StorageMetadata: NSObject, @unchecked Sendable {
    private struct Fields {
        var cacheControl: String?
        var contentDisposition: String?
        var contentEncoding: String?
        var contentLanguage: String?
        var contentType: String?
        var customMetadata: [String: String]?
    }

    private let lock = NSLock()
    private var fields = Fields()
    private var assigned: Set<PartialKeyPath<Fields>> = []
    /// The properties before any was assigned.
    private let initial: Fields
    /// Whether the client has made this object, and so means its `md5Hash`.
    private let isOwn: Bool

    /// The name of the bucket; empty before an upload.
    public let bucket: String
    /// The number of this version of the bytes; 0 before an upload.
    public let generation: Int64
    /// The number of this version of the metadata; 0 before an upload.
    public let metageneration: Int64
    /// The size in bytes; 0 before an upload.
    public let size: Int64
    /// When this generation was stored.
    public let timeCreated: Date?
    /// When the metadata was changed last.
    public let updated: Date?
    /// The MD5 of the bytes in base64.
    public let md5Hash: String?
    /// The CRC32C of the bytes in base64.
    public let crc32c: String?
    /// The last segment of `path`.
    public let name: String?
    /// The path in the bucket.
    public let path: String?

    /// How caches may store the bytes, as in HTTP.
    public var cacheControl: String? {
        get { self[\.cacheControl] }
        set { self[\.cacheControl] = newValue }
    }
    /// How a browser presents the bytes.
    public var contentDisposition: String? {
        get { self[\.contentDisposition] }
        set { self[\.contentDisposition] = newValue }
    }
    /// How the bytes are encoded, such as gzip.
    public var contentEncoding: String? {
        get { self[\.contentEncoding] }
        set { self[\.contentEncoding] = newValue }
    }
    /// The language of the content.
    public var contentLanguage: String? {
        get { self[\.contentLanguage] }
        set { self[\.contentLanguage] = newValue }
    }
    /// The media type. By default the service derives it from the extension of the file, else of the reference.
    public var contentType: String? {
        get { self[\.contentType] }
        set { self[\.contentType] = newValue }
    }
    /// Strings under names of your own, at most 8192 bytes in all.
    public var customMetadata: [String: String]? {
        get { self[\.customMetadata] }
        set { self[\.customMetadata] = newValue }
    }

    /// Whether an object has this metadata.
    public var isFile: Bool { generation != 0 }
    /// Always false: a folder has no metadata.
    public var isFolder: Bool { false }

    private subscript<Value>(property: WritableKeyPath<Fields, Value>) -> Value {
        get { lock.withLock { fields[keyPath: property] } }
        set {
            lock.withLock {
                fields[keyPath: property] = newValue
                assigned.insert(property)
            }
        }
    }

    /// Metadata without any property.
    override public convenience init() { self.init(dictionary: [:]) }

    /// Metadata of a dictionary as `dictionaryRepresentation()` returns it. Properties of it count as assigned only for
    /// an upload.
    public convenience init(dictionary: [String: AnyHashable]) {
        func number(_ key: String) -> Int64 {
            dictionary[key] as? Int64 ?? (dictionary[key] as? Int).map(Int64.init)
                ?? (dictionary[key] as? String).flatMap(Int64.init) ?? 0
        }
        let path = dictionary["name"] as? String
        self.init(
            StorageWire.Metadata(
                bucket: dictionary["bucket"] as? String ?? "", fullPath: path ?? "", name: "",
                generation: String(number("generation")), metageneration: String(number("metageneration")),
                size: number("size"), timeCreated: dictionary["timeCreated"] as? String,
                updated: dictionary["updated"] as? String, md5Hash: dictionary["md5Hash"] as? String,
                cacheControl: dictionary["cacheControl"] as? String,
                contentDisposition: dictionary["contentDisposition"] as? String,
                contentEncoding: dictionary["contentEncoding"] as? String,
                contentLanguage: dictionary["contentLanguage"] as? String,
                contentType: dictionary["contentType"] as? String,
                customMetadata: dictionary["metadata"] as? [String: String]),
            isOwn: true, hasPath: path != nil)
    }

    convenience init(_ wire: StorageWire.Metadata) { self.init(wire, isOwn: false, hasPath: true) }

    private init(_ wire: StorageWire.Metadata, isOwn: Bool, hasPath: Bool) {
        self.isOwn = isOwn
        let place = StoragePath(bucket: wire.bucket, fullPath: wire.fullPath)
        (bucket, path, name) = (wire.bucket, hasPath ? wire.fullPath : nil, hasPath ? place.name : nil)
        generation = wire.generation.flatMap(Int64.init) ?? 0
        metageneration = wire.metageneration.flatMap(Int64.init) ?? 0
        (size, md5Hash, crc32c) = (wire.size ?? 0, wire.md5Hash, wire.crc32c)
        (timeCreated, updated) = (wire.timeCreated.flatMap(Self.date), wire.updated.flatMap(Self.date))
        initial = Fields(
            cacheControl: wire.cacheControl, contentDisposition: wire.contentDisposition,
            contentEncoding: wire.contentEncoding, contentLanguage: wire.contentLanguage,
            contentType: wire.contentType, customMetadata: wire.customMetadata)
        fields = initial
    }

    private init(copy other: StorageMetadata) {
        (bucket, path, name, size) = (other.bucket, other.path, other.name, other.size)
        (generation, metageneration) = (other.generation, other.metageneration)
        (md5Hash, crc32c) = (other.md5Hash, other.crc32c)
        (timeCreated, updated, initial, isOwn) = (other.timeCreated, other.updated, other.initial, other.isOwn)
        (fields, assigned) = other.lock.withLock { (other.fields, other.assigned) }
    }

    /// The properties that are not nil or 0, under the names of the JSON API.
    open func dictionaryRepresentation() -> [String: AnyHashable] {
        let fields = lock.withLock { self.fields }
        let all: [String: AnyHashable?] = [
            "bucket": bucket, "name": path, "md5Hash": md5Hash, "size": size == 0 ? nil : size,
            "generation": generation == 0 ? nil : "\(generation)",
            "metageneration": metageneration == 0 ? nil : "\(metageneration)",
            "timeCreated": timeCreated.map(Self.text), "updated": updated.map(Self.text),
            "cacheControl": fields.cacheControl, "contentDisposition": fields.contentDisposition,
            "contentEncoding": fields.contentEncoding, "contentLanguage": fields.contentLanguage,
            "contentType": fields.contentType, "metadata": fields.customMetadata,
        ]
        return all.compactMapValues { $0 }
    }

    /// A copy.
    override open func copy() -> Any { StorageMetadata(copy: self) }

    /// Whether the other object is metadata with the same properties.
    override open func isEqual(_ object: Any?) -> Bool {
        (object as? StorageMetadata)?.dictionaryRepresentation() == dictionaryRepresentation()
    }

    /// Equal for equal metadata.
    override open var hash: Int { dictionaryRepresentation().hashValue }

    /// The class and the properties.
    override open var description: String { "\(type(of: self)) \(dictionaryRepresentation())" }

    // MARK: What is said

    /// For an upload: the properties that have a value.
    var upload: StorageWire.MetadataWrite {
        let fields = lock.withLock { self.fields }
        return StorageWire.MetadataWrite(
            cacheControl: fields.cacheControl.map { .value($0) },
            contentDisposition: fields.contentDisposition.map { .value($0) },
            contentEncoding: fields.contentEncoding.map { .value($0) },
            contentLanguage: fields.contentLanguage.map { .value($0) },
            contentType: fields.contentType.map { .value($0) },
            customMetadata: fields.customMetadata.map { .value($0.mapValues { .value($0) }) },
            md5Hash: isOwn ? md5Hash.map { .value($0) } : nil)
    }

    /// For an update: the properties that were assigned, if they differ from those that the object had.
    var update: StorageWire.MetadataWrite {
        let (fields, assigned) = lock.withLock { (self.fields, self.assigned) }
        func property(_ key: KeyPath<Fields, String?>) -> StorageWire.Nullable<String>? {
            guard assigned.contains(key) else { return nil }
            return change(of: initial[keyPath: key], to: fields[keyPath: key])
        }
        let isAssigned = assigned.contains(\Fields.customMetadata)
        return StorageWire.MetadataWrite(
            cacheControl: property(\.cacheControl), contentDisposition: property(\.contentDisposition),
            contentEncoding: property(\.contentEncoding), contentLanguage: property(\.contentLanguage),
            contentType: property(\.contentType),
            customMetadata: isAssigned ? change(of: initial.customMetadata ?? [:], to: fields.customMetadata) : nil)
    }

    /// Nil if the bytes are the same. What the client has made does not know whether there is a value to remove.
    private func change(of old: String?, to new: String?) -> StorageWire.Nullable<String>? {
        guard let new else { return old != nil || isOwn ? .null : nil }
        return old.map { $0.utf8.elementsEqual(new.utf8) } == true ? nil : .value(new)
    }

    private func change(
        of old: [String: String], to new: [String: String]?
    ) -> StorageWire.Nullable<[String: StorageWire.Nullable<String>]>? {
        guard let new else { return !old.isEmpty || isOwn ? .null : nil }
        var changes: [String: StorageWire.Nullable<String>] = [:]
        for (key, value) in new { changes[key] = change(of: old[key], to: value) }
        for key in old.keys where new[key] == nil { changes[key] = .null }
        return changes.isEmpty ? nil : .value(changes)
    }

    /// RFC 3339 with milliseconds.
    private static let times = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    private static func date(_ text: String) -> Date? { try? times.parse(text) }
    private static func text(_ date: Date) -> String { times.format(date + 0.0001) }  // It cuts off what is below 1 ms.
}
