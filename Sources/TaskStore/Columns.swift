import Database
import Storage

extension Value {
    /// As bytes, so that nothing but their order and equality counts.
    package static func name(_ reference: Reference) -> Value { .blob(Array(reference.object.utf8)) }
}

// MARK: - Properties of the content, in columns of their names

extension Row {
    package var content: SettableMetadata {
        get throws {
            var settable = SettableMetadata()
            for property in ContentProperty.allCases {
                settable.content[property] = try textOrNil(property.rawValue)
            }
            return settable
        }
    }
}

extension [String: Value] {
    package func with(_ settable: SettableMetadata) -> Self {
        let content = ContentProperty.allCases.map { ($0.rawValue, Value.text(settable.content[$0])) }
        return merging(content) { old, _ in old }
    }
}
