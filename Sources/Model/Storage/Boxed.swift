/// A large value that is rarely set, in a box, so that copies of its owner are small.
@propertyWrapper public enum Boxed<Value> {
    case none
    indirect case some(Value)

    public init(wrappedValue: Value?) { if let wrappedValue { self = .some(wrappedValue) } else { self = .none } }

    public var wrappedValue: Value? {
        get { if case .some(let value) = self { value } else { nil } }
        set { self = Boxed(wrappedValue: newValue) }
    }
}

extension Boxed: Sendable where Value: Sendable {}
extension Boxed: Equatable where Value: Equatable {}
