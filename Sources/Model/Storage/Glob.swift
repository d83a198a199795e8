/// A pattern of names: `*` (any characters but a slash), `**` (slashes, too), `?` and `[a-z]` or `[!a-z]`.
///
/// The pattern is stored as text. A `Matcher` is made of it to compare names.
package struct Glob: Sendable {
    /// The reason why a text is no pattern, as a sentence without its subject.
    package struct Invalid: Error, Equatable { package let reason: String }

    /// The maximum size of a pattern in bytes: enough for any object's name, and a `Matcher` takes at most 600 KB.
    package static let mostBytes = 4096

    /// The characters with a meaning.
    package enum Syntax: Sendable {
        case names
        /// Only `*` and `**`.
        case stars
        /// The syntax of `names`, and a backslash before a character that stands for itself. A `]` needs its `[`.
        case escaped
    }

    private let text: String
    private let syntax: Syntax
    /// The pattern contains `**`.
    package let crossesFolders: Bool

    fileprivate enum Step: Sendable {
        case one(Unicode.Scalar)
        /// `?`
        case any
        case set([ClosedRange<Unicode.Scalar>], isNegated: Bool)
        /// `*`
        case run
        /// `**`
        case everything
        /// Precedes `folders` and makes it optional.
        case option
        /// `**/`: any characters up to and including a slash.
        case folders
    }

    /// `**/` at the beginning of a segment also matches nothing. Throws for brackets that match no character.
    package init(_ text: String, _ syntax: Syntax = .names) throws(Invalid) {
        guard text.utf8.count <= Self.mostBytes else { throw Invalid(reason: "has more than \(Self.mostBytes) bytes") }
        (self.text, self.syntax) = (text, syntax)
        crossesFolders = try Self.steps(text, syntax).contains { step in
            switch step {
            case .everything, .folders: true
            case .one, .any, .set, .run, .option: false
            }
        }
    }

    /// Compares names with the pattern, whose text was checked at its creation.
    package var matcher: Matcher { Matcher((try? Self.steps(text, syntax)) ?? []) }

    /// Between two optional steps there is always a required one, except for `**/**` at the beginning of a segment.
    private static func steps(_ text: String, _ syntax: Syntax) throws(Invalid) -> [Step] {
        let pattern = Array(text.unicodeScalars)
        var (steps, rest): ([Step], ArraySlice) = ([], pattern[...])
        while let first = rest.popFirst() {
            switch first {
            case "*":
                let isFirst = rest.startIndex == 1 || pattern[rest.startIndex - 2] == "/"
                guard rest.first == "*" else {
                    steps.append(.run)
                    continue
                }
                rest = rest.drop { $0 == "*" }
                if isFirst, rest.first == "/", syntax != .stars {
                    rest = rest.dropFirst()
                    if case .folders? = steps.last { continue }
                    steps += [.option, .folders]
                } else {
                    steps.append(.everything)
                }
            case "?" where syntax != .stars: steps.append(.any)
            case "[" where syntax != .stars: steps.append(try set(&rest, syntax))
            case "]" where syntax == .escaped: throw Invalid(reason: "has a ] without its [")
            case "\\" where syntax == .escaped: steps.append(.one(try escaped(&rest)))
            default: steps.append(.one(first))
            }
        }
        return steps
    }

    /// - Parameter rest: the text after `[`; on return the text after `]`. Directly after `[` or `[!`, a `]` is a
    ///   member.
    private static func set(_ rest: inout ArraySlice<Unicode.Scalar>, _ syntax: Syntax) throws(Invalid) -> Step {
        let isNegated = rest.first == "!" || rest.first == "^"
        if isNegated { rest = rest.dropFirst() }
        var ranges: [ClosedRange<Unicode.Scalar>] = []
        while rest.first != "]" || ranges.isEmpty {
            let low = try member(&rest, syntax)
            var high = low
            if rest.first == "-", let bound = rest.dropFirst().first, bound != "]" {
                rest = rest.dropFirst()
                high = try member(&rest, syntax)
            }
            guard low <= high else { throw Invalid(reason: "has [\(low)-\(high)], which stands for no character") }
            ranges.append(low...high)
        }
        rest = rest.dropFirst()
        return .set(ranges, isNegated: isNegated)
    }

    /// The next character of a set.
    private static func member(
        _ rest: inout ArraySlice<Unicode.Scalar>, _ syntax: Syntax
    ) throws(Invalid) -> Unicode.Scalar {
        guard let first = rest.popFirst(), first != "/" else {
            throw Invalid(reason: "has a [ without its ]; [[] is the character itself")
        }
        return first == "\\" && syntax == .escaped ? try escaped(&rest) : first
    }

    /// The character behind a backslash.
    private static func escaped(_ rest: inout ArraySlice<Unicode.Scalar>) throws(Invalid) -> Unicode.Scalar {
        guard let first = rest.popFirst() else { throw Invalid(reason: "ends with a \\ that escapes nothing") }
        return first
    }
}

