import Platform
import Storage

// The patterns of `matchGlob`: those of `Glob` with escapes, and alternatives, as in `{a,b}`.
extension Glob {
    /// The patterns without alternatives that a pattern stands for. Throws 400 for a malformed pattern, and for one
    /// with too many combinations, before it computes them.
    static func combinations(_ pattern: String) throws(GatewayError) -> [Glob] {
        guard pattern.utf8.count <= mostBytes else { throw .badRequest("matchGlob has more than \(mostBytes) bytes.") }
        var combinations = Combinations()
        for byte in pattern.utf8 { try combinations.append(byte, of: pattern) }
        var globs: [Glob] = []
        for text in try combinations.all(of: pattern) {
            do throws(Invalid) { globs.append(try Glob(String(decoding: text, as: UTF8.self), .escaped)) } catch {
                throw .badRequest("matchGlob \(error.reason): \(pattern)")
            }
        }
        return globs
    }
}

/// The texts that a pattern with alternatives stands for. The pattern is appended byte by byte.
private struct Combinations {
    private static let most = 100
    /// The maximum size of all texts together, in bytes.
    private static let mostBytes = 16 << 10
    private static let mostLevels = 16

    /// The part of a list of alternatives that is parsed so far.
    private struct Choice {
        var complete: [[UInt8]] = []
        /// The texts that the last alternative stands for.
        var last: [[UInt8]] = [[]]
    }

    /// The pattern, then the choices whose braces are open.
    private var open = [Choice()]
    /// The last byte was a backslash that the next one belongs to.
    private var isEscaping = false

    mutating func append(_ byte: UInt8, of pattern: String) throws(GatewayError) {
        let inner = open.count - 1
        let isEscaped = exchange(&isEscaping, with: false)
        switch byte {
        case _ where isEscaped: try add([[byte]])
        case UInt8(ascii: "\\"):
            isEscaping = true
            try add([[byte]])
        case UInt8(ascii: "{"):
            guard inner < Self.mostLevels else {
                throw .badRequest("matchGlob has more than \(Self.mostLevels) levels of alternatives.")
            }
            open.append(Choice())
        case UInt8(ascii: ",") where inner > 0:
            open[inner].complete += open[inner].last
            open[inner].last = [[]]
        case UInt8(ascii: "}"):
            guard inner > 0 else { throw .badRequest("matchGlob has a } without its {: \(pattern)") }
            let choice = open.removeLast()
            try add(choice.complete + choice.last)
        default: try add([[byte]])
        }
    }

    func all(of pattern: String) throws(GatewayError) -> [[UInt8]] {
        guard open.count == 1 else { throw .badRequest("matchGlob has a { without its }: \(pattern)") }
        return open[0].last
    }

    /// Adds each of the texts to each text of the innermost alternative.
    private mutating func add(_ texts: [[UInt8]]) throws(GatewayError) {
        let inner = open.count - 1
        let (count, bytes) = (open[inner].last.count, open[inner].last.reduce(0) { $0 + $1.count })
        guard count * texts.count <= Self.most else {
            throw .badRequest("matchGlob has more than \(Self.most) combinations of alternatives.")
        }
        guard bytes * texts.count + texts.reduce(0, { $0 + $1.count }) * count <= Self.mostBytes else {
            throw .badRequest("matchGlob has alternatives of more than \(Self.mostBytes) bytes in all.")
        }
        if texts.count == 1 {
            for index in 0..<count { open[inner].last[index] += texts[0] }
        } else {
            open[inner].last = open[inner].last.flatMap { text in texts.map { text + $0 } }
        }
    }
}
