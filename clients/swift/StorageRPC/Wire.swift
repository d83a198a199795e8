import Foundation

/// A request to the service, with its params as properties; `StorageCalls` has all of them.
public protocol StorageCall: Encodable, Sendable {
    /// What the service answers.
    associatedtype Answer: Decodable & Sendable
    /// The name of the method.
    static var method: String { get }
}

extension StorageWire {
    /// A value, or null, which removes or resets what has one. A nil of the type `Nullable?` leaves it unchanged.
    public enum Nullable<Value: Codable & Sendable>: Codable, Sendable {
        /// JSON's null.
        case null
        /// A value.
        case value(Value)

        /// Null, or a value.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            self = container.decodeNil() ? .null : .value(try container.decode(Value.self))
        }

        /// Writes null, or the value.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .null: try container.encodeNil()
            case .value(let value): try container.encode(value)
            }
        }
    }

    /// The answer of a method that answers null.
    public struct Nothing: Decodable, Sendable {
        /// Reads any value.
        public init(from decoder: any Decoder) throws {}
    }
}

/// Any JSON value, where the contract leaves the shape open.
public indirect enum StorageJSON: Codable, Equatable, Sendable {
    /// null
    case null
    /// true and false
    case bool(Bool)
    /// A whole number.
    case integer(Int64)
    /// Any other number.
    case number(Double)
    /// A text.
    case string(String)
    /// An array.
    case array([StorageJSON])
    /// An object.
    case object([String: StorageJSON])

    /// Reads any value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([StorageJSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: StorageJSON].self))
        }
    }

    /// Writes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

/// Lends what is not `Sendable` to a queue. Sound: each box is opened on one queue alone, the one that the caller chose.
struct Lent<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
