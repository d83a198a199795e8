import HTTPText
import JSONText
import Platform

// The tools that change objects or files: they are offered with the flags that allow that.

extension Tool {
    static let all =
        reading + [
            download, upload, writeObject, copyObjects, moveObjects, deleteObjects, setMetadata, shareURL,
            controlTransfer,
        ]

    private static let changes: @Sendable (Permissions) -> Bool = { $0.allowsChanges }

    private static let download = Tool(
        name: "download", title: "Download to a file",
        description: "Writes an object to a local file, or with recursive a folder to a directory. An existing file is "
            + "kept unless replace is true. Answers when it is done, or after wait with the running transfer.",
        arguments: [
            .object, .path, Argument("recursive", .boolean, "all objects below the reference; path is a directory"),
            Argument("replace", .boolean, "existing files may be replaced; false by default"), .wait,
        ],
        output: Property.transfer, hints: .replacing, isOffered: { !$0.writable.isEmpty }
    ) { call in
        let arguments = call.arguments, replaces = arguments.flag("replace"), path = try call.path()
        let reference = try arguments.flag("recursive") ? call.reference() : call.object()
        let key = await call.files.key([
            "download", reference.url, path, "\(replaces)", "\(arguments.flag("recursive"))",
        ])
        if arguments.flag("recursive") {
            return try await Transfer.run(
                .folder, "reference/writeToDirectory",
                .init(present: [
                    "reference": reference.param, "directory": .string(path), "key": .string(key),
                    "ifGenerationMatch": replaces ? nil : 0,
                ]), path: path, call
            ).answer(call)
        }
        let end = try await Transfer.run(
            .download, "reference/writeToFile",
            .init(present: [
                "reference": reference.param, "file": .string(path), "key": .string(key),
                "keepExisting": replaces ? nil : true,
            ]), path: path, call)
        return try await end.orEarlier(key, of: reference, call).answer(call)
    }

    private static let upload = Tool(
        name: "upload", title: "Upload a file",
        description:
            "Stores a local file as an object, or with recursive a directory as a folder. Nothing that exists is "
            + "replaced unless ifGenerationMatch names its generation. The same call again finds its transfer.",
        arguments: [
            .path, Argument("reference", .string, "the new object, or with recursive the folder", isRequired: true),
            Argument("recursive", .boolean, "path is a directory; existing objects are kept"), .generation, .wait,
        ],
        output: Property.transfer, hints: .replacing, isOffered: { $0.allowsChanges && !$0.readable.isEmpty }
    ) { call in
        let arguments = call.arguments, path = try call.path()
        if arguments.flag("recursive") {
            try call.checkNoGeneration()
            let folder = try call.reference()
            return try await Transfer.run(
                .folder, "reference/putDirectory",
                .init(present: [
                    "reference": folder.param, "directory": .string(path), "ifGenerationMatch": 0, "changed": true,
                    "key": .string(await call.files.key(["upload all", path, folder.url])),
                ]), path: path, call
            ).answer(call)
        }
        let object = try call.target(), replaced = try call.replaced()
        let key = await call.files.key(["upload", path, object.url, replaced.text], file: path)
        let end = try await Transfer.run(
            .upload, "reference/putFile",
            .init(present: [
                "reference": object.param, "file": .string(path), "key": .string(key), "ifGenerationMatch": replaced,
            ]), path: path, call)
        return try await end.orEarlier(key, of: object, call).answer(call)
    }

    private static let writeObject = Tool(
        name: "write_object", title: "Write a small object",
        description:
            "Stores text, or bytes in Base64, of up to 1 MiB as an object. Nothing that exists is replaced unless "
            + "ifGenerationMatch names its generation.",
        arguments: [
            Argument("reference", .string, "the new object, gs://BUCKET/NAME", isRequired: true),
            Argument("text", .string, "the contents; give text or data"),
            Argument("data", .string, "the contents in Base64"),
            Argument("contentType", .string, "its media type; by default of its name"), .generation,
        ],
        output: Property.stored, hints: .replacing, isOffered: changes
    ) { call in
        let arguments = call.arguments, object = try call.target()
        let (text, data) = (arguments.string("text"), arguments.string("data"))
        guard (text == nil) != (data == nil) else { throw ToolFailure("write_object needs either text or data.") }
        let bytes = data.map { [UInt8](base64: $0)?.count }
        if case .some(nil) = bytes { throw ToolFailure("The argument data is not Base64.") }
        guard (bytes ?? text?.utf8.count) ?? 0 <= 1 << 20 else {
            throw ToolFailure("write_object takes at most 1 MiB. upload stores a file of any size.")
        }
        return try await call.store(
            object, "reference/putData",
            .init(present: [
                "reference": object.param, "text": text.map(JSON.string), "data": data.map(JSON.string),
                "metadata": arguments.string("contentType").map { ["contentType": .string($0)] },
                "ifGenerationMatch": try call.replaced(),
            ]))
    }

