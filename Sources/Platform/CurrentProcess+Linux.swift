import Glibc

extension CurrentProcess {
    /// The path of the program.
    package static var executable: String { "/proc/self/exe" }

    /// The number of open descriptors, with inherited ones. If it is unknown, only the standard ones count.
    static var openDescriptors: Int {
        guard let entries = opendir("/proc/self/fd") else { return 3 }
        defer { closedir(entries) }
        var names = 0
        while readdir(entries) != nil { names += 1 }
        // Without ".", ".." and the descriptor of the directory itself.
        return names - 3
    }
}

/// A path that opens the file of a descriptor.
func path(ofDescriptor raw: Int32) -> String { "/proc/self/fd/\(raw)" }
