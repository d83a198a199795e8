import JSONText
import Storage

// The names on a command line: references, patterns, and folders with everything below them.

extension ClientCommandRunner {
    /// The reference of a URL, or of a path in the default bucket; nil names that bucket. Throws for a text that is
    /// probably neither, even if the service would accept it as a path.
    func reference(_ text: String?) throws -> Reference {
        guard let text else { return try reference([:]) }
        try Self.check(text, isExact: options.isExact)
        if options.isExact { return try exactReference(text) }
        let isURL = Self.isURL(text)
        let reference = try reference([isURL ? "url" : "path": .string(text)])
        if !isURL || text.utf8.starts(with: "gs://".utf8) { try checkEmptyNames(text, reference) }
        return reference
    }

    /// `a//b` means `a/b`. Throws if an object or a folder with exactly the name `a//b` exists, since the text is then
    /// ambiguous.
    private func checkEmptyNames(_ text: String, _ reference: Reference) throws {
        let end = text.utf8.reversed().prefix { $0 == UInt8(ascii: "/") }.count
        let exact = try exactReference(String(decoding: text.utf8.dropLast(end), as: UTF8.self))
        guard exact != reference, !exact.isRoot, try isThere(exact) || isFolder(exact) else { return }
        throw UsageError(
            message: "\"\(text)\" may be \(reference.url), and there is \(exact.url), too, which --exact names")
    }

    private func exactReference(_ text: String) throws -> Reference {
        guard text.utf8.starts(with: "gs://".utf8) else {
            return try reference([Self.isURL(text) ? "url" : "object": .string(text)])
        }
        let rest = text.utf8.dropFirst(5)
        guard let slash = rest.firstIndex(of: UInt8(ascii: "/")), case let object = rest[slash...].dropFirst(),
            !object.isEmpty
        else { return try reference(["url": .string(text)]) }
        func part(_ bytes: Substring.UTF8View) -> JSON { .string(String(decoding: bytes, as: UTF8.self)) }
        return try reference(["bucket": part(rest[..<slash]), "object": part(object)])
    }

    private func reference(_ params: JSON) throws -> Reference {
        do { return try Reference(client.call("storage/reference", params)) } catch let failure as Client.Failure
            where ["pathError", "invalidArgument"].contains(failure.name)
        {
            throw failure.ofWords
        }
    }

    static func isURL(_ text: String) -> Bool {
        ["gs://", "http://", "https://"].contains { text.utf8.starts(with: $0.utf8) }
    }

