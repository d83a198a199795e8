import JSONRPC
import JSONText
import Platform
import Storage
import Transfers

// The rights of a connection. A connection gives up rights in `initialize`, and never gets them back.

/// What a request uses.
enum Use: Sendable {
    case reading(Reference)
    case changing(Reference)
    /// Everything below a reference is read, or its names are.
    case readingAll(Reference)
    case changingAll(Reference)
    /// The state of the whole service.
    case readingService, changingService
}

/// A method of the service. It names what it uses, so that each new method meets the rights of its connection.
protocol ServiceMethod: RPCMethod where Context == ConnectionContext {
    var uses: [Use] { get }
}

extension ServiceMethod {
    @Loop func authorize(in context: ConnectionContext) throws {
        guard let rights = context.rights else { return }
        try rights.check(uses)
    }
}

/// The rights that a confined connection has kept.
struct Rights: Equatable, Sendable {
    /// Objects are not changed.
    var isReadOnly = false
    /// The objects and folders, each with everything below it. Nil for all objects, empty for none.
    var within: [Reference]?
    /// Nil for the files of the service's directories.
    var files: LocalConfinement?

    /// Throws `unauthorized` if one of the uses is beyond these rights, whether or not its object exists.
    func check(_ uses: [Use]) throws(StorageError) {
        for use in uses { try check(use) }
    }

    private func check(_ use: Use) throws(StorageError) {
        switch use {
        case .reading(let reference): try checkPlace(of: reference, includes(reference))
        case .readingAll(let reference): try checkPlace(of: reference, includesAll(below: reference))
        case .changing(let reference):
            try check(.reading(reference))
            try checkChange()
        case .changingAll(let reference):
            try check(.readingAll(reference))
            try checkChange()
        case .readingService where within != nil:
            throw StorageError(
                .unauthorized, "This connection is confined with within, and sees not the whole service.")
        case .readingService: break
        case .changingService:
            try checkChange()
            guard within == nil, files == nil else {
                throw StorageError(.unauthorized, "This connection is confined, and cannot change the whole service.")
            }
        }
    }

    private func checkChange() throws(StorageError) {
        if isReadOnly { throw StorageError(.unauthorized, "This connection has given up changes, with readOnly.") }
    }

    private func checkPlace(of reference: Reference, _ isIncluded: Bool) throws(StorageError) {
        guard !isIncluded else { return }
        let places = within?.map(\.url).joined(separator: ", ") ?? ""
        throw StorageError(
            .unauthorized,
            "\(reference.url) is outside of what this connection may use"
                + (places.isEmpty ? ": it may use no object." : ", which is \(places).")
        ).about(reference)
    }

    private func includes(_ reference: Reference) -> Bool {
        within?.contains { Self.place($0, includes: reference) } ?? true
    }

    private static func place(_ place: Reference, includes reference: Reference) -> Bool {
        place.bucket.hasSameBytes(as: reference.bucket) && (place == reference || place.isAbove(reference.object))
    }

    /// The rights that these and others have in common. Each directory of the others is in one of these rights.
    func narrowed(to others: Rights) -> Rights {
        var rights = Rights(isReadOnly: isReadOnly || others.isReadOnly, within: within, files: files)
        if let places = others.within {
            let kept = within?.filter { place in
                !places.contains(place) && places.contains { Self.place($0, includes: place) }
            }
            rights.within = places.filter(includes) + (kept ?? [])
        }
        if let directories = others.files {
            rights.files = LocalConfinement(
                reading: directories.reading ?? files?.reading, writing: directories.writing ?? files?.writing)
        }
        return rights
    }

    /// Whether all names that begin with the prefix of a reference are included.
    private func includesAll(below reference: Reference) -> Bool {
        guard let within else { return true }
        return within.contains {
            $0.bucket.hasSameBytes(as: reference.bucket) && $0.isAbove(reference.prefix)
        }
    }

    /// Whether the connection may know the bucket of this name.
    func knows(bucket: String) -> Bool { within?.contains { $0.bucket.hasSameBytes(as: bucket) } ?? true }

    /// Whether the connection may know a task.
    func know(_ task: some ConfinedSnapshot) -> Bool {
        do throws(StorageError) { try check(task.uses(.reading)) } catch { return false }
        return true
    }

    /// Throws `unauthorized` if the connection may not pause, resume or end a task that it knows.
    func checkControl(of task: some ConfinedSnapshot) throws(StorageError) {
        try check(task.uses(.control))
        if task.writesFiles, files?.writing?.isEmpty == true {
            throw StorageError(.unauthorized, "This connection has given up to write files, with allowWrite.")
        }
    }
}

/// What a request does with a task.
enum TaskAccess { case reading, control, resuming }

