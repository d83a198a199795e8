import ClientMemory
import HTTPText
import Platform

extension ServedConnection {
    /// The connection's state after an answer.
    enum Continuation {
        /// Another request may follow.
        case open
        /// The answer was the last.
        case closing
        /// The answer was not sent completely.
        case broken
    }

    func answer(_ request: HTTPServerRequest, isLast: Bool) async -> Continuation {
        let body = IncomingBody(of: request, on: self)
        patience = server.limits.stallTime
        var response = await server.handler(request.with(body))
        let isLast = isLast || body.endsConnection
        body.close()
        memory.begin(answerOf: response.body.bytesInMemory)
        defer { memory.endAnswer() }
        guard !Task.isCancelled, !response.dropsConnection else {
            server.metrics.answered(0)
            return .broken
        }
        let isNonsense = response.body.isUnopened && request.method != .head
        let hasLength = response.body.count != nil || response.body.isChunked && !request.isHTTP10
        if !(200...599 ~= response.status) || !hasLength || isNonsense {
            response = HTTPServerResponse(500)
        }
        server.metrics.answered(response.status)
        let persistence: ResponseHead.Persistence = isLast ? .close : request.isHTTP10 ? .keepAlive : .asUsual
        let head = ResponseHead.bytes(response, persistence, date: server.dateNow)
        let hasBody = request.method != .head && ResponseHead.mayHaveBody(response.status)
        guard await send(OutgoingResponse(head: head, hasBody ? response.body : .none)) else { return .broken }
        if isLast { return .closing }
        if parser.bodyBytesLeft == 0 { return .open }
        return await discardBody() ? .open : .closing
    }

    func refuse(_ status: Int) async {
        let allowed = HTTPServerRequest.Method.allCases.filter(server.methods.contains).map(\.rawValue)
        let headers: HTTPHeaders = status == 405 ? ["Allow": allowed.joined(separator: ", ")] : [:]
        server.metrics.answered(status)
        let head = ResponseHead.bytes(HTTPServerResponse(status, headers: headers), .close, date: server.dateNow)
        if await send(OutgoingResponse(head: head, .none)) { await linger() }
    }

    /// Sends the interim answer that asks for a body. Returns false where it was not sent.
    func sendContinue() async -> Bool {
        await send(OutgoingResponse(head: Array("HTTP/1.1 100 Continue\r\n\r\n".utf8), .none))
    }

    /// Discards the unread rest of the body. Returns false where it is too long, late or malformed.
    private func discardBody() async -> Bool {
        allow(.linger)
        defer { lift() }
        var left = server.limits.discardedBytes
        while left >= 0 {
            switch parser.nextBytes(atMost: 64 << 10) {
            case .bytes(let bytes): left -= bytes.count
            case .end: return true
            case .malformed: return false
            case .incomplete:
                guard await readiness?.wait(for: .readable) ?? false, receive(atMost: 64 << 10) else { return false }
            }
        }
        return false
    }

    /// Waits until the client has read the answer: closing a socket with unread input could discard the answer.
    func linger() async {
        socket.endWriting()
        allow(.linger)
        var left = server.limits.lingerBytes
        while left > 0, await readiness?.wait(for: .readable) ?? false, let count = discard() { left -= count }
    }

    private func discard() -> Int? {
        withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { buffer in
            switch socket.read(into: buffer) {
            case .bytes(let count): count
            case .notNow: 0
            case .end, .broken: nil
            }
        }
    }

    private func send(_ response: OutgoingResponse) async -> Bool {
        var rest = response
        while true {
            switch await sendSlice(of: &rest) {
            case .done: return true
            case .pausing: await Loop.nextIteration()
            case .blocked:
                allow(.stall)
                defer { lift() }
                guard await readiness?.wait(for: .writable) ?? false else { return false }
            case .broken: return false
            }
            if Task.isCancelled { return false }
        }
    }

    private func sendSlice(of rest: inout OutgoingResponse) async -> OutgoingResponse.Outcome {
        let before = rest.bytesSent
        defer {
            server.metrics.sent += rest.bytesSent - before
            memory.outgoing.progress += Int(rest.bytesSent - before)
        }
        guard rest.mayBlock else { return rest.send(to: socket.raw) }
        let (sent, outcome) = await server.senders.run { [rest, socket] in
            var rest = rest
            let outcome = rest.send(to: socket.raw)
            return (rest, outcome)
        }
        rest = sent
        return outcome
    }
}

extension HTTPServerRequest {
    @Loop fileprivate func with(_ body: IncomingBody) -> HTTPServerRequest {
        var request = self
        request.body = HTTPRequestBody(body, length: body.bytesLeft)
        return request
    }
}
