import Platform
import Storage

/// A task whose client brings or takes the bytes.
@Loop public protocol TaskStream: AnyObject {
    /// The next byte.
    var offset: Int64 { get }
    /// A request of its client has no answer.
    var isAsked: Bool { get }
    /// The end is published.
    func taskEnded()
}

/// The strategy of a task of the service.
public protocol TaskStrategy: TransferStrategy {
    /// What a client brings the bytes to, or takes them from, piece by piece.
    associatedtype Stream: TaskStream
}
