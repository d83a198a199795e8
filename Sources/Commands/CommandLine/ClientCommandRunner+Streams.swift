import HTTPText
import JSONRPC
import JSONText
import Methods
import Platform
import Storage

// The transfers of `storage-rpc put -`, `cat` and `get REFERENCE -`: bytes pass through this process in pieces, in
// streams of the protocol. A few pieces are in flight at a time, which limits the memory.

extension ClientCommandRunner {
    private static let requestsAtOnce = 4
    /// The maximum size of a piece.
    private static let mostBytes = 768 << 10
    /// The maximum time that a piece waits for more bytes while others are in flight.
    private static let longestGathering = Duration.milliseconds(5)

    /// Uploads standard input, which has no name of its own. An interrupted upload is removed. What a service that has ended
    /// has received may stay.
    func putInput(_ files: [String], to target: String) throws {
        guard files.count == 1 else {
            throw UsageError(message: "standard input (-) needs a REFERENCE of its own")
        }
        let object = try destination(target, of: .input).reference
        if options.isTrial { return }
        if options.isDryRun { return try tellUpload("standard input", object) }
        let transfer = RunningTransfers.Transfer(name: target, kind: .uploadTask) { metadata in
            try self.show(metadata, "\(object.url, .name)  \(Self.size(metadata))\(self.place, .dim)")
        }
        var hasBegun = false
        do {
            let stream = try begin("reference/putStream", object, writeParams + metadataParams, transfer)
            hasBegun = true
            try send(to: stream)
            try answer(to: client.say("uploadTask/finish", ["task": stream]))
        } catch let failure as Client.Failure {
            if failure.isGone, hasBegun {
                throw Client.Failure("\(failure.sentence); \(shellLine("tasks")) lists what stays of \(object.url)")
            }
            guard try isSkipped(failure, object) else { throw failure }
        }
        try endTransfers()
    }