extension Glob {
    /// A pattern as rows of bits, one row for each class of characters that no step tells apart.
    ///
    /// All positions in the pattern that the beginning of a name can lead to are the bits of one number, so a character of a
    /// name costs a few operations for each 64 steps of the pattern.
    package struct Matcher: Sendable {
        /// The first character of each class except the first one, in order.
        private var starts: [UInt32] = []
        private var classesOfASCII: [UInt16] = []
        /// For each class the bits of the steps that take such a character and lead to the next step.
        private var taking: [UInt64] = []
        /// The steps that stay at their position for any character (`keeping`), and for any but a slash
        /// (`keepingNames`).
        fileprivate var keeping: [UInt64]
        fileprivate var keepingNames: [UInt64]
        /// The positions of the steps `option`.
        fileprivate var options: [UInt64]
        /// The steps that need no character.
        fileprivate var skipped: [UInt64]
        fileprivate let words: Int
        /// The position after the last step.
        fileprivate let end: Int
        /// The minimum length of a matching name, in characters.
        private var least = 0

        fileprivate init(_ steps: [Step]) {
            end = steps.count
            words = steps.count / 64 + 1
            let none = [UInt64](repeating: 0, count: words)
            (keeping, keepingNames, options, skipped) = (none, none, none, none)
            starts = Self.starts(steps)
            taking = [UInt64](repeating: 0, count: words * (starts.count + 1))
            classesOfASCII = (0..<128).map { UInt16(Self.index(of: $0, in: starts)) }
            for (index, step) in steps.enumerated() { add(step, at: index) }
        }

        /// The characters at which classes begin: the bounds of each step's ranges, and of the slash. Fewer than
        /// 65,536.
        private static func starts(_ steps: [Step]) -> [UInt32] {
            let slash = UInt32(UInt8(ascii: "/"))
            var starts: Set<UInt32> = [slash, slash + 1]
            for step in steps {
                switch step {
                case .one(let own): starts.formUnion([own.value, own.value + 1])
                case .set(let ranges, _):
                    for range in ranges { starts.formUnion([range.lowerBound.value, range.upperBound.value + 1]) }
                case .any, .run, .everything, .option, .folders: break
                }
            }
            return starts.sorted()
        }

        private static func index(of scalar: UInt32, in starts: [UInt32]) -> Int {
            var (low, high) = (0, starts.count)
            while low < high {
                let middle = (low + high) / 2
                if starts[middle] <= scalar { low = middle + 1 } else { high = middle }
            }
            return low
        }

        private mutating func add(_ step: Step, at index: Int) {
            let (word, bit) = (index / 64, UInt64(1) << UInt64(index % 64))
            switch step {
            case .one(let own):
                least += 1
                taking[row(of: own) + word] |= bit
            case .any:
                least += 1
                set(bit, word, to: true, in: 0...starts.count)
            case .set(let ranges, let isNegated):
                least += 1
                if isNegated { set(bit, word, to: true, in: 0...starts.count) }
                for range in ranges {
                    let first = Self.index(of: range.lowerBound.value, in: starts)
                    let last = Self.index(of: range.upperBound.value, in: starts)
                    set(bit, word, to: !isNegated, in: first...last)
                }
            case .run:
                keepingNames[word] |= bit
                skipped[word] |= bit
            case .everything:
                keeping[word] |= bit
                skipped[word] |= bit
            case .option: options[word] |= bit
            case .folders:
                keeping[word] |= bit
                taking[row(of: "/") + word] |= bit
            }
        }

        /// Sets or clears the bit in the rows of the classes, except that of the slash.
        private mutating func set(_ bit: UInt64, _ word: Int, to takes: Bool, in classes: ClosedRange<Int>) {
            let slash = Int(classesOfASCII[Int(UInt8(ascii: "/"))])
            for index in classes where index != slash {
                if takes { taking[index * words + word] |= bit } else { taking[index * words + word] &= ~bit }
            }
        }

        /// The index at which the row of the character's class begins.
        private func row(of scalar: Unicode.Scalar) -> Int {
            let value = scalar.value
            return (value < 128 ? Int(classesOfASCII[Int(value)]) : Self.index(of: value, in: starts)) * words
        }

        package func matches(_ name: String) -> Bool {
            var work = 0
            return matches(name, &work)
        }

        /// Adds to `work` the number of words of positions that were examined.
        package func matches(_ name: String, _ work: inout Int) -> Bool {
            guard name.utf8.count >= least else { return false }
            let match = match(name)
            work += match.work
            return match.isComplete
        }

        /// Whether names below this folder may match.
        package func mayMatchBelow(_ folder: String) -> Bool { match(folder + "/").isPossible }

        private func match(_ name: String) -> Match {
            var match = Match(self)
            for scalar in name.unicodeScalars {
                guard match.isPossible else { break }
                match.take(scalar)
            }
            return match
        }

        /// For one word: the steps that take the character and advance, and the steps that take it and stay.
        fileprivate func moves(_ row: Int, _ isSlash: Bool, _ word: Int) -> (advancing: UInt64, staying: UInt64) {
            (taking[row + word], isSlash ? keeping[word] : keeping[word] | keepingNames[word])
        }

        fileprivate func begin(_ scalar: Unicode.Scalar) -> (row: Int, isSlash: Bool) {
            (row(of: scalar), scalar == "/")
        }
    }

