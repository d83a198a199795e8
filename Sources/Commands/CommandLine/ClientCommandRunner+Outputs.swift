import Platform

// Where `storage-rpc get` writes what is no file: standard output, other descriptors, pipes, terminals, /dev/null.

extension ClientCommandRunner {
    /// What the target leads to, open for writing. Nil where it names a file, a directory or nothing yet: those are the
    /// service's to write.
    func output(_ target: String) throws -> Output? {
        if target == "-" { return .standard }
        if let number = Descriptor.number(at: target) {
            if number == Descriptor.standardOutput.raw { return .standard }
            guard let descriptor = Descriptor.inherited(number, for: .writing) else {
                throw Client.Failure("\(target) leads to a descriptor that is not open for writing")
            }
            return Output(descriptor: descriptor, name: target)
        }
        guard let kind = try? FileStatus(ofPath: target).kind else { return nil }
        switch kind {
        case .regular, .directory, .link: return nil
        case .pipe: return Output(descriptor: try openPipe(target), name: target)
        case .device:
            if let descriptor = try open(target), descriptor.isTerminal || target == "/dev/null" {
                return Output(descriptor: descriptor, name: target)
            }
        case .socket, .other: break
        }
        throw Client.Failure(
            "\(target) is neither a file nor a pipe nor a terminal; an object is written to no other thing")
    }

    /// Waits until somebody reads from the pipe.
    private func openPipe(_ path: String) throws -> Descriptor {
        while true {
            if let descriptor = try open(path) { return descriptor }
            try client.pause(.milliseconds(50))
        }
    }

    /// Nil where nobody reads from a pipe.
    private func open(_ path: String) throws(Client.Failure) -> Descriptor? {
        do throws(SystemError) { return try OpenFile(path, [.writing, .noWaiting]).duplicate() } catch {
            if error == .noReader { return nil }
            throw Client.Failure("\(path) cannot be written: \(error.reason)")
        }
    }
}

/// What objects are written to while they come.
struct Output {
    let descriptor: Descriptor
    /// For messages.
    let name: String

    static var standard: Output { Output(descriptor: .standardOutput, name: "stdout") }

    func write(_ bytes: UnsafeRawBufferPointer) throws(OutputError) {
        do throws(SystemError) { try descriptor.writeBlocking(bytes) } catch {
            throw OutputError(error: error, name: name)
        }
    }
}