    private static let copyObjects = copying(
        "copy_objects", "Copy objects", "Copies an object, or with recursive a folder, with metadata", isMove: false)
    private static let moveObjects = copying(
        "move_objects", "Move or rename objects", "Moves an object, or with recursive a folder, to another name",
        isMove: true)

    private static func copying(_ name: String, _ title: String, _ what: String, isMove: Bool) -> Tool {
        Tool(
            name: name, title: title,
            description:
                "\(what). Nothing that exists is replaced unless ifGenerationMatch names the generation of the "
                + "target.",
            arguments: [
                Argument("reference", .string, "the object or folder", isRequired: true),
                Argument("to", .string, "its new reference", isRequired: true),
                Argument("recursive", .boolean, "everything below the reference; existing objects are kept"),
                .generation,
            ],
            output: Property.stored, hints: .init(isDestructive: true, isIdempotent: !isMove), isOffered: changes
        ) { call in
            if call.arguments.flag("recursive") {
                try call.checkNoGeneration()
                let (from, to) = (try call.reference(), try call.reference("to"))
                return try await Transfer.run(
                    .folder, "reference/copyAll",
                    .init(present: [
                        "reference": from.param, "to": to.param, "ifGenerationMatch": 0,
                        "move": isMove ? true : nil, "changed": isMove ? nil : true,
                        "everything": from.object.isEmpty ? true : nil,
                        "key": .string(await call.files.key([name, from.url, to.url])),
                    ]), within: Transfer.longestWait, call
                ).answer(call)
            }
            let (from, to) = (try call.object(), try call.target("to"))
            return try await call.store(
                to, isMove ? "reference/move" : "reference/copy",
                [
                    .init(key: "reference", value: from.param), .init(key: "to", value: to.param),
                    .init(key: "ifGenerationMatch", value: try call.replaced()),
                ])
        }
    }

    private static let deleteObjects = Tool(
        name: "delete_objects", title: "Delete objects",
        description:
            "Without confirm shows what would be deleted, and deletes nothing. With the confirm of that answer it "
            + "deletes exactly these objects, and nothing if any of them is different then.",
        arguments: [
            Argument("reference", .string, "the object, or with recursive the folder or bucket", isRequired: true),
            Argument("recursive", .boolean, "everything below the reference, at most 10,000 objects"),
            Argument("confirm", .string, "the confirm of the answer with the plan"),
        ],
        output: [
            .integer("wouldDelete"), .integer("bytes"), .array("names", of: ["type": "string"]), .string("confirm"),
            .integer("deleted"),
        ], hints: .replacing, isOffered: changes
    ) { call in try await Deletion.run(call) }

    private static let setMetadata = Tool(
        name: "set_metadata", title: "Change metadata",
        description: "Changes the metadata of one object: only what is given.",
        arguments: [
            .object, Argument("contentType", .string, "the media type"),
            Argument("cacheControl", .string, "how long it may be cached"),
            Argument("contentDisposition", .string, "how a browser shows it"),
            Argument("contentEncoding", .string, "how the bytes are packed, such as gzip"),
            Argument("contentLanguage", .string, "the language"),
            Argument("customMetadata", .strings, "KEY=VALUE sets an entry, KEY alone removes it"),
        ],
        output: Property.metadata, hints: .replacing, isOffered: changes
    ) { call in
        let object = try call.object(), arguments = call.arguments
        var members: [JSON.Member] = []
        for name in ["contentType", "cacheControl", "contentDisposition", "contentEncoding", "contentLanguage"] {
            if let value = arguments[name] { members.append(.init(key: name, value: value)) }
        }
        var custom: [JSON.Member] = []
        for entry in (arguments["customMetadata"]?.array ?? []).compactMap(\.string) {
            let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard !parts[0].isEmpty, !custom.contains(where: { $0.isNamed(parts[0]) }) else {
                throw ToolFailure(
                    "customMetadata needs KEY=VALUE or KEY, each key once, not \"\(entry.cut(toBytes: 100))\".")
            }
            custom.append(.init(key: parts[0], value: parts.count > 1 ? .string(parts[1]) : .null))
        }
        if !custom.isEmpty { members.append(.init(key: "customMetadata", value: .object(custom))) }
        guard !members.isEmpty else {
            throw ToolFailure("set_metadata needs something to change, such as contentType.")
        }
        let metadata = try await call.service(
            "reference/updateMetadata",
            [.init(key: "reference", value: object.param), .init(key: "metadata", value: .object(members))])
        return ToolAnswer(ToolCall.info(metadata, of: object))
    }

