import CLinux
import Journal
import Rollout

/// The way of one leg to its backend after the client has its answer (or, after a restart, before anybody knows whether it
/// had one). Confined to its loop.
final class Delivery: @unchecked Sendable {
    let sequence: Sequence64
    let user: String?
    let side: Side
    let acceptedMilliseconds: Int64
    var status: LegStatus
    /// The request; nil when it has to be read from the journal.
    var message: LegMessage?
    /// The stage of the other leg, for a delivery that decides over it (`isAuthoritative`).
    var otherStatus: LegStatus
    /// After a restart: nobody was answered yet, so this leg's answer decides what becomes of the other one.
    var isAuthoritative: Bool
    var answeredStatus: Int?
    /// What a repeat with the same key will get; for a delivery that decides (`isAuthoritative`).
    var answer: StoredAnswer?
    /// The write has already been counted as conflicted.
    var isConflicted = false
    /// The span of the try under way, where it is exported.
    var span: Span?
    /// Called after the first attempt, whatever it came to.
    var afterFirstAttempt: (() -> Void)?

    init(
        sequence: Sequence64, user: String?, side: Side, acceptedMilliseconds: Int64, status: LegStatus,
        message: LegMessage?,
        otherStatus: LegStatus = LegStatus(.applied), isAuthoritative: Bool = false, answeredStatus: Int?
    ) {
        self.sequence = sequence
        self.user = user
        self.side = side
        self.acceptedMilliseconds = acceptedMilliseconds
        self.status = status
        self.message = message
        self.otherStatus = otherStatus
        self.isAuthoritative = isAuthoritative
        self.answeredStatus = answeredStatus
    }

    /// A leg that comes from the journal, with the status that its client was told.
    convenience init(_ change: OutstandingChange, _ side: Side) {
        self.init(
            sequence: change.sequence, user: change.user, side: side,
            acceptedMilliseconds: change.acceptedMilliseconds, status: change.legs[side], message: nil,
            answeredStatus: change.answeredStatus)
    }
}
