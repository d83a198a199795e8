import Storage

/// Whether the object of an upload may be stored, according to the requests with the last bytes.
///
/// A value, to which the upload reports each event of these requests.
///
///     absent ──sent──▶ unanswered ──answered──▶ absent, or undecided ──looked──▶ absent
///                          └──lost──▶ unanswered for good, unless bytes were missing
struct UploadFate: Equatable {
    enum Event: Equatable {
        /// The task is resumed from an earlier process, which may have sent everything.
        case restored
        case sent
        /// The server has responded with this status.
        case answered(Int)
        /// The request will have no response.
        case lost(Reach)
        /// The object does not exist now: the answered requests have not stored it.
        case looked
        /// The server's session is incomplete, or it has none.
        case begunAnew
    }

    /// What the server may have received of a request.
    enum Reach: Equatable { case nothing, part, all }

    /// The number of requests without a response, which the server may still carry out.
    private(set) var unanswered = 0
    /// A response, or the end of an earlier process, leaves open whether the object is stored.
    private var isUndecided = false
    /// The server has failed while it carried out a request.
    private var hasFailed = false

    var mayBeStored: Bool { unanswered > 0 || isUndecided }
    /// A request of this process has no final answer, so an error of a later one does not say that nothing is stored.
    var isInDoubt: Bool { unanswered > 0 || hasFailed }

    mutating func handle(_ event: Event) {
        switch event {
        case .restored: isUndecided = true
        case .sent: unanswered += 1
        case .answered(let status):
            unanswered -= 1
            // A status of 412 may mean that an earlier request has stored the object.
            isUndecided = isUndecided || (200..<300).contains(status) || status >= 500 || status == 412
            hasFailed = hasFailed || status >= 500
        case .lost(.all): break
        case .lost(let reach):
            unanswered -= 1
            isUndecided = isUndecided || reach == .part
        case .looked: (isUndecided, hasFailed) = (false, false)
        case .begunAnew: self = UploadFate()
        }
    }
}

/// The object with the name of an upload before the upload, as far as this process knows.
enum Predecessor: Equatable {
    /// The generation that an earlier process has seen; nil if unknown.
    case recorded(Int64?)
    /// The generation that this process has seen; nil if the caller may not read it.
    case seen(Int64?)
    /// The generation after a request that may have stored the object: afterwards, no other generation may be replaced.
    case bound(Int64)

    var generation: Int64? {
        switch self {
        case .recorded(let generation), .seen(let generation): generation
        case .bound(let generation): generation
        }
    }

    var isSeen: Bool { if case .recorded = self { false } else { true } }
    var isBound: Bool { if case .bound = self { true } else { false } }
}