    static func check(_ text: String, isExact: Bool) throws(UsageError) {
        guard !isExact else { return }
        let hint = "REFERENCE is gs://BUCKET/PATH, or a PATH in the default bucket"
        let isURL = isURL(text), isGSURL = text.utf8.starts(with: "gs://".utf8)
        let path = isGSURL ? text.utf8.dropFirst(5).drop { $0 != UInt8(ascii: "/") } : text.utf8[...]
        let segments = path.split(separator: UInt8(ascii: "/"))
        // An http URL names its object exactly.
        if isGSURL || !isURL,
            segments.contains(where: { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) })
        {
            throw UsageError(
                message: "\"\(text)\" is no reference: . and .. are no names here, unless with --exact; \(hint)")
        }
        guard !isURL else { return }
        if let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            text.utf8[colon...].dropFirst().first == UInt8(ascii: "/"),
            text.utf8[..<colon].allSatisfy({
                ($0 | 0x20) >= UInt8(ascii: "a") && ($0 | 0x20) <= UInt8(ascii: "z") || (0x30...0x39).contains($0)
            })
        {
            throw UsageError(message: "\"\(text)\" is no reference: \(hint)")
        }
        if segments.isEmpty {
            throw UsageError(message: "\"\(text)\" is no reference: a whole bucket is gs://BUCKET; \(hint)")
        }
    }

    /// The text ends with a slash and so names a folder, never an object. Exact names are taken literally.
    func namesFolder(_ text: String) -> Bool { !options.isExact && text.utf8.last == UInt8(ascii: "/") }

    /// The object that a text names.
    func object(_ text: String) throws -> Reference { try checkedAsObject(reference(text), text) }

    private func checkedAsObject(_ object: Reference, _ text: String) throws -> Reference {
        if object.isRoot { throw Client.Failure("\(text) is a bucket: \(contentsHint(text))").ofWords }
        if namesFolder(text) { throw folderFailure(text).ofWords }
        return object
    }

    /// What a text names: one object, all that match a pattern, and with `-r` folders with all below them.
    ///
    /// - Parameter walks: false if folders are taken as a whole, without a list of what is in them.
    func sources(_ text: String, walks: Bool) throws -> [CopySource<Reference>] {
        if let pattern = try pattern(text) { return try matches(pattern, text, walks: walks) }
        var reference = try reference(text)
        try checkWholeBucket(reference, text)
        guard options.isRecursive else {
            return [CopySource(name: reference.lastName, itself: try checkedAsObject(reference, text))]
        }
        reference = try folder(text) ?? reference
        var source = try tree(reference, name: reference.folderName, walks: walks)
        // What a filter leaves out is there.
        let isEmpty = try walks && !hasFilter ? source.items.isEmpty : !isFolder(reference, needsBucket: true)
        if !namesFolder(text), reference.object.utf8.last != UInt8(ascii: "/"), try isThere(reference) {
            let itself = filter.takes(reference.lastName) ? reference : nil
            if isEmpty { return [CopySource(name: reference.lastName, itself: itself)] }
            source.itself = itself
        }
        guard reference.isRoot || !isEmpty else { throw nothing(at: reference) }
        return [source]
    }

    /// Only `gs://BUCKET` means all objects of a bucket: `$UNSET/` or `gs://BUCKET/$UNSET` with an unset variable must
    /// not.
    func checkWholeBucket(_ reference: Reference, _ text: String) throws(UsageError) {
        guard reference.isRoot, !text.hasSameBytes(as: "gs://\(reference.bucket)") else { return }
        throw UsageError(
            message: "\"\(text)\" names no object; the whole bucket is gs://\(reference.bucket), without a slash")
    }

    /// The folder of a text that ends with an empty name: `docs/$UNSET/` with an unset variable must not mean `docs/`.
    /// Nil for any other text; throws if no object begins with exactly this name.
    func folder(_ text: String) throws -> Reference? {
        guard text.hasEmptyEnd, !options.isExact, !Self.isURL(text) || text.utf8.starts(with: "gs://".utf8) else {
            return nil
        }
        let folder = try exactReference(text)
        guard try isFolder(folder) else {
            let shorter = text.utf8.reversed().drop { $0 == UInt8(ascii: "/") }.count
            let other = String(decoding: text.utf8.prefix(shorter + 1), as: UTF8.self)
            throw Client.Failure.nothing(
                "\"\(text)\" ends with an empty name, and nothing begins with it; the folder is \(other)")
        }
        return folder
    }

    private func tree(_ folder: Reference, name: String, walks: Bool) throws -> CopySource<Reference> {
        if !walks {
            return CopySource(name: name, tree: folder)
        }
        var source = CopySource<Reference>(name: name)
        try walk(folder) { object, _ in source.members.append(try Reference(object)) }
        return source
    }

    /// Nil for a text without special characters, and for the name of an object or a folder. A segment that is the name
    /// of a folder means only that folder, if all segments before it are names, too.
    func pattern(_ text: String) throws -> NamePattern? {
        guard !options.isExact, var pattern = NamePattern(text) else { return nil }
        if let literal = try literal(text), try !namesFolder(text) && isThere(literal) || isFolder(literal) {
            return nil
        }
        guard text.utf8.first != UInt8(ascii: "/"), pattern.folder != "gs://" else {
            throw UsageError(message: "\"\(text)\" is no pattern: it begins with a name, or with gs://BUCKET/")
        }
        while let name = pattern.possibleFolder, let folder = try literal(name), try isFolder(folder) {
            guard let rest = NamePattern(text, after: name) else { return nil }
            pattern = rest
        }
        return pattern
    }

    /// Nil for a pattern that is no valid name of an object.
    private func literal(_ text: String) throws -> Reference? {
        do { return try reference(text) } catch let failure as Client.Failure where failure.isAnswer { return nil }
    }

    private func matches(_ pattern: NamePattern, _ text: String, walks: Bool) throws -> [CopySource<Reference>] {
        if pattern.isOfFolders, !options.isRecursive { throw folderFailure(text).ofWords }
        guard !text.hasEmptyEnd else {
            throw UsageError(message: "\"\(text)\" is no pattern: it ends with an empty name")
        }
        let glob = try pattern.glob()
        let matcher = glob.matcher
        var sources: [CopySource<Reference>] = [], leavesOut = false
        func enters(_ folder: Reference, _ name: String) throws -> Bool {
            guard filter.mayEnter(name) else { return false }
            guard matcher.matches(name), options.isRecursive || !glob.crossesFolders else {
                return matcher.mayMatchBelow(name)
            }
            guard options.isRecursive else {
                leavesOut = true
                fail("\(folder.folderURL) is a folder, and left out: \(contentsHint(folder.folderURL))")
                return false
            }
            var tree = try tree(folder, name: glob.crossesFolders ? name : folder.folderName, walks: walks)
            tree.isMatch = true
            sources.append(tree)
            return false
        }
        let start = try pattern.folder.flatMap(folder) ?? reference(pattern.folder)
        try walk(start, enters: enters) { item, name in
            guard !pattern.isOfFolders, matcher.matches(name), filter.takes(name) else { return }
            let object = try Reference(item)
            let name = glob.crossesFolders ? name : object.lastName
            var source = CopySource(name: name, itself: object)
            source.isMatch = true
            sources.append(source)
            if let size = item["metadata"]?["size"]?.number?.int64, size <= Self.largestWhole {
                smallObjects.insert(object)
            }
        }
        if sources.isEmpty {
            let what = leavesOut ? "only folders match" : "nothing matches"
            throw Client.Failure.nothing("\(what) \(text)")
        }
        return sources
    }

    /// Whether an object with exactly this name exists.
    func isThere(_ object: Reference) throws -> Bool { try !object.isRoot && found(object) != nil }

    /// The metadata of the object with exactly this name; nil if none exists.
    func found(_ object: Reference) throws -> JSON? {
        do { return try client.call("reference/getMetadata", ["reference": object.json]) } catch let failure
            as Client.Failure where failure.isNotFound
        {
            return nil
        }
    }

    /// Throws the error of the service if no object with exactly this name exists.
    func checkThere(_ object: Reference) throws {
        _ = try client.call("reference/getMetadata", ["reference": object.json])
    }

    /// Whether objects exist below the reference.
    ///
    /// - Parameter needsBucket: throws if the bucket does not exist.
    func isFolder(_ reference: Reference, needsBucket: Bool = false) throws -> Bool {
        let params: JSON = ["reference": reference.json, "exact": true, "maxResults": 1]
        let page = try client.call("reference/list", params)
        if needsBucket { try checkBucket(of: reference, page) }
        return page["items"]?.array?.isEmpty == false || page["prefixes"]?.array?.isEmpty == false
    }

    func nothing(at reference: Reference) -> Client.Failure {
        .nothing("there is nothing at \(reference.url)")
    }

    /// The error of a command for objects, if the name is that of a folder.
    func explained(_ error: any Error, of command: ClientCommand) -> any Error {
        guard error is CopyRefusal || (error as? Client.Failure)?.isNotFound == true, !options.isRecursive,
            !options.isExact, let texts = command.objects, texts.count == 1, let folder = try? reference(texts[0]),
            (try? isFolder(folder) && !isThere(folder)) == true
        else { return error }
        return folderFailure(texts[0])
    }

    private func folderFailure(_ text: String) -> Client.Failure {
        Client.Failure(message: "\(text) is a folder: \(contentsHint(text))", isAnswer: true)
    }

    private func contentsHint(_ text: String) -> String {
        let folder = text.utf8.last == UInt8(ascii: "/") ? text : text + "/"
        let pattern = (folder + "*").quotedForShell
        return takesTrees ? "-r takes all that is in it" : "\(pattern) is what is in it"
    }

    var hasFilter: Bool { !options.include.isEmpty || !options.exclude.isEmpty }

    /// Passes all objects below a folder that the filter takes to `body`, page by page, with the rest of the name of each:
    /// sorted by the bytes of their names.
    func walk(_ folder: Reference, _ body: (_ object: JSON, _ name: String) throws -> Void) throws {
        let start = folder.prefix.utf8.count
        try pages(folder, exact: true, isRecursive: true) { _, items in
            for item in items {
                let name = String(item.exactName.utf8.dropFirst(start)) ?? ""
                if filter.takes(name) { try body(item, name) }
            }
        }
    }

    /// Passes the objects below a folder to `body`, folder by folder, with the rest of the name of each.
    ///
    /// - Parameter enters: says whether a folder below is looked into; it is passed the rest of its name without a slash.
    func walk(
        _ folder: Reference, enters: (_ folder: Reference, _ name: String) throws -> Bool,
        _ body: (_ object: JSON, _ name: String) throws -> Void
    ) throws {
        let start = folder.prefix.utf8.count
        func rest(_ name: String) -> Substring.UTF8View { name.utf8.dropFirst(start) }
        var waiting = [folder]
        while let folder = waiting.popLast() {
            var children: [Reference] = []
            try pages(folder, exact: true) { prefixes, items in
                for item in items { try body(item, String(rest(item.exactName)) ?? "") }
                for prefix in prefixes {
                    let child = try Reference(prefix)
                    if try enters(child, String(rest(child.prefix).dropLast()) ?? "") { children.append(child) }
                }
            }
            waiting += children.reversed()
        }
    }

    /// Throws for a missing bucket. The default bucket exists even without objects.
    private func checkBucket(of folder: Reference, _ page: JSON) throws {
        guard page["bucketExists"] == false, try !reference(String?.none).bucket.hasSameBytes(as: folder.bucket) else {
            return
        }
        throw Client.Failure.nothing("there is no bucket gs://\(folder.bucket)")
    }

    /// Passes the direct children of a folder, or everything below it, page by page.
    func pages(
        _ folder: Reference, exact: Bool, isRecursive: Bool = false,
        _ body: (_ prefixes: [JSON], _ items: [JSON]) throws -> Void
    ) throws {
        var token: JSON?
        repeat {
            let params: [JSON.Member] =
                [.init(key: "reference", value: folder.json)] + (exact ? [.init(key: "exact", value: true)] : [])
                + (isRecursive ? [.init(key: "recursive", value: true)] : [])
                + (token.map { [.init(key: "pageToken", value: $0)] } ?? [])
                + (listsMetadata ? [.init(key: "metadata", value: true)] : [])
            let page = try client.call("reference/list", .object(params))
            try checkBucket(of: folder, page)
            token = page["pageToken"]
            var items = page["items"]?.array ?? []
            if let metadata = page["metadata"]?.array {
                items = zip(items, metadata).map { .object(($0.object ?? []) + [.init(key: "metadata", value: $1)]) }
            }
            try body(page["prefixes"]?.array ?? [], items)
        } while token != nil
    }
}

