import JSONText
import Methods
import Platform
import Storage
import Transfers

/// The flags of a client that the service of the root gets with the client's connection, since the service may have
/// other flags: the default bucket, the directories of local files, and the settings.
package struct Introduction: Sendable {
    /// The default bucket; nil for that of the service.
    package let bucket: String?
    /// The members of `initialize` that give up rights.
    private let rights: [JSON.Member]
    /// The params of `storage/updateSettings`; empty for the settings of the service.
    package let settings: [JSON.Member]

    /// Throws for a directory that does not exist.
    package init(_ options: ServiceOptions) throws(UsageError) {
        bucket = options.bucket ?? (options.socket == nil ? ServiceOptions.defaultBucket : nil)
        var rights: [JSON.Member] = []
        for (param, directories) in [("allowRead", options.readable), ("allowWrite", options.writable)]
        where !directories.isEmpty {
            let paths = try directories.map { (name) throws(UsageError) in
                JSON.string(try ServiceOptions.existing(name, param.asFlag))
            }
            rights.append(.init(key: param, value: .array(paths)))
        }
        self.rights = rights
        let settings = options.settings.json(TasksAtOnce()).object ?? []
        self.settings = settings.filter { options.given.contains($0.key.asFlag) }
    }

    /// The members of `initialize`.
    var members: [JSON.Member] {
        (bucket.map { [.init(key: "defaultBucket", value: .string($0))] } ?? []) + rights
    }

    /// The requests of a connection before those of its client.
    var requests: [(method: String, params: JSON)] {
        [("initialize", .object(members))]
            + (settings.isEmpty ? [] : [("storage/updateSettings", .object(settings))])
    }

    /// Whether a connection has what the introduction asks for, without one.
    ///
    /// - Parameter answer: the answer to an `initialize` without these members.
    func isNeedless(after answer: JSON) -> Bool {
        guard rights.isEmpty, settings.isEmpty else { return false }
        guard let bucket else { return true }
        return answer["defaultBucket"]?.string?.hasSameBytes(as: bucket) == true
    }

    /// The error of an `initialize` with these members. If the service may use fewer directories than the flags name, the
    /// error says so.
    func explained(_ error: any Error, at path: String) -> any Error {
        guard let failure = error as? Client.Failure, failure.isDenied, !rights.isEmpty else { return error }
        return RootInUse("the service at \(path) was started with other directories: \(failure.clause)", endedAt: path)
    }

    /// Sends the requests after `initialize`. Throws `RootInUse` if the service has not taken the default bucket,
    /// because it has an earlier version.
    ///
    /// - Parameter answer: the answer to `initialize`.
    func complete(_ client: inout Client, _ answer: JSON, at path: String) throws {
        if let bucket, case let other? = answer["defaultBucket"]?.string, !other.hasSameBytes(as: bucket) {
            throw RootInUse("the service at \(path) has the default bucket \(other), not \(bucket)", endedAt: path)
        }
        for (method, params) in requests.dropFirst() { _ = try client.call(method, params) }
    }
}

/// The root is in use by a process that does not serve this client, such as a service with other settings than the
/// client's flags.
package struct RootInUse: UserFacingError {
    package let message: String
    package let exitStatus = ExitStatus.rootInUse

    init(message: String) { self.message = message }

    /// - Parameter path: the socket of the service, which its user may end.
    init(_ reason: String, endedAt path: String) {
        message = "\(reason); storage-rpc call service/stop --socket \(path.quotedForShell) ends that one"
    }
}

extension ServiceOptions {
    /// Throws `RootInUse` if a running service has other bounds, or another durability, than the flags ask for, or was
    /// started without a flag that it would have to be started with.
    ///
    /// - Parameter answer: the answer to `initialize`.
    func checkService(_ answer: JSON, of client: inout Client, at path: String) throws {
        if let wanted = namedDurability, case let has = answer["durability"]?.string, has != wanted.rawValue {
            let has = has.map { "has --durability \($0)" } ?? "does not say its durability"
            throw RootInUse("the service at \(path) \(has), not \(wanted.rawValue)", endedAt: path)
        }
        for bound in Bound.all where given.contains(bound.flag) {
            let wanted = limits[keyPath: bound.value]
            // The limit of open files may have lowered the number of connections.
            guard let has = answer["limits"]?[bound.name]?.number?.int64, has != Int64(wanted),
                !(bound.value == \Limits.connections && has < Int64(wanted))
            else { continue }
            throw RootInUse("the service at \(path) has \(bound.flag) \(has), not \(wanted)", endedAt: path)
        }
        guard !startFlags.isEmpty else { return }
        let process = try client.call("service/status", [:])["pid"]?.number?.int64
        guard let flag = startFlag(missingIn: process.flatMap { Int32(exactly: $0) }) else { return }
        throw RootInUse("\(flag) is for a new service, but one runs already at \(path)", endedAt: path)
    }

    /// The first flag that the process of a running service was not started with.
    private func startFlag(missingIn process: Int32?) -> String? {
        guard let (words, directory) = process.flatMap(CurrentProcess.arguments),
            case .serve(let service)? = try? Command(words)
        else { return startFlags.first?.word }
        return startFlags.first { !$0.isHeeded(by: service.startFlags, in: directory) }?.word
    }

    /// The absolute path of a directory that a flag names.
    package static func existing(_ directory: String, _ flag: String) throws(UsageError) -> String {
        guard LocalTree.isDirectory(directory) else {
            let reason = FileSystem.exists(directory) ? "it is no directory" : "there is no such directory"
            throw UsageError(message: "\(flag) \(directory): \(reason)")
        }
        guard directory.utf8.first != UInt8(ascii: "/"), let present = CurrentProcess.workingDirectory else {
            return directory
        }
        return "\(present)/\(directory)"
    }
}
