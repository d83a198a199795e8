import Storage

/// Whether the object of an upload is stored, as far as its requests with the last bytes show.
///
/// A value: the upload reports to it what happens to each of them.
///
///     absent ──sent──▶ unanswered ──answered──▶ absent, or undecided ──looked──▶ absent
///                          └──lost──▶ unanswered for good, unless bytes were missing
struct UploadFate: Equatable {
    enum Event: Equatable {
        /// An earlier process may have sent everything.
        case restored
        case sent
        /// By a response with this status.
        case answered(Int)
        /// There will be no response.
        case lost(Reach)
        /// The object is not there now: a request that was answered has not stored it.
        case looked
        /// The server has a session that is not complete, or none any more.
        case begunAnew
    }

    /// What of a request the server can have.
    enum Reach: Equatable { case nothing, part, all }

    /// Requests without a response, which the server may still carry out.
    private(set) var unanswered = 0
    /// A response left it open, or the end of an earlier process.
    private var isUndecided = false

    var mayBeStored: Bool { unanswered > 0 || isUndecided }

    mutating func handle(_ event: Event) {
        switch event {
        case .restored: isUndecided = true
        case .sent: unanswered += 1
        case .answered(let status):
            unanswered -= 1
            // With 412 an earlier request may have been quicker.
            isUndecided = isUndecided || (200..<300).contains(status) || status >= 500 || status == 412
        case .lost(.all): break
        case .lost(let reach):
            unanswered -= 1
            isUndecided = isUndecided || reach == .part
        case .looked: isUndecided = false
        case .begunAnew: self = UploadFate()
        }
    }
}

/// What is at the name of an upload before its own object, as far as this process knows.
enum Predecessor: Equatable {
    /// Nil if it is unknown; else the generation that an earlier process saw.
    case recorded(Int64?)
    /// Nil where the caller may not look.
    case seen(Int64?)
    /// Seen after a request that may have stored the object: no other generation may be replaced from then on.
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
