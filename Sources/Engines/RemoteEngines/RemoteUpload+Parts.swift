import Checksums
import HTTPClient
import HTTPText
import LocalFiles
import Platform
import Storage

// Uploads in parts: parts → completing → stored.
//
// The request that makes the object of the parts ("Complete") may have no answer, and repeating or cancelling it is
// dangerous: a server that has made the object and still lists the upload destroys the object when the upload is
// completed again or cancelled. So once Complete was sent:
//
// - The upload is never cancelled, unless Complete itself was finally refused, and no earlier one is without an answer:
//   the server may still be carrying that one out, so a refusal of a later one does not say that nothing is stored.
// - Before each repetition the object is looked up. If this upload has written it, that is the answer.
// - A server that was restarted in the middle refuses Complete for ten minutes, so its failures are retried longer.

/// The parts that a session has received in order, and whether Complete was sent.
struct UploadedParts: Equatable {
    /// The tags of the parts, from the first one.
    var tags: [String] = []
    /// Complete was sent, or may have been sent by an earlier process, and was not finally refused.
    var isCompleting = false
    /// Complete was sent to an earlier session, which the server may still make an object of.
    private(set) var isInDoubt = false
    /// The parts of an earlier process, until the server has listed them.
    var restored: PartsBookmark?

    init(_ restored: PartsBookmark? = nil) {
        self.restored = restored
        (isCompleting, isInDoubt) = (restored?.isCompleting ?? false, restored?.isInDoubt ?? false)
    }

    /// The parts of a new session.
    init(after earlier: UploadedParts) { isInDoubt = earlier.isInDoubt || earlier.isCompleting }

    func bookmark(_ write: RemoteWrite?) -> PartsBookmark? {
        if let restored { return restored }
        return write.map {
            PartsBookmark(
                write: $0, count: tags.count, digest: digest(), isCompleting: isCompleting,
                isInDoubt: isInDoubt ? true : nil)
        }
    }

    /// The MD5 of the first tags.
    func digest(of count: Int = .max) -> String {
        Checksum(of: Array(tags.prefix(count).joined(separator: "\n").utf8)).md5.hexadecimal
    }

    /// Whether a list of the server begins with the parts that were sent.
    func isContinued(by listed: [String]) -> Bool {
        if let restored {
            var parts = UploadedParts()
            parts.tags = listed
            return listed.count >= restored.count && parts.digest(of: restored.count) == restored.digest
        }
        return listed.starts(with: tags)
    }

    /// The MD5 of the MD5s of the parts, if all tags are such.
    var md5: [UInt8]? {
        var all: [UInt8] = []
        for tag in tags {
            guard let md5 = [UInt8](hexadecimal: tag), md5.count == 16 else { return nil }
            all += md5
        }
        return tags.isEmpty ? nil : Checksum(of: all).md5
    }
}

/// A request with a part of an upload.
@Loop final class PartInFlight {
    typealias Answer = (request: RemoteRequest, response: HTTPResponse)

    let range: Range<Int64>
    let progress: BodyProgress
    private let work: Task<Result<Answer, StorageError>, Never>

    /// - Parameter send: sends the part. Begins at once.
    init(
        _ range: Range<Int64>, _ progress: BodyProgress, _ send: @escaping @Loop () async throws(StorageError) -> Answer
    ) {
        (self.range, self.progress) = (range, progress)
        work = Loop.task { () async -> Result<Answer, StorageError> in
            do throws(StorageError) { return .success(try await LastStatus.attached(by: send)) } catch {
                return .failure(error)
            }
        }
    }

    /// The answer of the server. A step that is stopped ends the request.
    func answer() async throws(StorageError) -> Answer {
        try await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            work.cancel()
        }.get()
    }

    func cancel() { work.cancel() }
}

/// What the next process needs to continue an upload in parts.
struct PartsBookmark: Codable, Equatable {
    var write: RemoteWrite
    /// The number of parts that the server has acknowledged.
    var count: Int
    /// The MD5 of their tags.
    var digest: String
    var isCompleting: Bool
    var isInDoubt: Bool?
}

@Loop extension RemoteUpload {
    /// The part of the object that begins where the range begins. The session's parts have one size.
    private func part(_ range: Range<Int64>, of session: RemoteSession) -> Range<Int64> {
        guard !range.isEmpty else { return range }
        let end = range.lowerBound.addingSaturated(session.granularity)
        return range.lowerBound..<min(upload.source.size ?? end, end)
    }

