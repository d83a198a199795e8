import Glibc

/// The entries of an open directory, read one by one by one thread at a time, so that the memory does not grow with the
/// directory. Every call may block.
package final class DirectoryEntries {
    package struct Entry {
        /// The name; bytes that are no UTF-8 are replaced.
        package let name: String
        package let isUTF8: Bool
        /// Nil if the file system does not report it.
        package let kind: FileStatus.Kind?
    }

    private let entries: OpaquePointer

    package init(of directory: OpenFile) throws(SystemError) {
        let opened = try DescriptorLimit.opened { openat(directory.raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard let entries = fdopendir(opened) else {
            let error = SystemError.last
            close(opened)
            throw error
        }
        self.entries = entries
    }

    deinit { closedir(entries) }

    /// The next entry in the order of the file system, without `.` and `..`; nil at the end.
    package func next() throws(SystemError) -> Entry? {
        while true {
            errno = 0
            guard let found = readdir(entries) else {
                guard errno == 0 else { throw .last }
                return nil
            }
            let entry = Entry(found)
            if entry.name != ".", entry.name != ".." { return entry }
        }
    }
}

extension DirectoryEntries.Entry {
    fileprivate init(_ entry: UnsafeMutablePointer<dirent>) {
        // The record may be shorter than the declared array.
        let start = UnsafeRawPointer(entry) + (MemoryLayout<dirent>.offset(of: \.d_name) ?? 0)
        let bytes = UnsafeRawBufferPointer(start: start, count: strlen(start.assumingMemoryBound(to: CChar.self)))
        let text = String(validating: bytes, as: UTF8.self)
        name = text ?? String(decoding: bytes, as: UTF8.self)
        isUTF8 = text != nil
        kind = FileStatus.Kind(entryType: Int(entry.pointee.d_type))
    }
}

extension FileStatus.Kind {
    fileprivate init?(entryType: Int) {
        switch entryType {
        case Int(DT_REG): self = .regular
        case Int(DT_DIR): self = .directory
        case Int(DT_LNK): self = .link
        case Int(DT_FIFO): self = .pipe
        case Int(DT_SOCK): self = .socket
        case Int(DT_CHR), Int(DT_BLK): self = .device
        default: return nil
        }
    }
}
