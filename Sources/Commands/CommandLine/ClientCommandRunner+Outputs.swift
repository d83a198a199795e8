import Platform

// Targets of `storage-rpc get` that are no files: standard output, other descriptors, pipes, terminals, /dev/null.

extension ClientCommandRunner {
    /// The target, open for writing. Nil for a file, a directory, or a path that does not exist: those are written by
    /// the service.
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

    /// Waits until a process reads from the pipe.
    private func openPipe(_ path: String) throws -> Descriptor {
        while true {
            if let descriptor = try open(path) { return descriptor }
            try client.pause(.milliseconds(50))
        }
    }

    /// Nil if no process reads from the pipe.
    private func open(_ path: String) throws(Client.Failure) -> Descriptor? {
        do throws(SystemError) { return try OpenFile(path, [.writing, .noWaiting]).duplicate() } catch {
            if error == .noReader { return nil }
            throw Client.Failure("\(path) cannot be written: \(error.reason)")
        }
    }
}

/// A descriptor to which objects are written as they arrive.
struct Output {
    let descriptor: Descriptor
    /// The name for messages.
    let name: String

    static var standard: Output { Output(descriptor: .standardOutput, name: "stdout") }

    func write(_ bytes: UnsafeRawBufferPointer) throws(OutputError) {
        do throws(SystemError) { try descriptor.writeBlocking(bytes) } catch {
            throw OutputError(error: error, name: name)
        }
    }
}