    /// The positions in a pattern that the characters so far lead to.
    package struct Match {
        private let matcher: Matcher
        private var positions: [UInt64]
        /// The number of words up to the last one with a position.
        private var used = 0
        /// The number of words of positions that were examined.
        package private(set) var work = 0

        package init(_ matcher: Matcher) {
            self.matcher = matcher
            positions = [UInt64](repeating: 0, count: matcher.words)
            restart()
        }

        /// Whether more characters could complete a match.
        package var isPossible: Bool { used > 0 }

        /// Whether the characters so far match.
        package var isComplete: Bool { positions[matcher.end / 64] >> UInt64(matcher.end % 64) & 1 == 1 }

        /// Begins a new name.
        package mutating func restart() {
            for word in 0..<used { positions[word] = 0 }
            // Optional steps at the beginning of a pattern never lead into the second word.
            positions[0] = leftOut(1, 0).here
            used = 1
            work += 1
        }

        package mutating func take(_ scalar: Unicode.Scalar) {
            let (row, isSlash) = matcher.begin(scalar)
            let last = min(used + 1, matcher.words)
            var (carried, used) = (UInt64(0), 0)
            for word in 0..<last {
                let (advancing, staying) = matcher.moves(row, isSlash, word)
                let (taken, kept) = (positions[word] & advancing, positions[word] & staying)
                let next = leftOut(kept | taken << 1 | carried, word)
                positions[word] = next.here
                carried = taken >> 63 | next.next
                if next.here != 0 { used = word + 1 }
            }
            work += last
            self.used = used
        }

        /// Adds the positions after optional steps, in this word and the next one.
        ///
        /// After an `option` only `*` and `**` are optional, and no optional step follows them.
        private func leftOut(_ positions: UInt64, _ word: Int) -> (here: UInt64, next: UInt64) {
            var here = positions
            let options = here & matcher.options[word]
            here |= options << 1 | options << 2
            let skipped = here & matcher.skipped[word]
            here |= skipped << 1
            return (here, options >> 63 | options >> 62 | skipped >> 63)
        }
    }
}
