import Storage
import TestSupport
import Testing

@Suite(.watchdog) struct MetadataTests {
    // The old value of a property, the written value (.some(nil) is null), and the new value.
    static let truths: [(before: String?, write: String??, after: String?)] = [
        (nil, .none, nil), (nil, .some(nil), nil), (nil, "", ""), (nil, "new", "new"),
        ("", .none, ""), ("", .some(nil), nil), ("", "", ""), ("", "new", "new"),
        ("old", .none, "old"), ("old", .some(nil), nil), ("old", "", ""), ("old", "new", "new"),
    ]

    @Test(arguments: ContentProperty.allCases)
    func `An absent property is kept, a null removes it and a value sets it`(property: ContentProperty) throws {
        for truth in Self.truths {
            var metadata = SettableMetadata()
            for other in ContentProperty.allCases { metadata.content[other] = "other" }
            metadata.content[property] = truth.before
            var change = MetadataChange()
            if let write = truth.write { change.content[property] = .some(write) }
            try metadata.apply(change)
            #expect(metadata.content[property] == truth.after, "\(truth)")
            for other in ContentProperty.allCases where other != property {
                #expect(metadata.content[other] == "other")
            }
        }
    }

    @Test func `Each key of the custom metadata is kept, removed or set on its own`() throws {
        for truth in Self.truths {
            var metadata = SettableMetadata()
            metadata.custom["other"] = "stays"
            metadata.custom["key"] = truth.before
            var change = MetadataChange()
            if let write = truth.write { change.custom = .merge(["key": write]) }
            try metadata.apply(change)
            #expect(metadata.custom["key"] == truth.after, "\(truth)")
            #expect(metadata.custom["other"] == "stays")
        }
    }

    static let merges: [(custom: MetadataChange.Custom, after: ByteKeyedDictionary<String>)] = [
        (.keep, ["a": "1", "b": "2"]), (.removeAll, [:]), (.merge([:]), ["a": "1", "b": "2"]),
        (.merge(["a": nil, "b": "", "c": "3"]), ["b": "", "c": "3"]), (.merge(["a": nil, "b": nil]), [:]),
        (.merge(["z": nil]), ["a": "1", "b": "2"]), (.merge(["": "empty key"]), ["a": "1", "b": "2", "": "empty key"]),
    ]

    @Test func `Custom metadata merges by key`() throws {
        for (custom, after) in Self.merges {
            var metadata = SettableMetadata()
            metadata.custom = ["a": "1", "b": "2"]
            var change = MetadataChange()
            change.custom = custom
            try metadata.apply(change)
            #expect(metadata.custom == after)
        }
    }

    @Test func `Keys and values are compared by bytes`() throws {
        var metadata = SettableMetadata()
        var change = MetadataChange()
        change.custom = .merge(["caf\u{E9}": "1", "cafe\u{301}": "2"])
        try metadata.apply(change)
        #expect(metadata.custom.map(\.value) == ["2", "1"], "in the order of their bytes")
        change.custom = .merge(["caf\u{E9}": nil])
        try metadata.apply(change)
        #expect(metadata.custom.count == 1 && metadata.custom["cafe\u{301}"] == "2")
        var (one, other) = (SettableMetadata(), SettableMetadata())
        (one.custom, other.custom) = (["k": "\u{E9}"], ["k": "e\u{301}"])
        #expect(one != other && !one.isMet(by: other))
        (one.custom, other.custom) = ([:], [:])
        (one.content, other.content) = ([.contentType: "\u{E9}"], [.contentType: "e\u{301}"])
        #expect(one != other && !one.isMet(by: other))
    }

    @Test func `Values of content properties have no order, and an object of JSON`() throws {
        var values: ContentValues<String> = [.contentType: "a/b", .cacheControl: "x", .contentType: "c/d"]
        #expect(values == [.cacheControl: "x", .contentType: "c/d"] && values.count == 2)
        #expect(values != [.cacheControl: "x"] && values != [.cacheControl: "x", .contentLanguage: "c/d"])
        #expect(values.filter { $0.value != "x" } == [.contentType: "c/d"])
        #expect(values.mapValues(\.count) == [.contentType: 3, .cacheControl: 1])
        let text = try values.text
        #expect(try ContentValues<String>(text: text) == values && text.hasPrefix("{"))
        values[.cacheControl] = nil
        values[.contentLanguage] = nil
        #expect(values == [.contentType: "c/d"] && values[.cacheControl] == nil)
    }

