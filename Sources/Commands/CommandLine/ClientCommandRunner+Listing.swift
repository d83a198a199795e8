import JSONText
import Methods
import Platform
import Storage

// `storage-rpc ls` and `du`.

extension ClientCommandRunner {
    /// Lists one name per line as pages arrive. A reference to an object lists the object itself.
    func list(_ texts: [String]) throws {
        var shown = Shown()
        guard !texts.isEmpty else {
            try list(reference(String?.none), isFolder: true, isExact: options.isExact, &shown)
            return try showTotal(shown)
        }
        // Buckets have no sizes to sum up.
        if texts == ["gs://"] { return try listBuckets() }
        for text in texts {
            shown.heading = nil
            shown.isAnyOfWord = false
            try attempt(orFail: texts.count == 1) {
                if text == "gs://" { return try self.listBuckets() }
                if let pattern = try self.pattern(text) { return try self.list(pattern, text, &shown) }
                if texts.count > 1 { shown.heading = text }
                if let folder = try self.folder(text) {
                    return try self.list(folder, isFolder: true, isExact: true, &shown)
                }
                try self.list(
                    self.reference(text), isFolder: self.namesFolder(text), isExact: self.options.isExact, &shown)
            }
        }
        try showTotal(shown)
    }

    /// The totals of the list so far.
    private struct Shown {
        var (objects, folders, bytes): (Int, Int, Int64) = (0, 0, 0)
        /// The present word has matched something.
        var isAnyOfWord = false
        /// The heading above the next folder: the word that names it, if there are several.
        var heading: String?
    }

    private typealias ListedObject = (object: JSON, name: String)
    /// A part of a list: folders and objects with the names to show.
    private typealias ListedPage = (folders: [ListedObject], objects: [ListedObject])