    func sendPart(_ wanted: Range<Int64>, _ dialect: any PartDialect) async throws(StorageError) -> Answer {
        let session = try opened()
        let range = part(wanted, of: session)
        let number = Int(range.lowerBound / session.granularity) + 1
        let isAligned = range.isEmpty || range.lowerBound % session.granularity == 0 && parts.tags.count == number - 1
        guard isAligned else { return try await resumedParts(dialect) }
        if !range.isEmpty {
            try checkNumber(number, session)
            if let answer = try await send(range, as: number, to: session, dialect) { return answer }
        }
        guard range.upperBound == upload.source.size, !Task.isCancelled else {
            return .received(upTo: range.upperBound)
        }
        return try await complete(session, dialect)
    }

    private var mostParts: Int { Int(clamping: backend.properties.parts?.mostParts ?? .max) }

    private func checkNumber(_ number: Int, _ session: RemoteSession) throws(StorageError) {
        guard number > mostParts else { return }
        throw StorageError(
            .invalidArgument,
            "An upload has at most \(mostParts) parts, and those of this one have \(session.granularity) bytes: "
                + "set uploadChunkSizeBytes to a larger number before it begins.")
    }

    /// Sends a part. Returns nil once the server has it.
    private func send(
        _ range: Range<Int64>, as number: Int, to session: RemoteSession, _ dialect: any PartDialect
    ) async throws(StorageError) -> Answer? {
        let part = partInFlight(range, as: number, to: session, dialect)
        defer { partsInFlight.present = nil }
        let (request, response) = try await part.answer()
        LastStatus.record(response.status)
        guard response.isSuccess else {
            let refusal = try await destination.refusal(response, of: request)
            guard response.status == 404 || response.status == 410 else { throw refusal }
            return try await lost(refusal)
        }
        let tag = try response.understood(about: upload.reference, retryable: true) { response throws(GarbledAnswer) in
            try dialect.tag(in: response)
        }
        parts.tags.append(tag)
        source.note(receivedUpTo: range.upperBound)
        return nil
    }

    /// The part that is being sent already, or that is begun now.
    private func partInFlight(
        _ range: Range<Int64>, as number: Int, to session: RemoteSession, _ dialect: any PartDialect
    ) -> PartInFlight {
        if partsInFlight.ahead?.range != range { dropPartAhead() }
        let part = partsInFlight.ahead ?? begun(range, as: number, to: session, dialect)
        partsInFlight = (part, nil)
        follow(part.progress)
        if part.progress.isThrough { beginPart(after: part, as: number + 1, to: session, dialect) }
        return part
    }

    private func begun(
        _ range: Range<Int64>, as number: Int, to session: RemoteSession, _ dialect: any PartDialect
    ) -> PartInFlight {
        let progress = BodyProgress(count: Int64(range.count), elapsed: backend.time.clock.stopwatch()) { [weak self] in
            Task { @Loop in
                guard let self, let part = self.partsInFlight.present, part.range == range else { return }
                self.beginPart(after: part, as: number + 1, to: session, dialect)
            }
        }
        return PartInFlight(range, progress) { [self] () async throws(StorageError) in
            let (body, md5) = try await source.part(range)
            var request = dialect.send(part: number, to: session, body, md5: md5)
            let response = try await backend.ask(
                request, for: upload.caller, about: upload.reference, onSent: progress.note)
            request.body = .none
            return (request, response)
        }
    }

    /// Sends the next part while the server answers the present one, whose bytes are all sent: otherwise each part would
    /// wait for a round trip. Bytes of a client come with the step.
    private func beginPart(
        after part: PartInFlight, as number: Int, to session: RemoteSession, _ dialect: any PartDialect
    ) {
        let size = upload.source.size ?? 0
        guard partsInFlight.ahead == nil, source.isComplete, number <= mostParts, part.range.upperBound < size,
            session == self.session
        else { return }
        partsInFlight.ahead = begun(
            self.part(part.range.upperBound..<size, of: session), as: number, to: session, dialect)
    }

    /// Ends the request with a part whose step has not begun.
    func dropPartAhead() {
        partsInFlight.ahead?.cancel()
        partsInFlight.ahead = nil
    }

