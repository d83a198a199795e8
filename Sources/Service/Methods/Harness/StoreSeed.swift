import Harness
import JSONRPC
import JSONText
import Platform
import Storage

/// `harness/seed`: stores objects without tasks.
struct StoreSeed: HarnessMethod {
    static let name = "harness/seed"
    private static let mostGenerated: Int64 = 1_000_000
    private static let largestGenerated: Int64 = 64 << 20

    private enum Origin: Sendable {
        case directory(String, into: Reference?)
        case seed(Seed)
    }

    private let origin: Origin

    init(_ params: inout Params) throws(RPCError) {
        let directory = params.has("directory") ? try params.localFile("directory") : nil
        let into = params.has("into") ? try params.reference("into") : nil
        let objects = try params.take("objects").map { value throws(RPCError) in try Self.objects(value, params) }
        let generated = try params.take("generate").map { value throws(RPCError) in try Self.generated(value, params) }
        let given = [
            ("directory", directory != nil), ("objects", objects != nil), ("generate", generated != nil),
        ].filter(\.1).map(\.0)
        guard given.count <= 1 else { throw .invalidParam(given[1], "cannot be given with \(given[0])") }
        guard given.count == 1 else { throw .invalidParam("objects", "is needed, or directory, or generate") }
        let seeds = [objects, generated].compactMap { $0 }
        guard directory != nil || into == nil else { throw .invalidParam("into", "is for directory alone") }
        origin = directory.map { .directory($0, into: into) } ?? .seed(seeds[0])
    }

    private static func objects(_ value: JSON, _ params: Params) throws(RPCError) -> Seed {
        guard let elements = value.array else { throw params.mistyped("objects", "an array", value) }
        var objects: [Seed.Object] = []
        var positions: [Reference: Int] = [:]
        for (position, element) in elements.enumerated() {
            var members = try params.object("objects", in: element)
            let reference = try members.reference("reference")
            if let other = positions.updateValue(position, forKey: reference) {
                throw .invalidParam(
                    "objects", "has \(reference.url) twice: in objects[\(other)] and objects[\(position)]")
            }
            let (text, data) = (try members.optionalData("text"), try members.optionalData("data"))
            guard [text != nil, data != nil, members.has("file")].count(where: \.self) == 1 else {
                throw .invalidParam("objects", "must each have exactly one of text, data and file")
            }
            let content =
                members.has("file")
                ? Seed.Content.file(try members.localFile("file"))
                : .bytes(try PutData.bytes(data: data, text: text, named: members.fullName("data")))
            var object = Seed.Object(reference, content)
            if let metadata = members.take("metadata") {
                object.metadata = try MetadataChange(members.object("metadata", in: metadata))
            }
            try members.finish()
            objects.append(object)
        }
        return Seed(objects)
    }

    private static func generated(_ value: JSON, _ params: Params) throws(RPCError) -> Seed {
        var members = try params.object("generate", in: value)
        let pattern = try members.string("reference")
        let (count, size) = (try members.integer("count"), try members.integer("size"))
        try members.finish()
        guard pattern.has("{n}") || count == 1 else {
            throw .invalidParam("generate.reference", "must contain {n}, which becomes the number of the object")
        }
        guard (0...mostGenerated).contains(count), (0...largestGenerated).contains(size) else {
            throw .invalidParam(
                "generate", "must have a count from 0 to \(mostGenerated), and a size from 0 to \(largestGenerated)")
        }
        let parts = pattern.parts(between: "{n}")
        @Sendable func reference(_ number: Int) throws(StorageError) -> Reference {
            do { return try Reference(url: parts.joined(separator: "\(number)")) } catch {
                throw error.naming("generate.reference")
            }
        }
        do { _ = try reference(0) } catch { throw error.rpcError }
        return Seed(count: Int(count)) { number throws(StorageError) in
            Seed.Object(try reference(number), .generated(number: number, size: Int(size)))
        }
    }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let space = try request.space
        let seed =
            switch origin {
            case .seed(let seed): seed
            case .directory(let path, let into): try await DirectorySeed(path, into: into).seed(in: space)
            }
        let bytes = try await space.store(seed)
        return ["objects": JSON(Int64(seed.count)), "bytes": JSON(bytes)]
    }
}

/// Turns the files below a directory into objects.
private struct DirectorySeed {
    private static let threads = WorkerThreads("seed")

    let path: String
    /// The reference below which the objects are stored. Nil if the first level of directories names the buckets.
    let into: Reference?

    init(_ path: String, into: Reference?) { (self.path, self.into) = (path, into) }

    func seed(in space: any HarnessSpace) async throws -> Seed {
        try await Self.threads.run {
            Result {
                try space.checkReading(directory: path)
                return try Seed(objects())
            }
        }.get()
    }

    /// The objects, ordered by their names.
    private func objects() throws -> [Seed.Object] {
        guard (try? FileStatus(ofPath: path, followingLinks: true).kind) == .directory else {
            throw StorageError.invalidArgument("directory", "\(path) is no directory.")
        }
        var (files, directories) = ([(name: String, Reference)](), [""])
        while let directory = directories.popLast() {
            for name in try names(in: directory).map({ directory + $0 }) {
                switch try? FileStatus(ofPath: "\(path)/\(name)", followingLinks: false).kind {
                case .directory: directories.append(name + "/")
                case .regular:
                    // A wrong name is reported before errors below it.
                    files.append((name, try reference(name)))
                default:
                    let why = "\(path)/\(name) is neither a file nor a directory."
                    throw StorageError.invalidArgument("directory", why)
                }
            }
        }
        return files.sorted { $0.name < $1.name }.map { .init($0.1, .file("\(path)/\($0.name)")) }
    }

    private func names(in directory: String) throws(StorageError) -> [String] {
        do throws(SystemError) { return try OpenFile.entries(of: "\(path)/\(directory)").map(\.name) } catch {
            throw .invalidArgument("directory", "\(path) cannot be read as a directory.")
        }
    }

    private func reference(_ name: String) throws(StorageError) -> Reference {
        do { return try checkedReference(name) } catch {
            throw .invalidArgument("directory", "\(path)/\(name): \(error.message)")
        }
    }

    private func checkedReference(_ name: String) throws(StorageError) -> Reference {
        if let into {
            let prefix = into.fullPath.isEmpty ? "" : into.fullPath + "/"
            return try Reference(bucket: into.bucket, path: prefix + name)
        }
        guard let slash = name.firstIndex(of: "/") else {
            throw .invalidArgument("directory", "It is in no bucket: give into, or a directory for each.")
        }
        return try Reference(bucket: String(name[..<slash]), path: String(name[name.index(after: slash)...]))
    }
}
