import Storage

/// A flag of the command line. Parsing, help, the man page and completions are made from it.
struct Flag: Sendable {
    /// What a flag does to the options; it takes its value from the reader.
    typealias Take = @Sendable (inout CommandOptions, inout ArgumentReader) throws -> Void

    /// `--recursive`, say, and `-r`.
    let names: [String]
    /// What stands for the value; nil where it has none.
    let value: String?
    let text: String
    /// It may be given several times, and each value counts.
    let isRepeatable: Bool
    /// Whether a service that runs does what the flag asks for, whatever its own flags are, or is refused by a comparison.
    /// All other flags ask for a new service.
    private(set) var suitsRunningService: @Sendable (_ value: String) -> Bool = { _ in false }
    let take: Take

    init(
        _ name: String, _ short: String?, _ value: String?, _ text: String, isRepeatable: Bool = false,
        _ take: @escaping Take
    ) {
        (names, self.value, self.text, self.take) = ([name] + (short.map { [$0] } ?? []), value, text, take)
        self.isRepeatable = isRepeatable
    }

    /// A flag without a value.
    init(
        _ name: String, _ short: String?, _ text: String, _ member: any WritableKeyPath<CommandOptions, Bool> & Sendable
    ) {
        self.init(name, short, nil, text) { options, _ in options[keyPath: member] = true }
    }

    init(_ name: String, _ text: String, _ member: any WritableKeyPath<CommandOptions, Bool> & Sendable) {
        self.init(name, nil, text, member)
    }

    /// A flag whose value is kept as it is.
    init(
        _ name: String, _ value: String, _ text: String,
        _ member: any WritableKeyPath<CommandOptions, String?> & Sendable
    ) {
        self.init(name, nil, value, text) { options, line in
            options[keyPath: member] = try line.value("\(value.article) \(value)")
        }
    }

    /// The flag, which a service that runs heeds.
    func suitsRunning(_ condition: @escaping @Sendable (_ value: String) -> Bool = { _ in true }) -> Flag {
        var flag = self
        flag.suitsRunningService = condition
        return flag
    }

    /// A flag that may be given several times.
    init(
        _ name: String, _ value: String, _ text: String,
        _ member: any WritableKeyPath<CommandOptions, [String]> & Sendable
    ) {
        self.init(name, nil, value, text, isRepeatable: true) { options, line in
            options[keyPath: member].append(try line.value("\(value.article) \(value)"))
        }
    }
}

extension String {
    fileprivate var article: String { utf8.first.map("AEIOU".utf8.contains) == true ? "an" : "a" }
}

/// Flags that belong together: a page of their own.
struct FlagGroup: Sendable {
    let name: String
    let title: String
    let flags: [Flag]
    /// Below the flags.
    var notes: [String] = []

    func has(_ name: String) -> Bool { flags.named(name) != nil }
}

extension [Flag] {
    func named(_ name: String) -> Flag? { first { $0.names.contains(name) } }
}

/// What the flags of a command line are about, each with the words that said so: nothing is said twice.
struct GivenFlags {
    private var words = ByteKeyedDictionary<String>()

    /// - Parameter subject: what only one flag may say: the flag itself, or an entry of the metadata.
    mutating func add(_ subject: String, _ line: ArgumentReader) throws(UsageError) {
        let given = "\(line.last) \(line.lastValue)"
        if let other = words[subject] {
            throw UsageError(
                message: other.hasSameBytes(as: given)
                    ? "\(given) is given twice" : "\(other) and \(given) contradict each other: give one of them")
        }
        words[subject] = given
    }
}
