import JSONText
import Platform
import Storage

// The candidates for words of a command line that a service provides.

extension ClientCommandRunner {
    func candidates(of completion: Completion) -> [Completion.Candidate] {
        var found: [Completion.Candidate] = []
        for asked in completion.asked {
            // Names that do not exist give no candidates.
            switch asked {
            case .objects: try? addObjects(completion.word, &found)
            case .buckets: try? addBuckets("", &found)
            case .tasks(let verb): try? addTasks(verb, completion.word, &found)
            }
        }
        return found
    }

    /// Adds the direct children of the folder in the word.
    private func addObjects(_ word: String, _ found: inout [Completion.Candidate]) throws {
        let scheme = "gs://"
        if !word.isEmpty, word != scheme, scheme.hasPrefix(word) { found.append(.init(text: scheme)) }
        let isURL = word.hasPrefix(scheme)
        let slash = word.utf8.lastIndex(of: UInt8(ascii: "/"))
        if isURL, word.utf8.dropFirst(scheme.utf8.count).allSatisfy({ $0 != UInt8(ascii: "/") }) {
            return try addBuckets(scheme, &found)
        }
        let start = slash.flatMap { String(word.utf8[...$0]) } ?? ""
        let folder = start.isEmpty ? nil : String(decoding: start.utf8.dropLast(), as: UTF8.self)
        try pages(reference(folder), exact: false) { folders, objects in
            for folder in folders { found.append(.init(text: start + folder.lastName + "/")) }
            for object in objects { found.append(.init(text: start + object.lastName)) }
        }
    }

    private func addBuckets(_ scheme: String, _ found: inout [Completion.Candidate]) throws {
        for bucket in try client.call("storage/buckets", .object([]))["buckets"]?.array ?? [] {
            guard let name = bucket.string else { continue }
            found.append(.init(text: scheme.isEmpty ? name : "\(scheme)\(name)/"))
        }
    }

    private func addTasks(_ verb: TaskVerb?, _ word: String, _ found: inout [Completion.Candidate]) throws {
        for task in try [.uploadTask, .downloadTask, .folderTask].flatMap(tasks) where verb.mayTake(task) {
            let state = task.snapshot["state"]?.string ?? ""
            found.append(.init(text: task.id, note: "\(state) \(task.snapshot["reference"]?.title ?? "")".safeLine))
        }
    }
}

extension TaskVerb? {
    fileprivate func mayTake(_ task: ClientCommandRunner.ListedTask) -> Bool {
        switch self {
        case .forget: task.hasEnded
        case .retry: !task.hasEnded || task.snapshot["state"] == "failed"
        case .resume, .cancel, nil: !task.hasEnded
        }
    }
}

extension String {
    /// The text on one line, without tabs.
    fileprivate var safeLine: String { String(map { $0.isNewline || $0 == "\t" ? " " : $0 }) }
}
