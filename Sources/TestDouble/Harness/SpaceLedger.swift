import Platform
import Storage
import Synchronization

/// The buckets and the quota of a space, and the objects that it has stored.
package final class SpaceLedger: Sendable {
    private struct State {
        var sizes: [ReferenceKey: Int64] = [:]
        var stored: Int64 = 0
        /// The number of bytes that uploads in flight will add.
        var expected: Int64 = 0
    }

    private struct ReferenceKey: Hashable {
        let bucket: [UInt8]
        let object: [UInt8]

        init(_ reference: Reference) {
            (bucket, object) = (Array(reference.bucket.utf8), Array(reference.object.utf8))
        }
    }

    /// The buckets of the space; nil for any bucket.
    let buckets: Set<String>?
    /// The quota in bytes; nil for no limit.
    private let quota: Int64?
    private let state = Mutex(State())
    private let references = Mutex<[ReferenceKey: Reference]>([:])

    package init(buckets: Set<String>?, quota: Int64?) { (self.buckets, self.quota) = (buckets, quota) }

    /// The existing objects that this space has stored.
    package var stored: [Reference] { references.withLock { Array($0.values) } }

    /// Throws `bucketNotFound` for a bucket outside the space.
    func check(_ reference: Reference) throws(StorageError) {
        guard let buckets, !buckets.contains(reference.bucket) else { return }
        throw StorageError(.bucketNotFound, "There is no bucket \"\(reference.bucket)\" in this space.")
            .about(reference)
    }

    /// Reserves bytes for an object. Returns the number of bytes to give back later. Throws `quotaExceeded`.
    func reserve(_ size: Int64, at reference: Reference) throws(StorageError) -> Int64 {
        try check(reference)
        guard let quota else { return 0 }
        let missing = state.withLock { state -> Int64? in
            let added = size.subtractingSaturated(state.sizes[ReferenceKey(reference)] ?? 0)
            let (held, isTooMuch) = state.stored.addingReportingOverflow(state.expected)
            let (all, isMore) = held.addingReportingOverflow(added)
            guard !isTooMuch, !isMore, all <= quota else { return nil }
            state.expected = state.expected.addingSaturated(added)
            return added
        }
        if let missing { return missing }
        throw StorageError(.quotaExceeded, "This space has a quota of \(quota) bytes.").about(reference)
    }

    /// Records that an object may be stored at the reference.
    package func note(_ reference: Reference) { references.withLock { $0[ReferenceKey(reference)] = reference } }

    /// The size of an object of this space; 0 for any other.
    func size(of reference: Reference) -> Int64 { state.withLock { $0.sizes[ReferenceKey(reference)] ?? 0 } }

    func giveBack(_ bytes: Int64) { state.withLock { $0.expected = $0.expected.subtractingSaturated(bytes) } }

    package func add(_ size: Int64, at reference: Reference) {
        let key = ReferenceKey(reference)
        state.withLock { state in
            let before = state.sizes.updateValue(size, forKey: key) ?? 0
            state.stored = state.stored.subtractingSaturated(before).addingSaturated(size)
        }
        references.withLock { $0[key] = reference }
    }

    func remove(_ reference: Reference) {
        let key = ReferenceKey(reference)
        state.withLock { $0.stored = $0.stored.subtractingSaturated($0.sizes.removeValue(forKey: key) ?? 0) }
        references.withLock { $0[key] = nil }
    }
}

/// An upload whose steps count against the quota.
final class SpaceUpload: TransferSession {
    typealias Strategy = UploadStrategy

    private let session: any UploadSession
    private let reference: Reference
    private let source: UploadSource
    private let ledger: SpaceLedger

    init(_ session: any UploadSession, _ reference: Reference, _ source: UploadSource, _ ledger: SpaceLedger) {
        (self.session, self.reference, self.source, self.ledger) = (session, reference, source, ledger)
    }

    /// Nil unless the upload is a copy.
    private var copy: CopyRequest? { source.copy?.request }

    /// The minimum size of the object after the step.
    private func size(after step: UploadMachine.Step, _ context: StepContext) -> Int64 {
        if step.isSettling || step.isComparison { return 0 }
        if let copy { return copy.isMove ? 0 : ledger.size(of: copy.reference) }
        if let size = context.bytes.map(\.size) ?? source.size { return size }
        return if case .send(let range) = step { range.upperBound } else { 0 }
    }

    func perform(_ step: UploadMachine.Step, _ context: StepContext) async -> UploadMachine.Answer {
        let reserved: Int64
        do throws(StorageError) {
            if let copy { try ledger.check(copy.reference) }
            reserved = try ledger.reserve(size(after: step, context), at: reference)
        } catch {
            return .failed(error)
        }
        // The server may store an object although its upload was cancelled or its answer was lost.
        ledger.note(reference)
        let answer = await session.perform(step, context)
        ledger.giveBack(reserved)
        if case .completed(let stored) = answer {
            ledger.add(stored.size, at: reference)
            if let copy, copy.isMove { ledger.remove(copy.reference) }
        }
        return answer
    }

    func park() { session.park() }
    func discard() { session.discard() }
    func bookmark() async -> Bookmark? { await session.bookmark() }
}

/// A download from a bucket that must be in the space.
final class SpaceDownload: TransferSession {
    typealias Strategy = DownloadStrategy

    private let session: any DownloadSession
    private let reference: Reference
    private let ledger: SpaceLedger

    init(_ session: any DownloadSession, _ reference: Reference, _ ledger: SpaceLedger) {
        (self.session, self.reference, self.ledger) = (session, reference, ledger)
    }

    func perform(_ step: DownloadStrategy.Step, _ context: StepContext) async -> DownloadStrategy.Answer {
        do throws(StorageError) { try ledger.check(reference) } catch { return .failed(error) }
        return await session.perform(step, context)
    }

    func park() { session.park() }
    func discard() { session.discard() }
    func bookmark() async -> Bookmark? { await session.bookmark() }
}