extension String {
    /// The text ends with more than one slash.
    fileprivate var hasEmptyEnd: Bool { utf8.suffix(2).elementsEqual("//".utf8) && utf8.count > 2 }
}

extension JSON {
    /// The exact name in a reference.
    var exactName: String { self["object"]?.string ?? self["fullPath"]?.string ?? "" }
    var lastName: String { self["name"]?.string ?? "" }
    /// `gs://BUCKET/NAME`, for people.
    var title: String { "gs://\(self["bucket"]?.string ?? "")/\(exactName)" }

    /// The members of a request that name the object.
    var exactReference: JSON { ["bucket": self["bucket"] ?? "", "object": .string(exactName)] }

    /// The prefix of the names of the folder's children.
    var folderPrefix: String {
        let name = exactName
        return name.isEmpty || name.utf8.last == UInt8(ascii: "/") ? name : name + "/"
    }
}

extension Reference {
    /// Decodes a reference of the service.
    init(_ json: JSON) throws {
        do throws(StorageError) {
            let (bucket, name) = (json["bucket"]?.string ?? "", json.exactName)
            self = try name.isEmpty ? Reference(bucket: bucket, path: "") : Reference(bucket: bucket, object: name)
        } catch {
            throw Client.Failure("the service named what is no object: \(error.message)")
        }
    }

