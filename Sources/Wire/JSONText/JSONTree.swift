extension JSON: JSONOutput {
    static func constant(_ json: JSON) -> JSON { json }

    static func number(_ range: Range<Int>, in scanner: borrowing JSONScanner) -> JSON {
        .number(JSONNumber(literal: scanner.ascii(range)))
    }

    static func string(_ token: JSONStringToken, in scanner: borrowing JSONScanner) -> JSON {
        .string(scanner.text(of: token))
    }

    /// A name with one of 64 marks; equal names without escapes have the same mark.
    struct Name {
        let text: String
        /// A name with escapes has all marks.
        let mark: UInt64
    }

    static func key(_ token: JSONStringToken, in scanner: borrowing JSONScanner) -> Name {
        Name(text: scanner.text(of: token), mark: token.hasEscapes ? .max : scanner.mark(of: token.range))
    }

    struct Container: JSONContainer {
        let isObject: Bool
        private var key = ""
        private var elements: [JSON] = []
        private var members: [JSON.Member] = []
        /// The marks of the names so far.
        private var marks: UInt64 = 0
        private var mayRepeatName = false

        init() { isObject = false }

        /// Reserves room for four members, which suffices for most objects, but not in large texts, where it would be
        /// much memory.
        init(key: Name, isInSmallText: Bool) {
            isObject = true
            expect(key)
            if isInSmallText { members.reserveCapacity(4) }
        }

        mutating func add(_ value: consuming JSON) {
            if isObject {
                members.append(JSON.Member(key: exchange(&key, with: ""), value: value))
            } else {
                elements.append(value)
            }
        }

        mutating func expect(_ key: Name) {
            self.key = key.text
            if marks & key.mark != 0 { mayRepeatName = true }
            marks |= key.mark
        }

        var repeatsName: Bool { mayRepeatName && members.repeatedName != nil }

        consuming func closed() -> JSON { isObject ? .object(members) : .array(elements) }
    }
}
