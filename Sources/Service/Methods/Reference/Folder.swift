import JSONRPC
import JSONText
import Platform
import Storage
import Transfers

/// A method that starts a task over a folder.
protocol FolderMethod: ReferenceMethod where Result == Started<FolderTask> {
    var folder: FolderOptions { get }
}

extension FolderMethod {
    var reference: Reference { folder.request.reference }
    var uses: [Use] { folder.request.uses(changes: true) }

    func run(in request: Request<ConnectionContext>) async throws -> Started<FolderTask> {
        let context = request.context
        return try await folder.start.startOrGoOn(in: request) {
            try await context.transfers.keyedFolder(folder.request, for: context.client)
        }
    }

    @Loop func didReply(_ started: Started<FolderTask>, in context: ConnectionContext) {
        started.didReply(in: context)
    }
}

/// The params of a task over a folder.
struct FolderOptions: Sendable {
    fileprivate(set) var request: FolderRequest
    let start: StartOptions

    init(_ kind: FolderRequest.Kind, _ params: inout Params) throws(RPCError) {
        let reference = try params.reference("reference")
        request = FolderRequest(kind, reference)
        let (hasDirectory, isWritten) = (kind == .put || kind == .write, kind != .delete)
        if hasDirectory { request.directory = try params.localFile("directory").withoutFinalSlashes }
        if kind.isCopy { request.copies = try params.copies(of: reference) }
        request.include = try params.patterns("include")
        request.exclude = try params.patterns("exclude")
        request.isDryRun = try params.optionalBool("dryRun") ?? false
        if isWritten {
            request.onlyChanged = try params.optionalBool("changed") ?? false
            request.keepsExisting = try params.noClobber()
        }
        if hasDirectory {
            request.trustsTimes = try params.trustTimes(ifSo: request.onlyChanged)
            request.deletesOthers = try params.optionalBool("delete") ?? false
        }
        request.keepsItems = try params.optionalBool("keepItems")
        request.key = try params.taskKey()
        request.atOnce = try params.atOnce()
        if !hasDirectory { request.refreshes = try params.refresh(request) }
        if kind == .put { request.metadata = try params.folderMetadata() }
        start = try StartOptions(&params)
    }
}

/// `reference/putDirectory`: uploads a local directory below a reference.
struct PutDirectory: FolderMethod {
    static let name = "reference/putDirectory"

    let folder: FolderOptions

    init(_ params: inout Params) throws(RPCError) { folder = try FolderOptions(.put, &params) }
}

/// `reference/writeToDirectory`: downloads everything below a reference to a local directory.
struct WriteToDirectory: FolderMethod {
    static let name = "reference/writeToDirectory"

    let folder: FolderOptions

    init(_ params: inout Params) throws(RPCError) { folder = try FolderOptions(.write, &params) }
}

/// `reference/deleteAll`: deletes everything below a reference.
struct DeleteAll: FolderMethod {
    static let name = "reference/deleteAll"

    let folder: FolderOptions

    init(_ params: inout Params) throws(RPCError) {
        let isEverything = try params.optionalBool("everything") ?? false
        folder = try FolderOptions(.delete, &params)
        try folder.check(isEverything, "empty it")
    }
}

/// `reference/copyAll`: copies or moves what is below a reference.
struct CopyAll: FolderMethod {
    static let name = "reference/copyAll"

    let folder: FolderOptions

    init(_ params: inout Params) throws(RPCError) {
        let isEverything = try params.optionalBool("everything") ?? false
        let isMove = try params.optionalBool("move") ?? false
        folder = try FolderOptions(isMove ? .move : .copy, &params)
        guard !isMove || !folder.request.onlyChanged else {
            throw .invalidParam("changed", "cannot be given with move: an unchanged object would stay")
        }
        try folder.check(isEverything, "\(isMove ? "move" : "copy") all of it")
    }
}

extension FolderOptions {
    /// Throws where a whole bucket is taken, and the client has not said that it means that.
    fileprivate func check(_ isEverything: Bool, _ purpose: String) throws(RPCError) {
        let folders = request.copies?.filter { !$0.isObject }.map(\.source) ?? [request.reference]
        guard !isEverything, let root = folders.first(where: \.isRoot) else { return }
        throw StorageError.invalidArgument(
            "reference", "The reference is the root of bucket \(root.bucket): everything must be true to \(purpose)."
        ).rpcError
    }
}