    private static let shareURL = Tool(
        name: "share_url", title: "Make a download URL",
        description: "Makes a URL from which anyone who has it can download the object.",
        arguments: [
            .object, Argument("expiresIn", .integer(1...604_800), "seconds until it ends; 3600 by default"),
        ],
        output: [.string("url", isRequired: true)], hints: .init(isIdempotent: false), isOffered: changes
    ) { call in
        let answer = try await call.service(
            "reference/downloadURL",
            [
                .init(key: "reference", value: try call.object().param),
                .init(key: "expiresIn", value: JSON(call.arguments.integer("expiresIn") ?? 3600)),
            ])
        return ToolAnswer(.object(.init(present: ["url": answer["url"]])))
    }

    private static let controlTransfer = Tool(
        name: "control_transfer", title: "Pause, resume or cancel a transfer",
        description: "Pauses, resumes or cancels a transfer.",
        arguments: [
            Argument("task", .string, "the id of the transfer", isRequired: true),
            Argument("action", .choice(["pause", "resume", "cancel"]), "what to do", isRequired: true),
        ],
        output: Property.transfer, hints: .replacing, isOffered: { $0.hasTransfers }
    ) { call in
        let transfer = try await Transfer.find(call.arguments.string("task") ?? "", call)
        let action = call.arguments.string("action") ?? ""
        let answer = try await call.service(transfer.method(action), [.init(key: "task", value: .string(transfer.id))])
        let now = Transfer(transfer.kind, answer["snapshot"] ?? transfer.snapshot, path: transfer.path)
        guard answer["accepted"]?.bool == true || now.isAfter(action) else {
            throw ToolFailure("The state of the transfer is \(now.state): it cannot be made to \(action).")
        }
        return ToolAnswer(now.json)
    }
}

extension Property {
    /// The metadata of a new object, or the transfer if it takes long.
    fileprivate static let stored = (metadata + transfer.filter { $0.name != "reference" }).map {
        Property($0.name, $0.schema)
    }
}

extension Argument {
    fileprivate static let path = Argument("path", .string, "the absolute path of the local file", isRequired: true)
    fileprivate static let generation = Argument(
        "ifGenerationMatch", .string, "the generation that may be replaced, as object_info shows it")
    fileprivate static let wait = Argument(
        "wait", .integer(0...50), "seconds to wait for the end; 20 by default. The transfer continues")
}

extension ToolCall {
    /// Begins an upload or a copy, waits for its end, and shows the new object.
    fileprivate func store(_ object: ObjectName, _ method: String, _ params: [JSON.Member]) async throws -> ToolAnswer {
        let end = try await Transfer.run(.upload, method, params, within: Transfer.longestWait, self)
        guard end.state == "success", let metadata = end.snapshot["metadata"] else {
            if end.state == "failed" { end.forget(link) }
            return try end.answer(self)
        }
        return ToolAnswer(Self.info(metadata, of: object))
    }
}

extension Transfer {
    /// The transfer, or the one that an earlier call with the same arguments has completed, if this one failed because of
    /// its outcome.
    @Loop fileprivate func orEarlier(_ key: String, of object: ObjectName, _ call: ToolCall) async throws -> Transfer {
        guard state == "failed", snapshot["error"]?["data"]?["name"]?.string == "preconditionFailed" else {
            return self
        }
        guard let earlier = try await earlierSuccess(key, of: object, call) else { return self }
        forget(call.link)
        return earlier
    }
}

