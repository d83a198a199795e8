extension JSON {
    /// Appends this value to `buffer` as compact JSON in UTF-8, on one line.
    public func write(to buffer: inout [UInt8]) { JSONWriter.write(to: &buffer) { $0.value(self) } }

    /// Appends `string` to `buffer` as a JSON string: quoted, escaped where it must be, everything else as UTF-8.
    public static func write(_ string: String, to buffer: inout [UInt8]) {
        JSONWriter.write(to: &buffer) { $0.string(string) }
    }

    public var text: String {
        var buffer: [UInt8] = []
        write(to: &buffer)
        return String(decoding: buffer, as: UTF8.self)
    }
}

/// Collects small pieces in a buffer on the stack and appends them together; appends large ones directly.
private struct JSONWriter {
    private var output: [UInt8] = []
    private let page: UnsafeMutableBufferPointer<UInt8>
    private var filled = 0

    private init(page: UnsafeMutableBufferPointer<UInt8>) { self.page = page }

    static func write(to buffer: inout [UInt8], _ body: (inout JSONWriter) -> Void) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 512) { page in
            var writer = JSONWriter(page: page)
            swap(&writer.output, &buffer)
            body(&writer)
            writer.flush()
            swap(&writer.output, &buffer)
        }
    }

    private mutating func flush() {
        output.append(contentsOf: page[..<filled])
        filled = 0
    }

    private mutating func append(_ byte: UInt8) {
        if filled == page.count { flush() }
        page.initializeElement(at: filled, to: byte)
        filled += 1
    }

    private mutating func append(_ run: UnsafeBufferPointer<UInt8>) {
        if run.count > page.count - filled { flush() }
        if run.count > page.count {
            output.append(contentsOf: run)
        } else {
            filled = page[filled...].initialize(fromContentsOf: run)
        }
    }

    private mutating func append(_ text: String) { for byte in text.utf8 { append(byte) } }
}

// MARK: Values

extension JSONWriter {
    mutating func value(_ json: JSON) {
        switch json {
        case .null: append("null")
        case .bool(let value): append(value ? "true" : "false")
        case .number(let number): append(number.literal)
        case .string(let text): string(text)
        case .array(let elements): array(elements)
        case .object(let members): object(members)
        }
    }

    private mutating func array(_ elements: [JSON]) {
        append(UInt8(ascii: "["))
        var isFirst = true
        for element in elements {
            if !isFirst { append(UInt8(ascii: ",")) }
            value(element)
            isFirst = false
        }
        append(UInt8(ascii: "]"))
    }

    private mutating func object(_ members: [JSON.Member]) {
        append(UInt8(ascii: "{"))
        var isFirst = true
        for member in members {
            if !isFirst { append(UInt8(ascii: ",")) }
            string(member.key)
            append(UInt8(ascii: ":"))
            value(member.value)
            isFirst = false
        }
        append(UInt8(ascii: "}"))
    }
}

// MARK: Strings

extension JSONWriter {
    mutating func string(_ text: String) {
        append(UInt8(ascii: "\""))
        let wasContiguous: Void? = text.utf8.withContiguousStorageIfAvailable { escaped($0) }
        if wasContiguous == nil {
            Array(text.utf8).withUnsafeBufferPointer { escaped($0) }
        }
        append(UInt8(ascii: "\""))
    }

    private mutating func escaped(_ text: UnsafeBufferPointer<UInt8>) {
        var start = 0
        while true {
            let end = ByteScan.plainRun(in: UnsafeRawBufferPointer(text), from: start).end
            append(UnsafeBufferPointer(rebasing: text[start..<end]))
            guard end < text.count else { return }
            escape(text[end])
            start = end + 1
        }
    }

    private mutating func escape(_ byte: UInt8) {
        append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): append(byte)
        case 0x08: append(UInt8(ascii: "b"))
        case 0x09: append(UInt8(ascii: "t"))
        case 0x0A: append(UInt8(ascii: "n"))
        case 0x0C: append(UInt8(ascii: "f"))
        case 0x0D: append(UInt8(ascii: "r"))
        default: append("u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))")
        }
    }
}
