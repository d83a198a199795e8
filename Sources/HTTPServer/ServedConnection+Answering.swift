import HTTPText
import Platform

extension ServedConnection {
    /// Answers a request. Returns false where the answer was not sent completely.
    func answer(_ request: HTTPServerRequest, isLast: Bool) async -> Bool {
        var response = await server.handler(request)
        guard !Task.isCancelled else { return false }
        let isNonsense = response.body.isUnopened && request.method == .get
        if !(200...599 ~= response.status) || response.body.count == nil || isNonsense {
            response = HTTPServerResponse(500)
        }
        let persistence: ResponseHead.Persistence = isLast ? .close : request.isHTTP10 ? .keepAlive : .asUsual
        let head = ResponseHead.bytes(response, persistence, date: server.dateNow)
        let hasBody = request.method == .get && ResponseHead.mayHaveBody(response.status)
        return await send(OutgoingResponse(head: head, hasBody ? response.body : .none))
    }

    func refuse(_ status: Int) async {
        let response = HTTPServerResponse(status, headers: status == 405 ? ["Allow": "GET, HEAD"] : [:])
        let head = ResponseHead.bytes(response, .close, date: server.dateNow)
        if await send(OutgoingResponse(head: head, .none)) { await linger() }
    }

    /// Waits until the client has read the answer: closing a socket with unread input could discard the answer.
    func linger() async {
        socket.endWriting()
        allow(.linger)
        var left = 4 << 20
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
