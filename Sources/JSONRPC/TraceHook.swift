/// Who says a message.
public enum MessageSender: String, Sendable { case client, service }

/// Is told of each message of a connection, its framing apart, when it is heard or goes on its way. It must not wait.
public typealias TraceHook = @Sendable (MessageSender, UnsafeRawBufferPointer) -> Void