extension Params {
    /// What is copied or moved, and to where.
    fileprivate mutating func copies(of reference: Reference) throws(RPCError) -> [FolderCopy] {
        let target = try self.reference("to")
        var copies = [FolderCopy(reference, to: target)]
        let others = take("others")
        guard let elements = (others ?? []).array, elements.count < FolderCopy.most else {
            throw mistyped("others", "an array of fewer than \(FolderCopy.most) objects", others ?? .null)
        }
        for element in elements {
            var members = try object("others", in: element)
            let source = try members.reference("reference"), to = try members.reference("to")
            let isObject = try members.optionalBool("isObject") ?? false
            try members.finish()
            guard to.bucket.hasSameBytes(as: target.bucket) else {
                throw .invalidParam("others", "must be copied to bucket \(target.bucket), not to \(to.url)")
            }
            guard !isObject || !source.isRoot && !to.isRoot else {
                throw .invalidParam("others", "names the root of a bucket as an object")
            }
            copies.append(FolderCopy(source, to: to, isObject: isObject))
        }
        return copies
    }

    private static var mostPatterns: Int { 100 }

    /// Decodes patterns of files.
    fileprivate mutating func patterns(_ name: String) throws(RPCError) -> [String] {
        guard let value = take(name) else { return [] }
        guard let elements = value.array, elements.count <= Self.mostPatterns else {
            throw mistyped(name, "an array of at most \(Self.mostPatterns) patterns", value)
        }
        var patterns: [String] = []
        for element in elements {
            guard let text = element.string, !text.isEmpty, text.utf8.count <= Reference.maxPathBytes else {
                throw mistyped(name, "an array of patterns of 1 to \(Reference.maxPathBytes) bytes", value)
            }
            do throws(Glob.Invalid) { try FolderFilter.check(text) } catch {
                throw .invalidParam(name, "has \"\(text)\", which \(error.reason)")
            }
            patterns.append(text)
        }
        return patterns
    }

    fileprivate mutating func trustTimes(ifSo comparesFiles: Bool) throws(RPCError) -> Bool? {
        guard let trusts = try optionalBool("trustTimes") else { return nil }
        guard comparesFiles || !trusts else {
            throw .invalidParam("trustTimes", "needs \"changed\": nothing is compared")
        }
        return trusts
    }

    fileprivate mutating func refresh(_ request: FolderRequest) throws(RPCError) -> Bool? {
        guard let refreshes = try optionalBool("refresh") else { return nil }
        guard !refreshes || request.key != nil else { throw .invalidParam("refresh", "needs \"key\"") }
        guard !refreshes || !request.isDryRun else {
            throw .invalidParam(
                "refresh", "cannot be given with dryRun: nothing is \(request.kind.isCopy ? "copied" : "deleted")")
        }
        return refreshes
    }

    fileprivate mutating func atOnce() throws(RPCError) -> Int? {
        guard let count = try optionalInteger("atOnce") else { return nil }
        let range = FolderRequest.atOnceRange
        guard let exact = Int(exactly: count), range.contains(exact) else {
            throw .invalidParam("atOnce", "must be from \(range.lowerBound) to \(range.upperBound), not \(count)")
        }
        return exact
    }

    /// Decodes `ifGenerationMatch`, for which folders accept only 0.
    fileprivate mutating func noClobber() throws(RPCError) -> Bool {
        guard let generation = try version("ifGenerationMatch") else { return false }
        guard generation == 0 else { throw .invalidParam("ifGenerationMatch", "must be 0: nothing is replaced then") }
        return true
    }

    /// The metadata of each uploaded object.
    fileprivate mutating func folderMetadata() throws(RPCError) -> SettableMetadata {
        guard let change = try uploadMetadata() else { return SettableMetadata() }
        guard change.md5Hash == nil else {
            throw .invalidParam("metadata.md5Hash", "is that of one file, so it cannot be that of all")
        }
        var metadata = SettableMetadata()
        do throws(StorageError) { try metadata.apply(change) } catch { throw error.rpcError }
        return metadata
    }
}

extension String {
    /// The path without slashes at its end; `/` stays unchanged.
    fileprivate var withoutFinalSlashes: String {
        let slash = UInt8(ascii: "/")
        guard let end = utf8.lastIndex(where: { $0 != slash }) else { return "/" }
        return String(decoding: utf8[...end], as: UTF8.self)
    }
}
