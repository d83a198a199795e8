import Storage

/// A flag of the command line. Parsing, help, the man page and completions use it.
struct Flag: Sendable {
    /// Changes the options; takes the flag's value from the reader.
    typealias Take = @Sendable (inout CommandOptions, inout ArgumentReader) throws -> Void

    /// For example `--recursive` and `-r`.
    let names: [String]
    /// The placeholder of the value; nil for a flag without one.
    let value: String?
    let text: String
    /// The flag may be repeated, and each value counts.
    let isRepeatable: Bool
    /// Whether a running service satisfies the flag, whatever its own flags are, or refuses it by comparison. Any other
    /// flag is for a new service, or for one that was started with it.
    private(set) var suitsRunningService: @Sendable (_ value: String) -> Bool = { _ in false }
    /// The service of the root heeds the flag of a client for its connection alone.
    private(set) var isOfConnection = false
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

    /// A flag whose value is stored unchanged.
    init(
        _ name: String, _ value: String, _ text: String,
        _ member: any WritableKeyPath<CommandOptions, String?> & Sendable
    ) {
        self.init(name, nil, value, text) { options, line in
            options[keyPath: member] = try line.value("\(value.article) \(value)")
        }
    }

    /// The flag, marked as one that running services satisfy.
    func suitsRunning(_ condition: @escaping @Sendable (_ value: String) -> Bool = { _ in true }) -> Flag {
        var flag = self
        flag.suitsRunningService = condition
        return flag
    }

    /// The flag, marked as one of a connection.
    var ofConnection: Flag {
        var flag = self
        flag.isOfConnection = true
        return flag
    }

    /// A flag that may be repeated.
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

/// Related flags, with a page of help of their own.
struct FlagGroup: Sendable {
    let name: String
    let title: String
    let flags: [Flag]
    /// The text below the flags.
    var notes: [String] = []

    func has(_ name: String) -> Bool { flags.named(name) != nil }
}

extension [Flag] {
    func named(_ name: String) -> Flag? { first { $0.names.contains(name) } }
}

/// The subjects of the flags of a command line, each with the words that set it, so that none is set twice.
struct GivenFlags {
    private var words = ByteKeyedDictionary<String>()

    /// - Parameter subject: the part of the options that only one flag may set: the flag itself, or an entry of the
    ///   metadata.
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
