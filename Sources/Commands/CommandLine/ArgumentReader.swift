/// Reads the words of a command line one by one: flags, with `=` and a value, or with a number behind a letter, and words after
/// `--`, which are no flags.
struct ArgumentReader {
    enum Word {
        case flag(String)
        case word(String)
    }

    private var words: ArraySlice<String>
    private var attached: String?
    /// The last flag that was read.
    private(set) var last = ""
    private(set) var lastValue = ""
    private var flagsAreOver = false
    /// The values that the last flag accepts, if they are only a few.
    private(set) var choices: [String] = []

    init(_ words: [String]) { self.words = words[...] }

    /// Nil if the first word is a flag, or if there is none.
    mutating func nextCommand() -> String? {
        guard let first = words.first, !first.hasPrefix("-") else { return nil }
        return words.popFirst()
    }

    mutating func next() throws(UsageError) -> Word? {
        try checkValueTaken()
        guard let word = words.popFirst() else { return nil }
        if flagsAreOver || !word.hasPrefix("-") || word == "-" { return .word(word) }
        if word == "--" {
            flagsAreOver = true
            return try next()
        }
        // `-p4` is `-p 4`: no flag has digits.
        if !word.hasPrefix("--"), case let digits = word.utf8.dropFirst(2), !digits.isEmpty,
            digits.allSatisfy({ (0x30...0x39).contains($0) })
        {
            (last, attached) = (String(word.prefix(2)), String(digits))
            return .flag(last)
        }
        guard word.hasPrefix("--"), let equals = word.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            last = word
            return .flag(word)
        }
        last = String(word[..<equals])
        attached = String(decoding: word.utf8[equals...].dropFirst(), as: UTF8.self)
        return .flag(last)
    }

    private func checkValueTaken() throws(UsageError) {
        if attached != nil { throw UsageError(message: "\(last) takes no value; try --help") }
    }

    /// The meaning of a flag that makes all other words irrelevant.
    func alone<Meaning>(_ meaning: Meaning) throws(UsageError) -> Meaning {
        try checkValueTaken()
        return meaning
    }

    mutating func value(_ expected: String) throws(UsageError) -> String {
        defer { attached = nil }
        if attached == nil, let next = words.first, next.hasPrefix("--") {
            throw UsageError(message: "\(last) needs \(expected), and \(next) follows; if that is it: \(last)=\(next)")
        }
        guard let value = attached ?? words.popFirst(), !value.isEmpty else {
            throw UsageError(message: "\(last) needs \(expected); try --help")
        }
        lastValue = value
        return value
    }

    /// The parts before and after the first equals sign of a value.
    mutating func pair() throws(UsageError) -> (key: String, value: String) {
        let text = try value("KEY=VALUE")
        guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")), equals > text.startIndex else {
            throw UsageError(message: "\(last) needs KEY=VALUE, not \"\(text)\"")
        }
        return (String(text.utf8[..<equals]) ?? "", String(text.utf8[equals...].dropFirst()) ?? "")
    }

    mutating func number(in range: ClosedRange<Int>) throws(UsageError) -> Int {
        let text = try value("a number")
        guard let number = Int(text), range.contains(number) else {
            throw UsageError(
                message: "\(last) needs a number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"")
        }
        return number
    }

    mutating func seconds() throws(UsageError) -> Double {
        let text = try value("a number of seconds")
        guard let seconds = Double(text), seconds.isFinite else {
            throw UsageError(message: "\(last) needs a number of seconds, not \"\(text)\"")
        }
        return seconds
    }

    mutating func choice<Choice: RawRepresentable & CaseIterable>() throws(UsageError) -> Choice
    where Choice.RawValue == String {
        choices = Choice.allCases.map(\.rawValue)
        let names = choices.joined(separator: ", ")
        let text = try value("one of \(names)")
        guard let choice = Choice(rawValue: text) else {
            throw UsageError(message: "\(last) needs one of \(names), not \"\(text)\"")
        }
        return choice
    }
}