    private func listBuckets() throws {
        guard !options.isRecursive else { throw UsageError(message: "-r lists one bucket: gs://BUCKET") }
        for bucket in try client.call("storage/buckets", .object([]))["buckets"]?.array ?? [] {
            if options.json {
                try Console.print(["kind": "bucket", "bucket": bucket] as JSON)
            } else {
                try Console.print("\("gs://\(bucket.string ?? "")", .folder)" as StyledText)
            }
        }
    }

    /// - Parameter isFolder: lists no object of this name.
    private func list(_ reference: Reference, isFolder: Bool, isExact: Bool, _ shown: inout Shown) throws {
        listsMetadata = options.isLong || options.json
        if options.isRecursive {
            try listAll(&shown) { tell in try walk(reference) { try tell($0, $1, false) } }
        } else {
            try pages(reference, exact: isExact) { folders, objects in
                let folders = folders.map { ($0, isExact ? $0.folderPrefix : $0.lastName + "/") }
                try show((folders, objects.map { ($0, isExact ? $0.exactName : $0.lastName) }), &shown)
            }
        }
        guard !reference.isRoot, options.isRecursive || !shown.isAnyOfWord else { return }
        if !isFolder, reference.object.utf8.last != UInt8(ascii: "/"), filter.takes(reference.lastName),
            try isThere(reference)
        {
            let name = isExact ? reference.object : reference.lastName
            if !shown.isAnyOfWord, let heading = shown.heading {
                shown.heading = nil
                return try show(([], [(reference.result, heading)]), &shown)
            }
            try show(([], [(reference.result, name)]), &shown)
        }
        guard try shown.isAnyOfWord || hasFilter && isFolderOrObject(reference) else {
            guard try self.isFolder(reference) else { throw nothing(at: reference) }
            let hint = shellLine("ls", "--exact", reference.folderURL.quotedForShell)
            throw Client.Failure(
                message: "what is below \(reference.folderURL) has empty names in its names: \(hint)", isAnswer: true)
        }
    }

    private func isFolderOrObject(_ reference: Reference) throws -> Bool {
        try isFolder(reference) || isThere(reference)
    }

    private func list(_ pattern: NamePattern, _ text: String, _ shown: inout Shown) throws {
        // The list also contains names that do not match, and a server may need a request for the metadata of each
        // object.
        listsMetadata = false
        let (glob, isRecursive) = (try pattern.glob(), options.isRecursive)
        let matcher = glob.matcher
        var matches = false
        try listAll(&shown) { tell in
            func enters(_ folder: Reference, _ name: String) throws -> Bool {
                guard filter.mayEnter(name) else { return false }
                guard matcher.matches(name), isRecursive || !glob.crossesFolders else {
                    return matcher.mayMatchBelow(name)
                }
                matches = true
                if isRecursive {
                    try self.walk(folder) { object, _ in try tell(object, object.exactName, false) }
                } else {
                    try tell(folder.result, folder.prefix, true)
                }
                return false
            }
            try self.walk(self.reference(pattern.folder), enters: enters) { object, name in
                guard !pattern.isOfFolders, matcher.matches(name) else { return }
                matches = true
                if filter.takes(name) { try tell(object, object.exactName, false) }
            }
        }
        guard matches else { throw Client.Failure(message: "nothing matches \(text)", isAnswer: true) }
    }

    /// Shows the names that `walk` passes on, some hundred at a time.
    private func listAll(
        _ shown: inout Shown,
        _ walk: (_ tell: (_ object: JSON, _ name: String, _ isFolder: Bool) throws -> Void) throws -> Void
    ) throws {
        var page: ListedPage = ([], [])
        try walk { object, name, isFolder in
            if isFolder { page.folders.append((object, name)) } else { page.objects.append((object, name)) }
            guard page.folders.count + page.objects.count >= 256 else { return }
            try show(page, &shown)
            page = ([], [])
        }
        try show(page, &shown)
    }

    private func show(_ page: ListedPage, _ shown: inout Shown) throws {
        let (folders, objects) = page
        guard !folders.isEmpty || !objects.isEmpty else { return }
        try showHeading(&shown)
        shown.isAnyOfWord = true
        let details = try options.isLong || options.json ? details(objects.map(\.object)) : []
        shown.folders += folders.count
        shown.objects += objects.count
        shown.bytes = details.reduce(shown.bytes) { $0.addingSaturated($1["size"]?.number?.int64 ?? 0) }
        if options.json {
            for folder in folders { try Console.print(Self.line("folder", folder.object)) }
            for (object, metadata) in zip(objects, details) {
                try Console.print(Self.line("object", object.object, metadata))
            }
            return
        }
        let lines =
            folders.map { ($0.name, nil) }
            + objects.enumerated().map { ($0.element.name, details.isEmpty ? nil : details[$0.offset]) }
        for (name, detail) in lines.sorted(by: { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }) {
            let style: StyledText.Style? = name.utf8.last == UInt8(ascii: "/") ? .folder : nil
            let columns = options.isLong ? self.columns(detail) : ""
            try Console.print("\(columns, .dim)\(name, style)" as StyledText)
        }
    }

    /// The word above the content of its folder, as in `ls` of coreutils.
    private func showHeading(_ shown: inout Shown) throws {
        guard let heading = shown.heading, !options.json else { return }
        if shown.objects + shown.folders > 0 { try Console.print("") }
        try Console.print("\(heading):")
        shown.heading = nil
    }

    private func showTotal(_ shown: Shown) throws {
        guard options.isLong, !options.json else { return }
        let counts = [shown.objects.counted("object"), shown.folders.counted("folder")]
        try Console.print("TOTAL: \((counts + [size(shown.bytes)]).joined(separator: ", "))")
    }

    private func size(_ bytes: Int64) -> String {
        options.isHuman ? ProgressReport.size(bytes) : Int(bytes).counted("byte")
    }

    /// The metadata of objects; null for an object that no longer exists.
    private func details(_ objects: [JSON]) throws -> [JSON] {
        let listed = objects.compactMap { $0["metadata"] }
        if listed.count == objects.count { return listed }
        return try client.callAll("reference/getMetadata", objects.map { ["reference": $0] }).map { result in
            do throws(Client.Failure) { return try result.get() } catch {
                guard error.isNotFound else { throw error }
                return .null
            }
        }
    }

    /// A reference with the metadata that lists contain.
    private static func line(_ kind: String, _ reference: JSON, _ metadata: JSON = .null) -> JSON {
        let names = ["size", "updated", "contentType", "generation"]
        return .object(
            [.init(key: "kind", value: .string(kind))] + (reference.object ?? []).filter { $0.key != "metadata" }
                + (metadata.object ?? []).filter { names.contains($0.key) })
    }

    /// The size and the time of the last change; empty for a folder.
    private func columns(_ metadata: JSON?) -> String {
        let size = metadata?["size"]?.number?.int64.map { options.isHuman ? ProgressReport.size($0) : "\($0)" } ?? "-"
        let time = metadata?["updated"]?.string.flatMap { Timestamp(rfc3339: $0) }.map { moment in
            TimeSource.local(secondsSince1970: moment.microseconds / 1_000_000)
        }
        return Self.padded(size, 14) + "  " + (time ?? "-").padded(to: 19) + "  "
    }

    /// The text with leading spaces.
    private static func padded(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}

// MARK: - du

extension ClientCommandRunner {
    /// The totals of a folder.
    private struct Usage {
        /// The folder's name below the start of the walk, with a slash at its end; empty for the start itself.
        let name: String
        var (objects, bytes): (Int, Int64) = (0, 0)

        init(_ name: String) { self.name = name }
    }

    /// Prints a line for each folder, after its subfolders.
    func showUsage(_ texts: [String]) throws {
        listsMetadata = true
        guard !texts.isEmpty else { return try showUsage(below: reference(String?.none)) }
        for text in texts {
            try attempt(orFail: texts.count == 1) {
                for source in try self.usageSources(text) {
                    if let object = source.itself { try self.showUsage(of: object) }
                    if let folder = source.tree { try self.showUsage(below: folder) }
                }
            }
        }
    }

    /// The bucket may be given in any form, since nothing of it is removed.
    private func usageSources(_ text: String) throws -> [CopySource<Reference>] {
        if try pattern(text) == nil, case let bucket = try reference(text), bucket.isRoot {
            var source = CopySource<Reference>(name: "")
            source.tree = bucket
            return [source]
        }
        return try sources(text, walks: false)
    }

    private func showUsage(of object: Reference) throws {
        let metadata = try client.call("reference/getMetadata", ["reference": object.json])
        var usage = Usage("")
        (usage.objects, usage.bytes) = (1, metadata["size"]?.number?.int64 ?? 0)
        try show(usage, of: object.result, "object", object.url)
    }

    /// Sums up while names arrive: those of a folder are consecutive.
    private func showUsage(below folder: Reference) throws {
        var open = [Usage("")]
        func close() throws {
            let usage = open.removeLast()
            if !open.isEmpty {
                open[open.count - 1].objects += usage.objects
                open[open.count - 1].bytes = open[open.count - 1].bytes.addingSaturated(usage.bytes)
            }
            guard open.isEmpty || !options.isSummary else { return }
            let below = try open.isEmpty ? folder : Self.folder(folder.prefix + usage.name, in: folder.bucket)
            try show(usage, of: below.result, "folder", below.isRoot ? "gs://\(below.bucket)" : below.folderURL)
        }
        try walk(folder) { object, name in
            while !name.utf8.starts(with: open[open.count - 1].name.utf8) { try close() }
            var start = open[open.count - 1].name.utf8.count
            while let slash = name.utf8.dropFirst(start).firstIndex(of: UInt8(ascii: "/")) {
                let prefix = String(name.utf8[...slash]) ?? ""
                start = prefix.utf8.count
                open.append(Usage(prefix))
            }
            open[open.count - 1].objects += 1
            let size = object["metadata"]?["size"]?.number?.int64 ?? 0
            open[open.count - 1].bytes = open[open.count - 1].bytes.addingSaturated(size)
        }
        while !open.isEmpty { try close() }
    }

    /// The reference in the form of lists: with its slash only if that is part of an exact name.
    private static func folder(_ prefix: String, in bucket: String) throws -> Reference {
        let name = String(prefix.utf8.dropLast()) ?? ""
        if !name.isEmpty, case let folder = try Reference(bucket: bucket, object: name), !folder.isExact {
            return folder
        }
        return try Reference(bucket: bucket, object: prefix)
    }

    private func show(_ usage: Usage, of reference: JSON, _ kind: String, _ name: String) throws {
        if options.json {
            let counts: [JSON.Member] = [
                .init(key: "objects", value: JSON(Int64(usage.objects))), .init(key: "bytes", value: JSON(usage.bytes)),
            ]
            let start = JSON.Member(key: "kind", value: .string(reference.exactName.isEmpty ? "bucket" : kind))
            return try Console.print(JSON.object([start] + (reference.object ?? []) + counts))
        }
        let size = options.isHuman ? ProgressReport.size(usage.bytes) : "\(usage.bytes)"
        try Console.print(
            Self.padded(size, 14) + Self.padded(usage.objects.counted("object"), 16) + "  " + name)
    }
}
