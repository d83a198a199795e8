import JSONText

// `storage-rpc ls`, `rm` and `url`: one or a few calls each.

extension ClientCommandRunner {
    /// One name a line as the pages come, or all of them as one document.
    mutating func list(_ text: String) throws {
        var params: [JSON.Member] = [.init(key: "reference", value: try reference(text))]
        if options.isExact { params.append(.init(key: "exact", value: true)) }
        let first = params
        var prefixes: [JSON] = [], items: [JSON] = []
        while true {
            let page = try client.call("reference/list", .object(params))
            let (folders, objects) = (page["prefixes"]?.array ?? [], page["items"]?.array ?? [])
            if options.json {
                prefixes += folders
                items += objects
            } else {
                try names(folders, objects).forEach { try Console.print($0) }
            }
            guard let token = page["pageToken"] else { break }
            params = first + [.init(key: "pageToken", value: token)]
        }
        if options.json { try Console.print(["prefixes": .array(prefixes), "items": .array(items)] as JSON) }
    }

    /// In one order by their bytes, folders with a slash; exact names as a whole.
    private func names(_ folders: [JSON], _ objects: [JSON]) -> [String] {
        func name(_ reference: JSON) -> String {
            let exact = reference["object"]?.string ?? reference["fullPath"]?.string
            return (options.isExact ? exact : reference["name"]?.string) ?? ""
        }
        let names = folders.map(name).map { $0.utf8.last == UInt8(ascii: "/") ? $0 : $0 + "/" } + objects.map(name)
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Goes on after one that cannot be removed.
    mutating func remove(_ texts: [String]) throws {
        var removed: [JSON] = []
        for text in texts {
            do {
                removed.append(try remove(text))
            } catch {
                guard error.isAnswer, texts.count > 1 else { throw error }
                Console.printError(error.message)
            }
        }
        if options.json { try Console.print(JSON.array(removed)) }
        let left = texts.count - removed.count
        if left > 0 { throw Client.Failure(message: "\(left) of \(texts.count) were not removed") }
    }

    private mutating func remove(_ text: String) throws(Client.Failure) -> JSON {
        let reference = try reference(text)
        _ = try client.call("reference/delete", bound([.init(key: "reference", value: reference)]))
        return reference
    }

    mutating func url(_ text: String) throws {
        var params: [JSON.Member] = [.init(key: "reference", value: try reference(text))]
        if let seconds = options.expiresIn { params.append(.init(key: "expiresIn", value: JSON(Int64(seconds)))) }
        let answer = try client.call("reference/downloadURL", .object(params))
        if options.json { try Console.print(answer) } else { try Console.print(answer["url"]?.string ?? "") }
    }
}
