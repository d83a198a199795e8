/// A pattern of names: `*` (any characters but a slash), `**` (slashes, too), `?` and `[a-z]` or `[!a-z]`.
///
/// All positions in the pattern that the beginning of a name can lead to are kept together, so matching takes at most
/// the product of both lengths.
package struct Glob: Sendable {
    /// Why a text is no pattern, as a sentence without its subject.
    package struct Invalid: Error, Equatable { package let reason: String }

    private let steps: [Step]

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
    package init(_ pattern: String) throws(Invalid) { steps = try Self.steps(Array(pattern.unicodeScalars)) }

    /// Nothing but `*` and `**` has a meaning.
    package init(stars pattern: String) {
        var (steps, rest): ([Step], Substring.UnicodeScalarView) = ([], pattern[...].unicodeScalars)
        while let first = rest.popFirst() {
            if first != "*" {
                steps.append(.one(first))
            } else if rest.first == "*" {
                rest.removeFirst()
                steps.append(.everything)
            } else {
                steps.append(.run)
            }
        }
        self.steps = steps
    }

    /// It has `**`.
    package var crossesFolders: Bool {
        steps.contains { step in
            switch step {
            case .everything, .folders: true
            case .one, .any, .set, .run, .option: false
            }
        }
    }

    package func matches(_ name: String) -> Bool { match(name).isComplete }

    /// Names below this folder may match.
    package func mayMatchBelow(_ folder: String) -> Bool { match(folder + "/").isPossible }

    private func match(_ name: String) -> Match {
        var match = Match(self)
        for scalar in name.unicodeScalars where match.isPossible { match.take(scalar) }
        return match
    }

    private static func steps(_ pattern: [Unicode.Scalar]) throws(Invalid) -> [Step] {
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
                if isFirst, rest.first == "/" {
                    rest = rest.dropFirst()
                    steps += [.option, .folders]
                } else {
                    steps.append(.everything)
                }
            case "?": steps.append(.any)
            case "[": steps.append(try set(&rest))
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
    /// The positions in a pattern that the beginning of a name leads to.
    package struct Match {
        private let steps: [Step]
        private var positions: [Bool]
        /// The name may go on so that it matches.
        package private(set) var isPossible = true
        /// How many positions were looked at: for tests.
        package private(set) var work = 0

        package init(_ glob: Glob) {
            steps = glob.steps
            positions = [Bool](repeating: false, count: steps.count + 1)
            restart()
        }

        /// What was taken matches.
        package var isComplete: Bool { positions[steps.count] }

        /// Forgets what was taken.
        package mutating func restart() {
            for index in positions.indices { positions[index] = index == 0 }
            leaveOut()
        }

        /// From the last step to the first: what one step adds to the next is not looked at again.
        package mutating func take(_ scalar: Unicode.Scalar) {
            positions[steps.count] = false
            for index in steps.indices.reversed() {
                work += 1
                guard positions[index] else { continue }
                let (stays, advances) = steps[index].takes(scalar)
                positions[index] = stays
                if advances { positions[index + 1] = true }
            }
            leaveOut()
        }

        /// Adds the positions behind steps that need no character.
        private mutating func leaveOut() {
            isPossible = positions[steps.count]
            for (index, step) in steps.enumerated() where positions[index] {
                isPossible = true
                work += 1
                switch step {
                case .run, .everything: positions[index + 1] = true
                case .option: (positions[index + 1], positions[index + 2]) = (true, true)
                case .one, .any, .set, .folders: break
                }
            }
        }
    }
}

extension Glob.Step {
    /// Whether a name may continue with this character, at this step or at the next one.
    fileprivate func takes(_ scalar: Unicode.Scalar) -> (stays: Bool, advances: Bool) {
        switch self {
        case .one(let own): (false, scalar == own)
        case .any: (false, scalar != "/")
        case .set(let ranges, let isNegated):
            (false, scalar != "/" && ranges.contains { $0.contains(scalar) } != isNegated)
        case .run: (scalar != "/", false)
        case .everything: (true, false)
        case .option: (false, false)
        case .folders: (true, scalar == "/")
        }
    }
}
