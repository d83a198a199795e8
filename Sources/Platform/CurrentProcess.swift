import Glibc

/// What the system says of this process.
package enum CurrentProcess {
    package static var id: Int32 { getpid() }
    package static var user: UInt32 { geteuid() }

    /// In bytes; nil where files may have any size.
    package static var fileSizeLimit: UInt64? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { return nil }
        return UInt64(limit.rlim_cur)
    }

    /// An environment variable. Nil if it is not set or empty.
    package static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}