    var json: JSON {
        isRoot
            ? ["bucket": .string(bucket), "fullPath": ""] : ["bucket": .string(bucket), "object": .string(object)]
    }

    /// The text after the last slash, including slashes at the end of the name.
    var lastName: String {
        let slash = UInt8(ascii: "/")
        guard let last = object.utf8.lastIndex(where: { $0 != slash }),
            let before = object.utf8[...last].lastIndex(of: slash)
        else { return object }
        return String(object.utf8[before...].dropFirst()) ?? ""
    }

    /// The URL of the folder, with a slash at its end.
    var folderURL: String { "gs://\(bucket)/\(prefix)" }

    /// The name as a folder; empty for a bucket.
    var folderName: String {
        let name = lastName
        return name.utf8.last == UInt8(ascii: "/") ? String(name.utf8.dropLast()) ?? "" : name
    }
}

extension Client.Failure {
    var isNotFound: Bool { code == -13010 }
    var isCancellation: Bool { code == -13040 }
    var isPrecondition: Bool { code == -13412 }
    /// The request means nothing that can be done.
    var isRefusal: Bool { code == -13050 }
    /// Another client has forgotten the task.
    var isUnknownTask: Bool { isRefusal && param == "task" }
    func isAbout(_ object: Reference) -> Bool {
        reference?["bucket"]?.string?.hasSameBytes(as: object.bucket) == true
            && reference?["object"]?.string?.hasSameBytes(as: object.object) == true
    }
    /// The caller may write objects without being allowed to read others.
    var isDenied: Bool { code == -13020 || code == -13021 }
}