/// The state of a task, as far as rights concern it.
protocol ConfinedSnapshot {
    var writesFiles: Bool { get }
    func uses(_ access: TaskAccess) -> [Use]
}

extension TaskSnapshot: ConfinedSnapshot {
    var writesFiles: Bool { kind == .download && origin == nil }

    func uses(_ access: TaskAccess) -> [Use] {
        let isChange = kind == .upload && access != .reading
        let source = copy.map { Use.reading($0.reference) }
        return [isChange ? .changing(reference) : .reading(reference)] + (source.map { [$0] } ?? [])
    }
}

extension FolderSnapshot: ConfinedSnapshot {
    var writesFiles: Bool { request.kind == .write }

    func uses(_ access: TaskAccess) -> [Use] { request.uses(changes: access != .reading) }
}

extension FolderRequest {
    /// - Parameter changes: false for a look at the task.
    func uses(changes: Bool) -> [Use] {
        let changes = changes && kind != .write
        guard let copies else { return [changes ? .changingAll(reference) : .readingAll(reference)] }
        return copies.flatMap { copy -> [Use] in
            let (from, to) = (copy.source, copy.target)
            let takes = changes && kind == .move
            guard copy.isObject else {
                return [takes ? .changingAll(from) : .readingAll(from), changes ? .changingAll(to) : .readingAll(to)]
            }
            return [takes ? .changing(from) : .reading(from), changes ? .changing(to) : .reading(to)]
        }
    }
}

// MARK: The params of `initialize`

/// The rights that a client keeps, as params.
struct WantedRights: Sendable {
    private let isReadOnly: Bool
    private let within: [Reference]?
    private let readable: [String]?
    private let writable: [String]?

    static let most = 100

    /// Nil if the client gives up no right.
    init?(_ params: inout Params) throws(RPCError) {
        isReadOnly = try params.optionalBool("readOnly") ?? false
        within = try params.elements("within", most: Self.most) { element throws(RPCError) in
            try element.reference("within")
        }
        readable = try params.elements("allowRead", most: Self.most) { element throws(RPCError) in
            try element.localFile("allowRead")
        }
        writable = try params.elements("allowWrite", most: Self.most) { element throws(RPCError) in
            try element.localFile("allowWrite")
        }
        guard isReadOnly || within != nil || readable != nil || writable != nil else { return nil }
    }

    /// No directory has to be found.
    var areKnown: Bool { (readable ?? []).isEmpty && (writable ?? []).isEmpty }

    func found(in files: any LocalFileAccess) async throws(StorageError) -> Rights {
        var rights = known
        if !areKnown { rights.files = try await files.confinement(reading: readable, writing: writable) }
        return rights
    }

    /// The rights, if `areKnown`.
    var known: Rights {
        let files =
            readable == nil && writable == nil
            ? nil : LocalConfinement(reading: readable.map { _ in [] }, writing: writable.map { _ in [] })
        return Rights(isReadOnly: isReadOnly, within: within, files: files)
    }
}

extension Params {
    /// Decodes an array of strings or references. Each element is decoded as the only param of its name.
    fileprivate mutating func elements<Element>(
        _ name: String, most: Int, _ decode: (inout Params) throws(RPCError) -> Element
    ) throws(RPCError) -> [Element]? {
        guard let value = take(name) else { return nil }
        guard let array = value.array, array.count <= most else {
            throw mistyped(name, "an array of at most \(most) elements", value)
        }
        var elements: [Element] = []
        for element in array {
            var params = Params([.init(key: name, value: element)])
            elements.append(try decode(&params))
        }
        return elements
    }
}

extension ConnectionContext {
    /// Confines the connection to rights that it has: a right that was given up stays so. Throws `invalidArgument` if
    /// that takes too many objects and folders to tell.
    func confine(to wanted: Rights) throws(StorageError) {
        let narrowed = rights?.narrowed(to: wanted) ?? wanted
        guard (narrowed.within ?? []).count <= WantedRights.most else {
            throw .invalidArgument("within", "The connection would be within more than \(WantedRights.most) places.")
        }
        rights = narrowed
    }

    /// The local files that the connection may use, in which directories of further rights are found.
    var files: any LocalFileAccess { transfers.engine.localFiles(of: rights?.files) }

    /// Tells which tasks the connection may know; nil if it may know all.
    func knownTasks<Snapshot: ConfinedSnapshot>() -> (@Loop (Snapshot) -> Bool)? {
        guard let rights else { return nil }
        return { rights.know($0) }
    }
}

extension Rights {
    var json: JSON {
        .object(
            .init(present: [
                "readOnly": .bool(isReadOnly),
                "allowRead": files?.reading.map { .array($0.map { .string($0.path) }) },
                "allowWrite": files?.writing.map { .array($0.map { .string($0.path) }) },
                "within": within.map { .array($0.map { .string($0.url) }) },
            ]))
    }
}
