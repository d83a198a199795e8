import HTTPClient
import HTTPText
import JSONText

/// One request on a connection, from its head to its answer.
struct Exchange {
    private let core: FixtureCore
    private let peer: FixturePeer
    private let call: Call
    private let number: Int
    private var fault: StorageFixture.Fault.Action?
    /// Of the body, not read yet.
    private var left: Int
    private var corruptByte: Int64?
    /// What is left of the body will never be read.
    private var isCutShort = false

    /// Throws when the connection has come to its end.
    static func perform(with peer: FixturePeer, _ core: FixtureCore) throws {
        let head = try peer.readHead()
        let (call, number, fault) = core.change { $0.arrived(head) }
        var exchange = Exchange(core: core, peer: peer, call: call, number: number, left: call.length)
        try exchange.run(fault)
    }

    private init(core: FixtureCore, peer: FixturePeer, call: Call, number: Int, left: Int) {
        (self.core, self.peer, self.call, self.number, self.left) = (core, peer, call, number, left)
    }

    private mutating func run(_ fault: StorageFixture.Fault.Action?) throws {
        do {
            if let fault { try trigger(fault) }
            try core.change { state throws(Answer) in try state.check(call) }
            try give(call.isKeptInPieces ? receiveChunk() : handle())
        } catch let refusal as Answer {
            if !isCutShort { try discard() }
            try give(refusal)
        }
    }

    /// Does what a fault does immediately.
    private mutating func trigger(_ fault: StorageFixture.Fault.Action, at byte: Int64? = nil) throws {
        self.fault = fault
        switch fault {
        case .answer(let status, let headers, let body):
            isCutShort = byte != nil
            throw Answer(status: status, headers: headers, body: Array(body.utf8))
        case .reset:
            peer.breakOff()
            throw FixturePeer.Gone()
        case .stall(let signal): try peer.wait(for: signal)
        case .forget(let status): core.change { $0.forget(call.session, status) }
        case .corrupt:
            corruptByte = byte ?? call.range?.lowerBound ?? 0
            if let session = call.session, call.isKeptInPieces {
                core.change { $0.sessions[session]?.corruptByte = corruptByte }
            }
        case .meanwhile(let deed): deed()
        case .answerAfterHandling, .resetAfterHandling, .closeAfterHandling, .closeAfterAnswer, .answerLate,
            .reportFalseOffset,
            .ignoreRange, .shiftRange, .lengthen:
            break
        }
    }

    private mutating func give(_ answer: Answer) throws {
        var answer = answer
        switch fault {
        case .answerAfterHandling(let status, let headers, let body):
            answer = Answer(status: status, headers: headers, body: Array(body.utf8))
        case .resetAfterHandling:
            peer.breakOff()
            throw FixturePeer.Gone()
        case .closeAfterHandling: throw FixturePeer.Gone()
        case .answerLate(let signal): try peer.wait(for: signal)
        case .reportFalseOffset(let lie): answer = core.change { $0.lying(lie, in: answer, to: call) }
        case .corrupt where call.kind == .media && !answer.body.isEmpty: answer.body[0] ^= 1
        case .shiftRange(let count): answer.shiftRange(by: count)
        case .lengthen(let count, let isSaid): answer.lengthen(by: count, isSaid)
        default: break
        }
        if isCutShort { answer.headers["Connection"] = "close" }
        core.change { state in
            state.requests[number].status = answer.status
            answer.headers["Date"] = call.dialect == .s3 ? state.s3Date : state.stored.date
        }
        if call.method == "HEAD" { answer.body = [] }
        try call.kind == .media ? send(answer) : peer.write(answer.head + answer.body)
        if call.dialect == .s3, answer.status == 200, fault?.replacesAnswer != true {
            core.change { $0.isAnswered(call) }
        }
        if isCutShort { peer.waitForEnd() }
        if case .closeAfterAnswer = fault { throw FixturePeer.Gone() }
        if isCutShort { throw FixturePeer.Gone() }
    }
}

// MARK: The body

extension Exchange {
    private mutating func handle() throws -> Answer {
        var body: [UInt8] = []
        try read { body.append(contentsOf: $0) }
        var call = call
        if case .ignoreRange = fault { call.headers["Range"] = nil }
        return try core.change { state throws(Answer) in try state.answer(call, body, corruptByte: corruptByte) }
    }

    /// Persists granule by granule, or byte by byte, so that those stay if the connection breaks.
    private mutating func receiveChunk() throws -> Answer {
        let receipt = try core.change { state throws(Answer) in
            call.dialect == .firebase ? try state.admitFirebase(call) : try state.admitGCS(call)
        }
        var skip = receipt.skip
        var rest: [UInt8] = []
        try read { [core] piece in
            rest.append(contentsOf: UnsafeRawBufferPointer(rebasing: piece.dropFirst(skip)))
            skip -= min(skip, piece.count)
            let keepsAnyPart = core.change { $0.keepsAnyPart }
            let whole = keepsAnyPart ? rest.count : rest.count - rest.count % Int(ResumableSession.granule)
            guard whole > 0 else { return }
            guard core.change({ $0.append(rest[..<whole], receipt) }) else { throw FixturePeer.Gone() }
            rest.removeFirst(whole)
        }
        return try core.change { state throws(Answer) in try state.complete(call, receipt, rest: rest) }
    }

    /// Hands the body on piece by piece, stopping at bytes where something is to happen.
    private mutating func read(_ take: (UnsafeRawBufferPointer) throws -> Void) throws {
        let start = call.range?.lowerBound ?? 0
        while left > 0 {
            let position = start + Int64(call.length - left)
            let stop = call.carriesBytes ? core.change { $0.script.nextByte(from: position) } : nil
            if stop == position, let fault = core.change({ $0.script.trigger(byte: position) }) {
                try trigger(fault, at: position)
                continue
            }
            let count = Int(min(Int64(left), (stop ?? .max) - position))
            try peer.read(count) { [core, number] piece in
                core.change { $0.received(piece.count, by: number) }
                try take(piece)
            }
            left -= count
        }
    }

    /// Sends an object's bytes piece by piece, stopping where something is to happen.
    private mutating func send(_ answer: Answer) throws {
        var (body, done, head) = (answer.body, 0, answer.head)
        while done < body.count {
            let position = answer.firstByte + Int64(done)
            let stop = core.change { $0.script.nextByte(from: position) }
            if stop == position, let fault = core.change({ $0.script.trigger(byte: position) }) {
                try peer.write(head)
                head = []
                try trigger(fault, at: position)
                if case .corrupt = fault { body[done] ^= 1 }
                if case .closeAfterHandling = fault { throw FixturePeer.Gone() }
                continue
            }
            let count = Int(min(Int64(body.count - done), (stop ?? .max) - position))
            try peer.write(head + body[done..<(done + count)])
            head = []
            done += count
        }
        try peer.write(head)
    }

    private mutating func discard() throws {
        try peer.read(left) { [core, number] piece in core.change { $0.received(piece.count, by: number) } }
        left = 0
    }
}