    /// Sends all of standard input, and returns when the service has received it.
    private func send(to stream: JSON) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 1)
        defer { buffer.deallocate() }
        var (sent, hasSent, isAtEnd): ([JSON], Bool, Bool) = ([], false, false)
        while !isAtEnd {
            let count: Int
            (count, isAtEnd) = try read(into: buffer, isFirst: !hasSent)
            guard count > 0 else { continue }
            if sent.count == Self.requestsAtOnce { try answer(to: sent.removeFirst(), before: sent) }
            let data = UnsafeRawBufferPointer(rebasing: buffer[..<count]).base64
            sent.append(try client.say("uploadTask/append", ["task": stream, "data": .string(data)]))
            hasSent = true
        }
        while !sent.isEmpty { try answer(to: sent.removeFirst(), before: sent) }
    }

    /// The size of a piece, since a service that this command starts may accept only short messages.
    private var pieceBytes: Int {
        let message = options.service.limits.connection.messageBytes
        return min(Self.mostBytes, max(1, (message - 512) / 4 * 3))
    }

    /// Reads standard input until the buffer is full, the input ends, or no more bytes arrive at once.
    private func read(
        into buffer: UnsafeMutableRawBufferPointer, isFirst: Bool = false
    ) throws -> (count: Int, isAtEnd: Bool) {
        var count = 0
        while count < buffer.count {
            if count == 0 {
                try client.waitForInput(tells: isFirst)
            } else if !Descriptor.waitUntilReadable(.standardInput, nil, timeout: Self.longestGathering).first {
                break
            }
            let read: Int
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
            do throws(SystemError) { read = try Descriptor.standardInput.readBlocking(into: room) } catch {
                throw Client.Failure("standard input cannot be read: \(error.reason)")
            }
            guard read > 0 else { return (count, true) }
            count += read
        }
        return (count, false)
    }

    /// All of standard input as a text.
    func readInput(atMost limit: Int) throws -> String {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 1)
        defer { buffer.deallocate() }
        var (bytes, isAtEnd): ([UInt8], Bool) = ([], false)
        while !isAtEnd {
            let count: Int
            (count, isAtEnd) = try read(into: buffer, isFirst: bytes.isEmpty)
            guard bytes.count + count <= limit else {
                throw Client.Failure("standard input has more than the \(ProgressReport.size(Int64(limit))) of PARAMS")
            }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Writes objects to stdout, or to another output, as they arrive.
    func cat(_ texts: [String], to output: Output = .standard) throws {
        guard !options.isRecursive else { throw UsageError(message: "-r needs a directory, not \(output.name)") }
        // Progress is shown only on request, since the bytes themselves are visible.
        transfers.display = ProgressDisplay(options.progress ?? ProgressMode.none, isQuiet: options.isQuiet)
        for object in try allSources(texts).flatMap(\.items) {
            try attempt(orFail: texts.count == 1) {
                if self.options.isDryRun {
                    try self.checkThere(object)
                    return try self.tellPlan("download", object.url, output.name)
                }
                try self.write(object, to: output)
            }
        }
    }

    /// Writes an object, and returns when all of it is written and verified.
    private func write(_ object: Reference, to output: Output) throws {
        let transfer = RunningTransfers.Transfer(name: object.url, kind: .downloadTask) { _ in }
        let stream = try begin("reference/getStream", object, [], transfer)
        var (asked, written, isAtEnd): ([JSON], Int64, Bool) = ([], 0, false)
        do {
            while !isAtEnd {
                // Most objects consist of one piece.
                while asked.count < (written == 0 ? 1 : Self.requestsAtOnce) {
                    let params: JSON = ["task": stream, "length": JSON(Int64(Self.mostBytes))]
                    asked.append(try client.say("downloadTask/read", params))
                }
                let piece = try answer(to: asked.removeFirst(), before: asked)
                guard let bytes = piece["data"]?.string.flatMap({ [UInt8](base64: $0) }),
                    piece["offset"]?.number?.int64 == written
                else { throw Client.Failure("\(object.url): the service has sent a piece that does not follow") }
                try bytes.withUnsafeBytes { try output.write($0) }
                written += Int64(bytes.count)
                isAtEnd = piece["isEnd"] == true
            }
        } catch let failure as Client.Failure where failure.isAnswer && written > 0 {
            try passOver(asked)
            throw failure.about("what was written is incomplete")
        }
        try passOver(asked)
        while !transfers.running.isEmpty { try hearTransfers() }
    }

    /// Waits for the answers to reads beyond the end.
    private func passOver(_ requests: [JSON]) throws {
        for id in requests { _ = try message(answering: id, before: requests) }
    }

    /// Begins a stream, which ends with this command. Its failure is reported by the answers to the requests for its
    /// pieces.
    ///
    /// - Returns: the id of its task.
    private func begin(
        _ method: String, _ object: Reference, _ members: [JSON.Member], _ transfer: RunningTransfers.Transfer
    ) throws -> JSON {
        var transfer = transfer
        transfer.failed = { _, _ in true }
        early = []
        let started = try client.call(
            method,
            .object(
                [.init(key: "reference", value: object.json)] + members + [.init(key: "observe", value: Self.observed)])
        )
        guard let task = started["task"] else { throw Client.Failure("\(method) has begun no task") }
        follow(task.string ?? "", transfer, started)
        return task
    }

    /// Follows the transfer until the answer to a request arrives.
    @discardableResult
    private func answer(to id: JSON, before others: [JSON] = []) throws -> JSON {
        try client.result(message(answering: id, before: others)).get()
    }

    /// Returns the answer to a request. Answers to later ones may arrive first, since the service encodes several
    /// concurrently.
    private func message(answering id: JSON, before others: [JSON]) throws -> JSON {
        while true {
            if let place = early.firstIndex(where: { $0["id"] == id }) { return early.remove(at: place) }
            if let message = try hearTransfers(orAnswerTo: [id] + others) { early.append(message) }
        }
    }
}
