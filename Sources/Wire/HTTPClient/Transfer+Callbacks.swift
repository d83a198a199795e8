import CCurl

extension ccurl_callbacks {
    /// The context of libcurl's callbacks, which run on the transfer thread. Sound: `TransferLoop` retains the transfer
    /// while it runs.
    init(for transfer: Transfer) {
        self.init(
            context: Unmanaged.passUnretained(transfer).toOpaque(),
            header: { bytes, size, count, context in
                guard let transfer = Transfer.of(context) else { return 0 }
                return transfer.header(UnsafeRawBufferPointer(start: bytes, count: size * count))
            },
            write: { bytes, size, count, context in
                guard let transfer = Transfer.of(context) else { return 0 }
                return transfer.write(UnsafeRawBufferPointer(start: bytes, count: size * count))
            },
            read: { bytes, size, count, context in
                guard let transfer = Transfer.of(context) else { return Int(CCURL_ABORT.rawValue) }
                return transfer.read(into: UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
            },
            seek: { context, offset, origin in
                guard let transfer = Transfer.of(context), origin == 0 else { return 2 }
                transfer.position = offset
                return 0
            },
            progress: { context, wanted, received, _, sent in
                Transfer.of(context)?.progressed(received: received, of: wanted, sent: sent)
                return 0
            },
            resolving: { _, _, context in
                Transfer.of(context)?.connecting()
                return 0
            },
            connecting: { context, socket, _ in
                Transfer.of(context)?.connecting(socket)
                return 0
            },
            sending: { context, _, _, _, _ in Transfer.of(context)?.mayBeSent() == true ? 0 : 1 })
    }
}

extension Transfer {
    /// The transfer that `init(for:)` has set as the context.
    fileprivate static func of(_ context: UnsafeMutableRawPointer?) -> Transfer? {
        context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
    }

    fileprivate func header(_ line: UnsafeRawBufferPointer) -> Int {
        defer { answerMoved() }
        guard answer.take(line: line) else { return give(up: .tooLarge(limit: IncomingResponse.largestHead)) }
        return line.count
    }

    fileprivate func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        moved()
        if let sink = request.sink, isForSink(sink) { return write(bytes, to: sink) }
        guard answer.body.count + bytes.count <= request.limits.answerBytes else {
            return give(up: .tooLarge(limit: request.limits.answerBytes))
        }
        answer.body.append(contentsOf: bytes)
        return bytes.count
    }

    private func write(_ bytes: UnsafeRawBufferPointer, to sink: any HTTPBodySink) -> Int {
        switch sink.write(bytes, wake: waker) {
        case .taken: return bytes.count
        case .later:
            isHeldUp = true
            return Int(CCURL_PAUSE.rawValue)
        case .failed(let reason): return give(up: .bodyFailed(reason))
        }
    }

    private func isForSink(_ sink: any HTTPBodySink) -> Bool {
        if let isForSink = answer.isForSink { return isForSink }
        let accepts = sink.accepts(status: answer.status, headers: answer.headers)
        answer.isForSink = accepts
        return accepts
    }

    fileprivate func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let source else { return 0 }
        let wanted = Int(min(Int64(buffer.count), source.count - position))
        guard wanted > 0 else { return 0 }
        let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
        switch source.read(into: room, at: position, wake: waker) {
        case .bytes(let count) where (1...wanted).contains(count):
            position += Int64(count)
            return count
        case .bytes: return abort(.bodyFailed("the source gave a wrong number of bytes"))
        case .later:
            isHeldUp = true
            return Int(CCURL_PAUSE.rawValue)
        case .failed(let reason): return abort(.bodyFailed(reason))
        }
    }

    private func abort(_ kind: HTTPError.Kind) -> Int {
        failure = kind
        return Int(CCURL_ABORT.rawValue)
    }

    /// Ends the transfer by accepting no byte.
    private func give(up kind: HTTPError.Kind) -> Int {
        failure = kind
        return -1
    }
}
