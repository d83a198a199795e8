/// A pattern of names: `*` (any characters but a slash), `**` (slashes, too), `?` and `[a-z]` or `[!a-z]`.
///
/// The pattern is kept as its text. A `Matcher` is made of it where names are compared.
package struct Glob: Sendable {
    /// Why a text is no pattern, as a sentence without its subject.
    package struct Invalid: Error, Equatable { package let reason: String }

    /// In bytes: no more than names of objects need, so that a `Matcher` takes at most 600 KB.
    package static let mostBytes = 4096

    private let text: String
    private let isOfStars: Bool
    /// It has `**`.
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
        /// Before `folders`: it may be left out.
        case option
        /// `**/`: all up to a slash.
        case folders
    }

    /// `**/` at the beginning of a segment may stand for nothing. Throws for brackets that stand for no character.
    package init(_ pattern: String) throws(Invalid) { try self.init(pattern, isOfStars: false) }

    /// Nothing but `*` and `**` has a meaning.
    package init(stars pattern: String) throws(Invalid) { try self.init(pattern, isOfStars: true) }

    private init(_ text: String, isOfStars: Bool) throws(Invalid) {
        guard text.utf8.count <= Self.mostBytes else { throw Invalid(reason: "has more than \(Self.mostBytes) bytes") }
        (self.text, self.isOfStars) = (text, isOfStars)
        crossesFolders = try Self.steps(text, isOfStars: isOfStars).contains { step in
            switch step {
            case .everything, .folders: true
            case .one, .any, .set, .run, .option: false
            }
        }
    }

    /// Compares names with the pattern, whose text has been checked.
    package var matcher: Matcher { Matcher((try? Self.steps(text, isOfStars: isOfStars)) ?? []) }

    /// No step that may stand for nothing follows another one, but those of `**/**` at the beginning of a segment.
    private static func steps(_ text: String, isOfStars: Bool) throws(Invalid) -> [Step] {
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
                if isFirst, rest.first == "/", !isOfStars {
                    rest = rest.dropFirst()
                    if case .folders? = steps.last { continue }
                    steps += [.option, .folders]
                } else {
                    steps.append(.everything)
                }
            case "?" where !isOfStars: steps.append(.any)
            case "[" where !isOfStars: steps.append(try set(&rest))
            default: steps.append(.one(first))
            }
        }
        return steps
    }

    /// - Parameter rest: what follows the `[`; then what follows its `]`. Directly behind `[` or `[!`, a `]` is a member.
    private static func set(_ rest: inout ArraySlice<Unicode.Scalar>) throws(Invalid) -> Step {
        let isNegated = rest.first == "!" || rest.first == "^"
        if isNegated { rest = rest.dropFirst() }
        guard let end = rest.dropFirst().firstIndex(where: { $0 == "]" || $0 == "/" }), rest[end] == "]",
            rest.first != "/"
        else { throw Invalid(reason: "has a [ without its ]; [[] is the character itself") }
        var (ranges, members): ([ClosedRange<Unicode.Scalar>], ArraySlice) = ([], rest[..<end])
        while let low = members.popFirst() {
            var high = low
            if members.first == "-", let bound = members.dropFirst().first {
                (high, members) = (bound, members.dropFirst(2))
            }
            guard low <= high else { throw Invalid(reason: "has [\(low)-\(high)], which stands for no character") }
            ranges.append(low...high)
        }
        rest = rest[(end + 1)...]
        return .set(ranges, isNegated: isNegated)
    }
}

extension Glob {
    /// A pattern as rows of bits, one row for each class of characters that no step tells apart.
    ///
    /// All positions in the pattern that the beginning of a name can lead to are the bits of one number, so a character of a
    /// name costs a few operations for each 64 steps of the pattern.
    package struct Matcher: Sendable {
        /// The first character of each class but the first one, in order.
        private var starts: [UInt32] = []
        private var classesOfASCII: [UInt16] = []
        /// Of each class: the steps that take such a character and lead to the next step.
        private var taking: [UInt64] = []
        /// The steps that keep any character, and those that keep all but a slash.
        fileprivate var keeping: [UInt64]
        fileprivate var keepingNames: [UInt64]
        /// `option`.
        fileprivate var options: [UInt64]
        /// The steps that need no character.
        fileprivate var skipped: [UInt64]
        fileprivate let words: Int
        /// The position behind the last step.
        fileprivate let end: Int
        /// The characters that a name has at least.
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

        /// Each character that a step or the slash begins or ends a range with. Fewer than 65,536.
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

        /// A slash stays out.
        private mutating func set(_ bit: UInt64, _ word: Int, to takes: Bool, in classes: ClosedRange<Int>) {
            let slash = Int(classesOfASCII[Int(UInt8(ascii: "/"))])
            for index in classes where index != slash {
                if takes { taking[index * words + word] |= bit } else { taking[index * words + word] &= ~bit }
            }
        }

        /// Where the row of the character's class begins.
        private func row(of scalar: Unicode.Scalar) -> Int {
            let value = scalar.value
            return (value < 128 ? Int(classesOfASCII[Int(value)]) : Self.index(of: value, in: starts)) * words
        }

        package func matches(_ name: String) -> Bool {
            var work = 0
            return matches(name, &work)
        }

        /// Adds to `work` how many words of positions were looked at.
        package func matches(_ name: String, _ work: inout Int) -> Bool {
            guard name.utf8.count >= least else { return false }
            let match = match(name)
            work += match.work
            return match.isComplete
        }

        /// Names below this folder may match.
        package func mayMatchBelow(_ folder: String) -> Bool { match(folder + "/").isPossible }

        private func match(_ name: String) -> Match {
            var match = Match(self)
            for scalar in name.unicodeScalars {
                guard match.isPossible else { break }
                match.take(scalar)
            }
            return match
        }

        /// The steps in a word that take the character and lead to the next one, and those that keep it.
        fileprivate func moves(_ row: Int, _ isSlash: Bool, _ word: Int) -> (advancing: UInt64, staying: UInt64) {
            (taking[row + word], isSlash ? keeping[word] : keeping[word] | keepingNames[word])
        }

        fileprivate func begin(_ scalar: Unicode.Scalar) -> (row: Int, isSlash: Bool) {
            (row(of: scalar), scalar == "/")
        }
    }

    /// The positions in a pattern that the beginning of a name leads to.
    package struct Match {
        private let matcher: Matcher
        private var positions: [UInt64]
        /// The words behind the last one that has a position.
        private var used = 0
        /// How many words of positions were looked at.
        package private(set) var work = 0

        package init(_ matcher: Matcher) {
            self.matcher = matcher
            positions = [UInt64](repeating: 0, count: matcher.words)
            restart()
        }

        /// The name may go on so that it matches.
        package var isPossible: Bool { used > 0 }

        /// What was taken matches.
        package var isComplete: Bool { positions[matcher.end / 64] >> UInt64(matcher.end % 64) & 1 == 1 }

        /// Forgets what was taken.
        package mutating func restart() {
            for word in 0..<used { positions[word] = 0 }
            // The steps that need no character do not lead from the first one to the next word.
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

        /// With the positions behind steps that need no character, in this word and the next one.
        ///
        /// Behind an option only `*` and `**` need none, and no such step follows them.
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
