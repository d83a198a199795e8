import CSystem
import EventLoop
import Glibc

/// A TCP socket that takes in connections for as long as there is room and there are descriptors for them.
@Loop
final class ListeningSocket {
    struct Unusable: Error { var reason: String }

    let address: SocketAddress
    private let descriptor: Descriptor
    private let accept: (Int32) -> Int32
    private let pause: () async throws -> Void
    private var watch: Watch?
    private var isFull = false
    private var isResting = false

    /// Listens at once. `pause` is how long it rests when the system has no descriptor left.
    init(
        _ address: SocketAddress, accept: @escaping (Int32) -> Int32 = csystem_accept,
        pause: @escaping () async throws -> Void
    ) throws(Unusable) {
        (self.accept, self.pause) = (accept, pause)
        let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let raw = socket(address.family, Int32(kind), 0)
        guard raw >= 0 else { throw .last }
        descriptor = Descriptor(owning: raw)
        setOption(raw, SOL_SOCKET, SO_REUSEADDR)
        if address.family == AF_INET6 { setOption(raw, Int32(IPPROTO_IPV6), IPV6_V6ONLY) }
        guard address.withPointer({ bind(raw, $0, $1) }) == 0, Glibc.listen(raw, 1024) == 0,
            let bound = SocketAddress(of: raw, by: getsockname)
        else { throw .last }
        self.address = bound
    }

    /// When somebody knocks it is asked whether there is room.
    func start(hasRoom: @escaping @Loop () -> Bool, _ taker: @escaping @Loop (Descriptor) -> Void) {
        watch = Watch(descriptor.raw, for: .readable) { [weak self] _ in self?.takeIn(hasRoom, taker) }
    }

    /// To be called when there may be room again.
    func resume() {
        isFull = false
        if !isResting { watch?.change(to: .readable) }
    }

    /// Whoever still knocks is refused once the last owner has gone.
    func close() {
        watch?.cancel()
        watch = nil
        shutdown(descriptor.raw, Int32(SHUT_RDWR))
    }

    /// One at a time: only the poller knows whether anybody else knocks, for whom room would have to be made.
    private func takeIn(_ hasRoom: @Loop () -> Bool, _ taker: @Loop (Descriptor) -> Void) {
        guard hasRoom() else {
            isFull = true
            watch?.change(to: [])
            return
        }
        let raw = accept(descriptor.raw)
        if raw >= 0 { return taker(Descriptor(owning: raw)) }
        switch errno {
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: rest()
        default: break
        }
    }

    private func rest() {
        isResting = true
        watch?.change(to: [])
        Task { [weak self, pause] in
            do { try await pause() } catch { return }
            guard let self else { return }
            isResting = false
            if !isFull { watch?.change(to: .readable) }
        }
    }
}

extension ListeningSocket.Unusable {
    fileprivate static var last: Self { Self(reason: String(cString: strerror(errno))) }
}

func setOption(_ socket: Int32, _ level: Int32, _ option: Int32) {
    var on: Int32 = 1
    setsockopt(socket, level, option, &on, socklen_t(MemoryLayout<Int32>.size))
}
