import Tracing

/// A text whose parts have styles, for example `"\(name, .folder)  3 bytes"`.
struct StyledText: ExpressibleByStringInterpolation {
    /// The code of a terminal for a style.
    enum Style: String {
        case error = "1;31"
        case folder = "1;34"
        case name = "36"
        case bar = "32"
        case dim = "2"
    }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var parts: [(text: String, style: Style?)] = []

        init(literalCapacity: Int, interpolationCount: Int) {}

        mutating func appendLiteral(_ text: String) { parts.append((text, nil)) }
        mutating func appendInterpolation(_ text: String, _ style: Style? = nil) { parts.append((text, style)) }
    }

    private let parts: [(text: String, style: Style?)]

    init(stringLiteral text: String) { parts = [(text, nil)] }
    init(stringInterpolation: StringInterpolation) { parts = stringInterpolation.parts }

    /// The text without styles and as it is.
    var plain: String { parts.map(\.text).joined() }

    /// The text for a terminal, with escaped control characters.
    func text(isColoured: Bool) -> String {
        parts.map { Self.painted($0.text.safe, $0.style, isColoured: isColoured) }.joined()
    }

    static func painted(_ text: String, _ style: Style?, isColoured: Bool) -> String {
        guard isColoured, !text.isEmpty, let style else { return text }
        return "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m"
    }
}
