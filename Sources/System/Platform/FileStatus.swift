import Glibc

/// The status of a file, as the file system reports it.
package struct FileStatus: Sendable {
    package enum Kind: Sendable { case regular, directory, link, pipe, socket, device, other }

    package struct Time: Sendable {
        package let seconds: Int64
        package let nanoseconds: Int64

        fileprivate init(_ time: timespec) { (seconds, nanoseconds) = (Int64(time.tv_sec), Int64(time.tv_nsec)) }
    }

    package let kind: Kind
    package let inode: UInt64
    /// The device of the inode.
    package let device: UInt64
    package let owner: UInt32
    package let permissions: UInt32
    /// The number of hard links.
    package let links: Int
    /// In bytes.
    package let size: Int64
    /// The size of its allocated blocks, in bytes.
    package let allocated: Int64
    package let modified: Time
    /// When the bytes, the names or the permissions last changed.
    package let changed: Time

    init(_ status: stat) {
        kind = Kind(status.st_mode)
        (inode, device) = (UInt64(status.st_ino), UInt64(status.st_dev))
        (owner, permissions) = (status.st_uid, status.st_mode & 0o7777)
        links = Int(status.st_nlink)
        (size, allocated) = (Int64(status.st_size), Int64(status.st_blocks) * 512)
        (modified, changed) = (Time(status.modificationTime), Time(status.changeTime))
    }

    package init(ofPath path: String, followingLinks: Bool = true) throws(SystemError) {
        var status = stat()
        guard (followingLinks ? stat(path, &status) : lstat(path, &status)) == 0 else { throw .last }
        self.init(status)
    }
}

extension FileStatus.Kind {
    fileprivate init(_ mode: mode_t) {
        switch mode & S_IFMT {
        case S_IFREG: self = .regular
        case S_IFDIR: self = .directory
        case S_IFLNK: self = .link
        case S_IFIFO: self = .pipe
        case S_IFSOCK: self = .socket
        case S_IFCHR, S_IFBLK: self = .device
        default: self = .other
        }
    }
}
