/// A pattern of names: `*` (any characters but a slash), `**` (slashes, too), `?` and `[a-z]` or `[!a-z]`.
///
/// All positions in the pattern that the beginning of a name can lead to are kept together, so matching takes at most
/// the product of both lengths.
package struct Glob: Sendable {
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

    /// `**/` at the beginning of a segment may stand for nothing.
    package init(_ pattern: some Sequence<Unicode.Scalar>) { steps = Self.steps(Array(pattern)) }

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

    package func matches(_ name: String) -> Bool { positions(after: name.unicodeScalars)[steps.count] }

    /// Names below this folder may match.
    package func mayMatchBelow(_ folder: String) -> Bool {
        positions(after: (folder + "/").unicodeScalars).contains(true)
    }

    private func positions(after name: String.UnicodeScalarView) -> [Bool] {
        var positions = [Bool](repeating: false, count: steps.count + 1)
        positions[0] = true
        leaveOut(&positions)
        for scalar in name {
            var next = [Bool](repeating: false, count: steps.count + 1)
            for (index, step) in steps.enumerated() where positions[index] {
                let (stays, advances) = step.takes(scalar)
                if stays { next[index] = true }
                if advances { next[index + 1] = true }
            }
            leaveOut(&next)
            positions = next
        }
        return positions
    }

    /// Adds the positions behind steps that need no character.
    private func leaveOut(_ positions: inout [Bool]) {
        for (index, step) in steps.enumerated() where positions[index] {
            switch step {
            case .run, .everything: positions[index + 1] = true
            case .option: (positions[index + 1], positions[index + 2]) = (true, true)
            case .one, .any, .set, .folders: break
            }
        }
    }

    private static func steps(_ pattern: [Unicode.Scalar]) -> [Step] {
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
            case "[":
                guard let end = rest.dropFirst().firstIndex(of: "]") else { fallthrough }
                steps.append(set(rest[..<end]))
                rest = rest[(end + 1)...]
            default: steps.append(.one(first))
            }
        }
        return steps
    }

    /// - Parameter text: what is between the brackets.
    private static func set(_ text: ArraySlice<Unicode.Scalar>) -> Step {
        var (ranges, rest): ([ClosedRange<Unicode.Scalar>], ArraySlice) = ([], text)
        let isNegated = rest.first == "!" || rest.first == "^"
        if isNegated { rest = rest.dropFirst() }
        while let low = rest.popFirst() {
            var high = low
            if rest.first == "-", let bound = rest.dropFirst().first { (high, rest) = (bound, rest.dropFirst(2)) }
            if low <= high { ranges.append(low...high) }
        }
        return .set(ranges, isNegated: isNegated)
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