    /// Asks the server for the parts that it has. After Complete was sent, looks for the object first.
    func resumedParts(_ dialect: any PartDialect) async throws(StorageError) -> Answer {
        if destination.fate.mayBeStored || parts.isCompleting, let stored = try await destination.ownStoredObject() {
            return .completed(try await checked(stored))
        }
        guard let session else { return try await lost(StorageError(.unknown, "The upload session is not known.")) }
        var listed: [PartPage.Part] = []
        var next: Int? = 0
        while let after = next {
            let request = dialect.parts(of: session, after: after)
            let response = try await ask(request)
            guard response.isSuccess else {
                let refusal = try await destination.refusal(response, of: request)
                guard response.status == 404 || response.status == 410 else { throw refusal }
                return try await lost(refusal)
            }
            let page = try response.understood(about: upload.reference, retryable: true) {
                response throws(GarbledAnswer) in try dialect.parts(in: response)
            }
            listed += page.parts
            guard listed.count <= mostParts else {
                return given(up: session, dialect, "The server lists more parts than an upload may have.")
            }
            next = page.parts.isEmpty ? nil : page.next.flatMap { $0 > after ? $0 : nil }
        }
        return try await resumed(with: listed, of: session, dialect)
    }

    private func resumed(
        with listed: [PartPage.Part], of session: RemoteSession, _ dialect: any PartDialect
    ) async throws(StorageError) -> Answer {
        let size = upload.source.size
        var (tags, offset, last): ([String], Int64, Int) = ([], 0, 0)
        // Complete must name all parts, so a list with others cannot be continued.
        let hasOthers = listed.contains { part in
            defer { last = part.number }
            guard part.number > last, part.size > 0, part.size == session.size(ofPart: part.number, of: size) else {
                return true
            }
            if part.number == tags.count + 1 {
                tags.append(part.tag)
                offset += part.size
                return false
            }
            // A part that was sent ahead is sent again.
            return !source.isComplete
        }
        let isWhole = size == offset
        guard parts.isContinued(by: tags), !hasOthers else {
            return given(up: session, dialect, "The server has other parts of the upload than were sent.")
        }
        // An earlier process sends Complete after the last part, and may not have recorded it.
        let mayBeCompleting = isWhole && parts.restored != nil
        parts.tags = tags
        parts.restored = nil
        if mayBeCompleting { parts.isCompleting = true }
        guard parts.isCompleting else {
            if let superseded = try await destination.answerIfSuperseded() { return superseded }
            destination.fate.handle(.begunAnew)
            return .received(upTo: offset)
        }
        guard isWhole else {
            return .forgotten(StorageError(.unknown, "The server has lost parts of the upload."))
        }
        return try await complete(session, dialect)
    }

    /// The answer for a session that cannot be continued. It is cancelled as by a discarded upload.
    private func given(up session: RemoteSession, _ dialect: any PartDialect, _ why: String) -> Answer {
        if !parts.isCompleting { self.session = nil }
        discardParts(of: session, dialect)
        return .forgotten(StorageError(.unknown, why))
    }

    /// Makes the object of the parts.
    private func complete(_ session: RemoteSession, _ dialect: any PartDialect) async throws(StorageError) -> Answer {
        guard let size = upload.source.size,
            Int64(parts.tags.count) == session.partCount(of: size)
        else { return try await resumedParts(dialect) }
        let turn = try await backend.turn(of: upload.reference, for: upload.caller)
        defer { turn?.done() }
        if parts.isCompleting, let stored = try await destination.ownStoredObject() {
            return .completed(try await checked(stored))
        }
        if let answer = try await destination.answerIfSuperseded() { return answer }
        try await destination.lookAgain()
        try checkIncoming()
        if size == 0 {
            // An upload in parts has at least one.
            self.session = nil
            backend.cancel(session, upload)
            return try await sendWhole([], turn)
        }
        let request = dialect.complete(session, parts.tags)
        let isRepeated = parts.isCompleting
        parts.isCompleting = true
        var response: HTTPResponse
        do throws(StorageError) {
            response = try await destination.last(reach: reach(after:)) { onLost async throws(StorageError) in
                try await backend.ask(
                    request, for: upload.caller, about: upload.reference,
                    onSent: counter(of: request.body.count, isLast: true), onLost: onLost)
            }
        } catch {
            if !isRepeated, !destination.fate.mayBeStored { parts.isCompleting = false }
            throw error
        }
        turn?.done()
        if response.isSuccess {
            let error = try response.understood(about: upload.reference, retryable: true) {
                response throws(GarbledAnswer) in try dialect.errorOfCompletion(in: response)
            }
            guard let error else { return .completed(try await completed()) }
            response = error
        }
        return try await refused(response, request, session, dialect, isRepeated: isRepeated)
    }

