import CSystem
import Glibc

/// Something that happens once. Tasks await it; threads of fixtures wait for it.
public final class Signal: Sendable {
    private let (stream, continuation) = AsyncStream<Void>.makeStream()
    /// Readable from then on.
    let descriptor = csystem_event()

    public init() {}

    deinit { close(descriptor) }

    public func fire() {
        continuation.finish()
        csystem_event_set(descriptor)
    }

    public func happened() async {
        for await _ in stream {}
    }

    public func block() {
        var end = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&end, 1, -1) < 0, errno == EINTR {}
    }
}
