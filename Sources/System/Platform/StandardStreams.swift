import Glibc

extension Descriptor {
    package static let standardInput = Descriptor(owning: STDIN_FILENO)
    package static let standardOutput = Descriptor(owning: STDOUT_FILENO)
    package static let standardError = Descriptor(owning: STDERR_FILENO)

    package var isTerminal: Bool { isatty(raw) == 1 }

    /// The width in columns. Nil if it is unknown, or if this is no terminal.
    package var terminalWidth: Int? {
        var size = winsize()
        return ioctl(raw, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : nil
    }

    /// A duplicate of this descriptor. A pipe is opened again to become non-blocking, since its flags are shared with
    /// other processes; if that fails, the kind of the duplicate is `blocking`.
    package func duplicate(for access: Access) -> Descriptor? {
        guard let copy = try? Descriptor(duplicating: raw) else { return nil }
        guard copy.kind == .blocking else { return copy }
        let reopened = open(path(ofDescriptor: raw), access.rawValue | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        return reopened < 0 ? copy : Descriptor(owning: reopened)
    }

    package enum Access { case reading, writing }

    convenience init(duplicating raw: Int32) throws(SystemError) {
        let copy = fcntl(raw, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw .last }
        self.init(owning: copy)
    }

    /// Redirects this descriptor to the file of another one.
    package func redirect(to other: Descriptor) -> Bool { dup2(other.raw, raw) >= 0 }
}

extension Descriptor.Access {
    fileprivate var rawValue: Int32 { self == .reading ? O_RDONLY : O_WRONLY }
}

extension OpenFile {
    /// Opens another descriptor of the file.
    package func duplicate() throws(SystemError) -> Descriptor { try Descriptor(duplicating: raw) }
}

/// Duplicates of stdin and stdout. Once they exist, everything written to stdout goes to stderr.
package struct StandardStreams: Sendable {
    package let input: Descriptor
    package let output: Descriptor

    /// Nil if stdin or stdout is closed or has the wrong direction.
    package init?() {
        let (reading, writing) = (fcntl(STDIN_FILENO, F_GETFL), fcntl(STDOUT_FILENO, F_GETFL))
        guard reading & O_ACCMODE != O_WRONLY, writing & O_ACCMODE != O_RDONLY,
            let input = Descriptor.standardInput.duplicate(for: .reading),
            let output = Descriptor.standardOutput.duplicate(for: .writing)
        else { return nil }
        (self.input, self.output) = (input, output)
        let null = Descriptor(owning: open("/dev/null", O_RDWR | O_CLOEXEC))
        _ = Descriptor.standardInput.redirect(to: null)
        if !Descriptor.standardOutput.redirect(to: .standardError) { _ = Descriptor.standardOutput.redirect(to: null) }
    }

    /// Opens each closed standard stream in the wrong direction, so that no other file gets its number and its use
    /// fails.
    package static func fillClosed() {
        for (raw, access) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(raw, F_GETFD) < 0 {
            _ = open("/dev/null", access)
        }
    }
}