    @Test(arguments: [(8191, true), (8192, true), (8193, false)])
    func `Custom metadata holds at most 8 KiB of keys and values`(bytes: Int, fits: Bool) throws {
        for value in ["x", "é", "😀"] {
            let count = (bytes - 100) / value.utf8.count
            let entries: ByteKeyedDictionary<String?> = [
                String(repeating: "k", count: bytes - count * value.utf8.count): String(repeating: value, count: count)
            ]
            var change = MetadataChange()
            change.custom = .merge(entries)
            var metadata = SettableMetadata()
            if fits {
                try metadata.apply(change)
            } else {
                let error = try storageError { () throws(StorageError) in try metadata.apply(change) }
                #expect(error.code == .invalidArgument && error.param == "metadata.customMetadata")
                #expect(error.message.contains("8193") && error.message.contains("8192"))
            }
        }
    }

    @Test(arguments: ContentProperty.allCases)
    func `Each property holds at most 8 KiB`(property: ContentProperty) throws {
        var metadata = SettableMetadata()
        metadata.content[property] = String(repeating: "x", count: 9000)
        let before = metadata
        var change = MetadataChange()
        change.custom = .merge(["key": "value"])
        for other in ContentProperty.allCases {
            change.content[other] = String(repeating: other == .contentType ? "ee" : "é", count: 4096)
        }
        change.content[property] = String(repeating: "é", count: 4096) + "x"
        let error = try storageError { () throws(StorageError) in try metadata.apply(change) }
        #expect(error.code == .invalidArgument && error.param == "metadata.\(property)")
        #expect(error.message == "metadata.\(property) has 8193 bytes, but at most 8192 may be stored.")
        #expect(metadata == before)
        change.content[property] = .none
        try metadata.apply(change)
        #expect(metadata.content[property] == before.content[property])
        change.content[property] = .some(nil)
        try metadata.apply(change)
        #expect(metadata.content[property] == nil)
    }

    @Test(arguments: ["text/ä", "text/plain\r\nX: y", "a\0", "\u{7F}"])
    func `A content type that is no valid header value is refused`(type: String) throws {
        var change = MetadataChange()
        change.content[.contentType] = type
        let error = try storageError { () throws(StorageError) in try change.check() }
        #expect(error.code == .invalidArgument && error.param == "metadata.contentType")
        var metadata = SettableMetadata()
        #expect(throws: StorageError.self) { try metadata.apply(change) }
        change.content = [.contentType: "text/plain; charset=utf-8", .contentLanguage: "text/ä"]
        try change.check()
    }

    @Test(arguments: ContentProperty.allCases, ["\r", "\n", "\0", "\t", "\u{1F}", "\u{7F}"])
    func `A control character in a property is refused by name, and nothing is changed`(
        property: ContentProperty, character: String
    ) throws {
        var metadata = SettableMetadata()
        metadata.content[property] = "stored \(character)"
        let before = metadata
        for text in [character, "a\(character)b", "a\(character)"] {
            var change = MetadataChange()
            change.content[property] = text
            change.custom = .merge(["key": "value"])
            let error = try storageError { () throws(StorageError) in try metadata.apply(change) }
            #expect(error.code == .invalidArgument && error.param == "metadata.\(property)")
            #expect(error.message.hasPrefix("metadata.\(property) goes into headers of HTTP"))
            #expect(metadata == before)
        }
        var change = MetadataChange()
        change.custom = .merge(["a\(character)": "b\(character)"])
        try metadata.apply(change)
        #expect(metadata.content == before.content && metadata.custom.count == 1)
    }

    @Test func `The limit applies to the merged metadata`() throws {
        var metadata = SettableMetadata()
        metadata.custom = ["old": String(repeating: "x", count: 8000)]
        var change = MetadataChange()
        change.custom = .merge(["old": nil, "new": String(repeating: "y", count: 8000)])
        try metadata.apply(change)
        #expect(metadata.custom.map(\.key) == ["new"])
        change.custom = .merge(["more": String(repeating: "z", count: 190)])
        #expect(throws: StorageError.self) { try metadata.apply(change) }
    }
}
