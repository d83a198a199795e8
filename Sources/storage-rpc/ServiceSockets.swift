import CommandLine
import Platform
import Roots

/// A listening socket, and a watcher of its directory if the system supports that.
struct ServiceSocket: Sendable {
    let listener: UnixListener
    let directory: DirectoryWatcher?

    /// Listens at a path. Blocks.
    init(_ path: String) throws(ListenFailure) {
        // The watcher precedes the socket, so that no removal is missed.
        directory = DirectoryWatcher(path.parentPath)
        listener = try UnixListener(path)
    }

    /// Adopts the socket of a service manager.
    init(fromManager: Void) throws(ListenFailure) {
        (listener, directory) = (try UnixListener(fromManager: ()), nil)
    }
}

/// The sockets of a service: accepts clients, and listens again when a socket file was removed or replaced.
@Loop final class ServiceSockets {
    private final class Place {
        var listener: UnixListener
        var acceptor: Acceptor?
        var watcher: DescriptorWatcher?

        init(_ listener: UnixListener) { self.listener = listener }
    }

    private let places: [Place]
    private let root: StorageRoot?
    private let log: Log
    private let clock: any Clock<Duration>
    private let welcome: @Loop (Descriptor) -> Void
    private let repairs = WorkerThreads("sockets")
    private var isClosed = false

    /// The delay before listening again: a process that removes the socket's directory must not find a new file in it.
    private static let timeToRemove = Duration.milliseconds(200)

    /// - Parameter root: once the process has lost it, the sockets do not listen again.
    init(
        _ sockets: [ServiceSocket], _ root: StorageRoot?, _ log: Log, clock: any Clock<Duration>,
        _ welcome: @escaping @Loop (Descriptor) -> Void
    ) {
        (self.root, self.log, self.clock, self.welcome) = (root, log, clock, welcome)
        places = sockets.map { Place($0.listener) }
        for (place, socket) in zip(places, sockets) {
            accept(place)
            let name = place.listener.path.fileName
            place.watcher = socket.directory?.start { [weak self, weak place] changed in
                if changed == name || changed.isEmpty, let place { self?.inspect(place) }
            }
        }
    }

    /// Stops accepting connections.
    func close() {
        isClosed = true
        for place in places {
            place.watcher?.cancel()
            place.acceptor?.close()
            place.listener.removeFile()
        }
    }

    private func accept(_ place: Place) {
        place.acceptor = place.listener.accept(clock: clock, welcome)
        log.write(.info, "listens on \(place.listener.path)")
    }

    private func inspect(_ place: Place) {
        let (former, log, root, repairs) = (place.listener, log, root, repairs)
        Loop.task { [weak self, weak place, clock] in
            do { try await clock.sleep(for: Self.timeToRemove) } catch { return }
            let listener: UnixListener? = await repairs.run {
                guard !former.isInPlace, root?.isLocked != false else { return nil }
                do throws(ListenFailure) { return try UnixListener(former.path) } catch {
                    log.write(.info, error.message)
                    return nil
                }
            }
            guard let listener else { return }
            guard let self, let place, !isClosed else { return listener.removeFile() }
            place.acceptor?.close()
            place.listener = listener
            accept(place)
        }
    }
}
