extension JSON: JSONOutput {
    static func constant(_ json: JSON) -> JSON { json }

    static func number(_ range: Range<Int>, in scanner: borrowing JSONScanner) -> JSON {
        .number(JSONNumber(literal: scanner.ascii(range)))
    }

    static func string(_ token: JSONStringToken, in scanner: borrowing JSONScanner) -> JSON {
        .string(scanner.text(of: token))
    }

    static func key(_ token: JSONStringToken, in scanner: borrowing JSONScanner) -> String { scanner.text(of: token) }

    struct Container: JSONContainer {
        let isObject: Bool
        private var key = ""
        private var elements: [JSON] = []
        private var members: [JSON.Member] = []

        init() { isObject = false }

        /// Reserves room for four members, which most objects have, but not in large texts, where that is much memory.
        init(key: String, isInSmallText: Bool) {
            isObject = true
            self.key = key
            if isInSmallText { members.reserveCapacity(4) }
        }

        mutating func add(_ value: consuming JSON) {
            if isObject {
                members.append(JSON.Member(key: exchange(&key, with: ""), value: value))
            } else {
                elements.append(value)
            }
        }

        mutating func expect(_ key: String) { self.key = key }

        consuming func closed() -> JSON { isObject ? .object(members) : .array(elements) }
    }
}
