import Glibc

/// Calls a handler on the loop when a name in a directory was removed or replaced, by inotify.
public final class DirectoryWatcher: Sendable {
    private let descriptor: Descriptor

    /// Nil if the system cannot watch the directory. Blocks, so it must not run on the loop.
    public init?(_ path: String) {
        let raw = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard raw >= 0 else { return nil }
        descriptor = Descriptor(owning: raw)
        let changes = UInt32(IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR)
        guard inotify_add_watch(raw, path, changes) >= 0 else { return nil }
    }

    /// Calls `changed` with each name, and with an empty one after the system has lost some, until the returned watcher
    /// is cancelled. Nil if the system cannot poll.
    @Loop public func start(_ changed: @escaping @Loop (String) -> Void) -> DescriptorWatcher? {
        DescriptorWatcher(descriptor.raw, for: .readable) { [descriptor] _ in
            for name in Self.names(descriptor) { changed(name) }
        }
    }

    /// The names of the pending changes.
    private static func names(_ descriptor: Descriptor) -> [String] {
        withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 8) { buffer in
            guard let start = buffer.baseAddress else { return [] }
            let count = Glibc.read(descriptor.raw, start, buffer.count)
            let header = MemoryLayout<inotify_event>.size
            var (names, offset): ([String], Int) = ([], 0)
            while offset + header <= count {
                let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                let name = buffer[(offset + header)...].prefix(Int(event.len)).prefix { $0 != 0 }
                names.append(String(decoding: name, as: UTF8.self))
                offset += header + Int(event.len)
            }
            return names
        }
    }
}
