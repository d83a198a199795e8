import JSONText
import Platform
import Storage

/// One call of a tool, with all that the tool uses.
@Loop
final class ToolCall {
    /// Nil for a request about resources.
    private let tool: Tool?
    nonisolated let arguments: Arguments
    nonisolated let permissions: Permissions
    nonisolated let revision: Revision
    let link: ServiceLink
    let time: TimeSource
    /// The time since the call arrived.
    nonisolated let elapsed: @Sendable () -> Duration
    /// The transfers of files that this process has begun.
    let files: FileTransfers
    /// Tells the client about the progress of the call; nil if the client has not asked for that.
    let report: Report?

    typealias Report = @Loop (_ done: Int64, _ total: Int64?, _ message: String) -> Void

    init(
        _ tool: Tool?, _ arguments: Arguments, _ permissions: Permissions, _ revision: Revision, _ link: ServiceLink,
        _ time: TimeSource, _ files: FileTransfers, report: Report?
    ) {
        self.tool = tool
        (self.arguments, self.permissions, self.revision) = (arguments, permissions, revision)
        (self.link, self.time, self.files, self.report) = (link, time, files, report)
        elapsed = time.clock.stopwatch()
    }

    /// Calls the service. An error becomes a sentence with the next step.
    func service(_ method: String, _ params: [JSON.Member]) async throws -> JSON {
        do {
            return try await link.call(method, .object(params))
        } catch let failure as ServiceFailure {
            throw explained(failure)
        }
    }

    func explained(_ failure: ServiceFailure) -> ToolFailure {
        ToolFailure(failure.message + nextStep(failure.name), failure.name)
    }

    func nextStep(_ error: String?) -> String {
        switch error {
        case "objectNotFound": return " list_objects shows what exists."
        case "preconditionFailed":
            if has("ifGenerationMatch") {
                return " Nothing that exists is replaced without its generation: object_info shows it, and "
                    + "ifGenerationMatch names it."
            }
            if has("replace") { return " replace true replaces an existing file." }
            return has("confirm") ? " Call again without confirm for a new plan." : ""
        case "unauthorized":
            let places = [
                permissions.within.isEmpty ? nil : "objects: \(permissions.within.joined(separator: ", "))",
                permissions.readable.isEmpty ? nil : "files to upload: \(permissions.readable.joined(separator: ", "))",
                permissions.writable.isEmpty ? nil : "files to write: \(permissions.writable.joined(separator: ", "))",
            ].compactMap(\.self)
            return places.isEmpty ? "" : " Allowed are: \(places.joined(separator: "; "))."
        default: return ""
        }
    }

    private func has(_ argument: String) -> Bool { tool?.arguments.contains { $0.name == argument } ?? false }

    /// How an object comes to a file.
    nonisolated var wayToFile: String {
        permissions.writable.isEmpty
            ? "To have it as a file, download is needed, which the flag --allow-write DIR of storage-rpc mcp allows."
            : "download fetches it to a file."
    }

    /// The reference of an argument. Names are taken as they are, so that every listed one can be passed.
    nonisolated func reference(_ name: String = "reference") throws(ToolFailure) -> ObjectName {
        let text = arguments.string(name) ?? ""
        guard let reference = ObjectName(reference: text) else {
            throw ToolFailure("The argument \(name) must be gs://BUCKET/NAME, not \"\(text.cut(toBytes: 200))\".")
        }
        return reference
    }

    /// The reference of an argument that must name one object.
    nonisolated func object(_ name: String = "reference") throws(ToolFailure) -> ObjectName {
        let reference = try reference(name)
        guard !reference.object.isEmpty else {
            throw ToolFailure("The argument \(name) names a bucket: add the name of an object.")
        }
        return reference
    }

    /// The reference of an argument that names an object to be written.
    nonisolated func target(_ name: String = "reference") throws(ToolFailure) -> ObjectName {
        let reference = try object(name)
        guard reference.object.utf8.last != UInt8(ascii: "/") else {
            throw ToolFailure("The argument \(name) names a folder: add the name of the object after the slash.")
        }
        return reference
    }

    /// The absolute path of an argument.
    nonisolated func path() throws(ToolFailure) -> String {
        let path = arguments.string("path") ?? ""
        guard path.utf8.first == UInt8(ascii: "/") else {
            throw ToolFailure("The argument path must be an absolute path, not \"\(path.cut(toBytes: 200))\".")
        }
        return path
    }

    /// The generation that a write may replace, as a param. Without one nothing is replaced.
    nonisolated func replaced() throws(ToolFailure) -> JSON {
        guard let text = arguments.string("ifGenerationMatch") else { return "0" }
        guard let generation = Int64(text), generation >= 0 else {
            throw ToolFailure(
                "The argument ifGenerationMatch must be the digits of a generation: object_info shows it.")
        }
        return .string(String(generation))
    }

    /// Throws if `ifGenerationMatch` is given for a folder.
    nonisolated func checkNoGeneration() throws(ToolFailure) {
        guard arguments["ifGenerationMatch"] == nil else {
            throw ToolFailure("ifGenerationMatch is for one object: call again without it, or without recursive.")
        }
    }
}

/// The bucket and the exact name of an object or a folder; the name is empty for the bucket.
struct ObjectName: Equatable, Sendable {
    let bucket: String
    let object: String

    /// Nil unless the text is `gs://BUCKET`, `gs://BUCKET/` or `gs://BUCKET/NAME`.
    init?(reference text: String) {
        guard text.utf8.starts(with: "gs://".utf8) else { return nil }
        let rest = text.utf8.dropFirst(5), slash = rest.firstIndex(of: UInt8(ascii: "/"))
        bucket = String(decoding: rest[..<(slash ?? rest.endIndex)], as: UTF8.self)
        object = slash.map { String(decoding: rest[rest.index(after: $0)...], as: UTF8.self) } ?? ""
        guard !bucket.isEmpty else { return nil }
    }

    init(bucket: String, object: String) { (self.bucket, self.object) = (bucket, object) }

    /// Nil unless the value is a reference of the service.
    init?(_ value: JSON?) {
        guard let value, let bucket = value["bucket"]?.string,
            let object = value["object"]?.string ?? value["fullPath"]?.string
        else { return nil }
        self.init(bucket: bucket, object: object)
    }

    static func == (a: Self, b: Self) -> Bool {
        a.bucket.utf8.elementsEqual(b.bucket.utf8) && a.object.utf8.elementsEqual(b.object.utf8)
    }

    var url: String { "gs://\(bucket)/\(object)" }
    /// The param of the service.
    var param: JSON {
        object.isEmpty
            ? ["bucket": .string(bucket), "fullPath": ""] : ["bucket": .string(bucket), "object": .string(object)]
    }
    /// The beginning of the names below a folder.
    var prefix: String { object.isEmpty || object.utf8.last == UInt8(ascii: "/") ? object : object + "/" }
    var folder: ObjectName { ObjectName(bucket: bucket, object: prefix) }
    var isFolder: Bool { object.isEmpty || object.utf8.last == UInt8(ascii: "/") }
}