/// The deletion of objects: a plan first, then exactly the plan.
private enum Deletion {
    private static let most = 10_000
    private static let mostNames = 20
    /// The number of concurrent requests.
    private static let atOnce = 32

    struct Victim: Sendable {
        let name: ObjectName
        let generation: String
        let size: Int64
    }

    @Loop static func run(_ call: ToolCall) async throws -> ToolAnswer {
        let arguments = call.arguments
        let victims = try await arguments.flag("recursive") ? folder(call.reference(), call) : one(call.object(), call)
        let confirm = FileTransfers.fingerprint(
            victims.map { "\($0.name.url.utf8.count):\($0.name.url)#\($0.generation)" }.joined())
        guard let given = arguments.string("confirm") else { return plan(victims, confirm, nil) }
        guard given == confirm else {
            return plan(victims, confirm, "Nothing was deleted: this is no longer what the plan said. The new plan:")
        }
        return try await delete(victims, call)
    }

    private static func plan(_ victims: [Victim], _ confirm: String, _ note: String?) -> ToolAnswer {
        var room = Room()
        let names = victims.prefix(mostNames).map { JSON.string($0.name.url) }
        var answer = ToolAnswer(
            [
                "wouldDelete": JSON(Int64(victims.count)),
                "bytes": JSON(victims.reduce(0) { $0.addingSaturated($1.size) }),
                "names": .array(Array(names.prefix { room.takes($0) })), "confirm": .string(confirm),
            ],
            note: note ?? "Nothing is deleted yet. To delete, call again with the same arguments and this confirm.")
        answer.isError = note != nil
        return answer
    }

    @Loop private static func one(_ object: ObjectName, _ call: ToolCall) async throws -> [Victim] {
        let info = try await call.info(of: object)
        return [
            Victim(
                name: object, generation: info["generation"]?.string ?? "",
                size: info["size"]?.number?.int64 ?? 0)
        ]
    }

    /// All objects below a folder, in the order of their names.
    @Loop private static func folder(_ reference: ObjectName, _ call: ToolCall) async throws -> [Victim] {
        var victims: [Victim] = [], token: JSON?
        repeat {
            let page = try await call.service(
                "reference/list",
                .init(present: [
                    "reference": reference.folder.param, "exact": true, "metadata": true, "recursive": true,
                    "pageToken": token,
                ]))
            for (item, metadata) in zip(page["items"]?.array ?? [], page["metadata"]?.array ?? []) {
                guard let name = ObjectName(item) else { continue }
                victims.append(
                    Victim(
                        name: name, generation: metadata["generation"]?.string ?? "",
                        size: metadata["size"]?.number?.int64 ?? 0))
            }
            guard victims.count <= most else {
                throw ToolFailure(
                    "There are more than \(most) objects below \(reference.folder.url): delete its folders one by one.")
            }
            token = page["pageToken"]
        } while token != nil
        guard !victims.isEmpty else { throw ToolFailure("There is no object below \(reference.folder.url).") }
        return victims
    }

    /// Deletes the generations of the plan, and stops at the first failure.
    @Loop private static func delete(_ victims: [Victim], _ call: ToolCall) async throws -> ToolAnswer {
        var deleted: Int64 = 0
        var failure: ToolFailure?
        for start in stride(from: 0, to: victims.count, by: atOnce) {
            try Task.checkCancellation()
            let tasks = victims[start..<min(start + atOnce, victims.count)].map { victim in
                Loop.task { () -> ToolFailure? in
                    do {
                        _ = try await call.service(
                            "reference/delete",
                            [
                                .init(key: "reference", value: victim.name.param),
                                .init(key: "ifGenerationMatch", value: .string(victim.generation)),
                            ])
                        return nil
                    } catch {
                        return error as? ToolFailure ?? ToolFailure("The request was cancelled.")
                    }
                }
            }
            for task in tasks {
                if let error = await task.value { failure = failure ?? error } else { deleted += 1 }
            }
            call.report?(deleted, Int64(victims.count), "\(deleted) of \(victims.count) objects deleted")
            if let failure {
                throw ToolFailure("\(deleted) of \(victims.count) objects are deleted, then: \(failure.message)")
            }
        }
        return ToolAnswer(["deleted": JSON(deleted)])
    }
}