    /// - Parameter isRepeated: an earlier Complete of the session has had no final answer.
    private func refused(
        _ response: HTTPResponse, _ request: RemoteRequest, _ session: RemoteSession, _ dialect: any PartDialect,
        isRepeated: Bool
    ) async throws(StorageError) -> Answer {
        var refusal = try await destination.refusal(response, of: request)
        guard dialect.isFinal(response) else {
            guard !refusal.retryable else { throw refusal.with(\.needsPatience, true) }
            if let stored = try await destination.ownStoredObject() { return .completed(try await checked(stored)) }
            throw refusal.leftInDoubt
        }
        // An earlier request may have stored the object.
        if let stored = try await destination.ownStoredObject() { return .completed(try await checked(stored)) }
        if isRepeated || parts.isInDoubt { refusal = refusal.leftInDoubt }
        if isRepeated, !response.isAboutEndedSession {
            (refusal.retryable, refusal.needsPatience) = (true, true)
            throw refusal
        }
        if !isRepeated {
            parts.isCompleting = false
            destination.fate.handle(.begunAnew)
            self.session = nil
            if dialect.changesNothing(response) { backend.cancel(session, upload) }
        }
        return .forgotten(refusal)
    }

    /// The object that Complete has stored.
    private func completed() async throws(StorageError) -> ObjectMetadata {
        switch try await backend.look(at: upload.reference, for: upload.caller) {
        case .object(let object, _) where object.writeID == destination.write?.id: return try await checked(object)
        case .object(let other, _):
            // Another client has replaced it since.
            if let written = written(), backend.dialect.isNewer(other, than: written) { return written }
            throw .neverStored(upload.reference)
        case .nothing: throw .neverStored(upload.reference)
        case .hidden(let refusal): throw refusal
        }
    }

    /// The metadata of the object that this upload has written.
    private func written() -> ObjectMetadata? {
        guard let write = destination.write, let size = upload.source.size else { return nil }
        var object = ObjectMetadata(
            reference: upload.reference, generation: write.generation, metageneration: 1, size: size,
            timeCreated: write.time, updated: write.time,
            checksums: Checksums(md5: write.md5, crc32c: write.crc32c), settable: upload.metadata)
        object.writeID = write.id
        return object
    }

    /// The stored object, whose tag must be that of the parts that were sent.
    private func checked(_ stored: ObjectMetadata) async throws(StorageError) -> ObjectMetadata {
        if let found = stored.checksums.parts, let mine = parts.md5, found.md5 != mine {
            throw StorageError(
                .nonMatchingChecksum,
                "What was stored at \(upload.reference.url) is not what was uploaded: its parts are others."
            ).about(upload.reference)
        }
        return try await destination.verified(stored, isNamed: false)
    }

    /// Cancels a session, unless Complete was sent or may have been sent.
    func discardParts(of session: RemoteSession, _ dialect: any PartDialect) {
        guard !parts.isCompleting else { return }
        guard parts.restored != nil else { return backend.cancel(session, upload) }
        guard let size = upload.source.size else { return }
        backend.cancel(session, upload, unlessWhole: size, dialect)
    }
}

extension RemoteBackend {
    /// Cancels a session of parts in the background, unless it has all parts of an object of this size: Complete, which
    /// follows them, may have been sent.
    @Loop func cancel(_ session: RemoteSession, _ upload: Upload, unlessWhole size: Int64, _ dialect: any PartDialect) {
        background.run { [self] in
            guard let isWhole = try? await hasAllParts(session, of: size, upload, dialect), !isWhole else { return }
            cancel(session, upload)
        }
    }

    /// The last part may be sent ahead of the answer to the one before it, and that one not before the server has all others.
    func hasAllParts(
        _ session: RemoteSession, of size: Int64, _ upload: Upload, _ dialect: any PartDialect
    ) async throws(StorageError) -> Bool {
        let count = Int(clamping: session.partCount(of: size))
        let request = dialect.parts(of: session, after: max(0, count - 2))
        let response = try await success(of: request, upload.reference, upload.caller.with(retryTime: .seconds(4)))
        let page = try response.understood(about: upload.reference) { response throws(GarbledAnswer) in
            try dialect.parts(in: response)
        }
        return page.parts.count >= max(1, min(2, count))
    }
}

extension RemoteSession {
    /// The number of parts of an object of this size.
    fileprivate func partCount(of size: Int64) -> Int64 { size == 0 ? 0 : (size - 1) / granularity + 1 }

    /// The size in bytes of a part of an object of this size; nil if it has no such part.
    fileprivate func size(ofPart number: Int, of size: Int64?) -> Int64? {
        guard let size else { return granularity }
        let start = Int64(number - 1).multipliedReportingOverflow(by: granularity)
        return start.overflow || start.partialValue >= size ? nil : min(granularity, size - start.partialValue)
    }
}
