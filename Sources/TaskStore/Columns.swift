import Database
import Storage

extension Value {
    /// Stored as bytes, which have one order and one equality.
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

extension Columns {
    package static let content = Columns(ContentProperty.allCases.map(\.rawValue))
}

extension Values {
    package static func content(_ settable: SettableMetadata) -> Values {
        Values(ContentProperty.allCases.map { ($0.rawValue, .text(settable.content[$0])) })
    }
}
