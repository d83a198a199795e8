import Platform

/// An input and an output descriptor, watched on the loop. Never blocks.
@Loop
package final class ByteStream {
    package enum Event { case readable, writable, hungUp }

    private let input: Descriptor
    private let output: Descriptor
    private let metrics: ConnectionMetrics
    private let handle: @Loop (Event) -> Void
    private(set) var inputWatcher: DescriptorWatcher?
    private var outputWatcher: DescriptorWatcher?
    private var wantsInput = false
    private var wantsRoom = false
    private var isOpen = true

    /// Input and output may be the same socket.
    package init(
        input: Descriptor, output: Descriptor, _ metrics: ConnectionMetrics, _ handle: @escaping @Loop (Event) -> Void
    ) {
        (self.input, self.output, self.metrics, self.handle) = (input, output, metrics, handle)
        inputWatcher = DescriptorWatcher(input.raw, for: []) { [weak self] in self?.tell($0, about: input) }
        if output !== input {
            outputWatcher = DescriptorWatcher(output.raw, for: []) { [weak self] in self?.tell($0, about: output) }
        }
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Descriptor.Outcome {
        let outcome = input.read(into: buffer)
        if case .bytes(let count) = outcome { metrics.received &+= count }
        return outcome
    }

    /// Returns 0 if there is no room now; `writable` is then called later.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        if output.kind == .blocking, !output.hasRoom() { return 0 }
        switch output.write(bytes) {
        case .bytes(let count):
            metrics.sent &+= count
            return count
        case .notNow, .end: return 0
        case .broken(let code): throw SystemError(code: code)
        }
    }

    /// Input and output are one socket, so a hang-up ends both directions.
    var isOneDescriptor: Bool { output === input }

    package func want(input: Bool, room: Bool) {
        guard isOpen, input != wantsInput || room != wantsRoom else { return }
        (wantsInput, wantsRoom) = (input, room)
        let reading: Readiness = input ? .readable : [], writing: Readiness = room ? .writable : []
        if output === self.input {
            inputWatcher?.change(to: reading.union(writing))
        } else {
            inputWatcher?.change(to: reading)
            outputWatcher?.change(to: writing)
        }
        if input, inputWatcher == nil { readWithoutWatcher() }
    }

    package func close() {
        isOpen = false
        inputWatcher?.cancel()
        outputWatcher?.cancel()
        (inputWatcher, outputWatcher) = (nil, nil)
    }

    private func tell(_ readiness: Readiness, about descriptor: Descriptor) {
        if readiness.contains(.writable), wantsRoom, descriptor === output { handle(.writable) }
        // Bytes that arrived before a hang-up are read first; the end follows them.
        let reads = descriptor === input && wantsInput
        if reads, !readiness.isDisjoint(with: [.readable, .hungUp]) {
            handle(.readable)
        } else if readiness.contains(.hungUp) {
            descriptor === output ? handle(.hungUp) : stopWatching()
        }
    }

    /// Stops watching, since the poller would report a hang-up endlessly; remaining bytes can be read without it.
    func stopWatching() {
        inputWatcher?.cancel()
        inputWatcher = nil
    }

    /// Reads a regular file, which cannot be watched and is always readable.
    private func readWithoutWatcher() {
        Task {
            while isOpen, wantsInput {
                handle(.readable)
                await Loop.nextIteration()
            }
        }
    }
}
