import Glibc

/// The error of a system call.
package struct SystemError: Error, Equatable, CustomStringConvertible {
    package var code: Int32

    package init(code: Int32) { self.code = code }

    package static var last: SystemError { SystemError(code: errno) }

    package var reason: String { String(cString: strerror(code)) }
    package var description: String { reason }

    /// The disk, the user's quota or the limit of a file's size is exhausted.
    package var isFull: Bool { [ENOSPC, EDQUOT, EFBIG].contains(code) }

    /// The process or the system is out of descriptors or memory; the error says nothing about the opened file.
    package var isShortage: Bool { [EMFILE, ENFILE, ENOMEM].contains(code) }
    var isLackOfDescriptors: Bool { [EMFILE, ENFILE].contains(code) }

    /// The reader of a pipe has closed it.
    package static let brokenPipe = SystemError(code: EPIPE)
    package var isBrokenPipe: Bool { code == EPIPE }

    package static let notFound = SystemError(code: ENOENT)
    package static let exists = SystemError(code: EEXIST)
    package static let notDirectory = SystemError(code: ENOTDIR)
    package static let nameTooLong = SystemError(code: ENAMETOOLONG)
    package static let denied = SystemError(code: EACCES)
    package static let readOnlyFileSystem = SystemError(code: EROFS)
    package static let notPermitted = SystemError(code: EPERM)
    /// A pipe without a reader was opened for writing without waiting.
    package static let noReader = SystemError(code: ENXIO)
    /// The path is a link where none is allowed.
    package static let link = SystemError(code: ELOOP)
    package static let noSpace = SystemError(code: ENOSPC)
    package static let tooLarge = SystemError(code: EFBIG)
    package static let notOpen = SystemError(code: EBADF)
    package static let unsupported = SystemError(code: ENOSYS)
    package static let interrupted = SystemError(code: EINTR)
    package static let inputOutput = SystemError(code: EIO)
    package static let reset = SystemError(code: ECONNRESET)
    package static let wouldBlock = SystemError(code: EAGAIN)
}
