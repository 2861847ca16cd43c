/// The moments that are no change of stage or percent, in milliseconds since 1970. One that is the same as `since` is not kept.
extension RolloutState {
    /// When the state as it is now began: a pause, a rollback, a resumption.
    package var stateSince: Int64 { stateSinceMilliseconds ?? sinceMilliseconds }

    /// Where the present attempt in this stage began: what the gates look at, and the hold, count from here.
    package var attemptSince: Int64 { attemptSinceMilliseconds ?? sinceMilliseconds }

    /// From where on time under load may count for the hold.
    package var heldFrom: Int64 { heldFromMilliseconds ?? attemptSince }

    mutating func setStateSince(_ moment: Int64) {
        stateSinceMilliseconds = moment == sinceMilliseconds ? nil : moment
    }

    /// Another attempt begins in the stage: nothing from before speaks for or against it.
    mutating func beginAttempt(_ moment: Int64) {
        attemptSinceMilliseconds = moment == sinceMilliseconds ? nil : moment
        heldFromMilliseconds = nil
    }

    /// What the stage was held before counts no more.
    mutating func holdAnew(_ moment: Int64) { heldFromMilliseconds = moment == attemptSince ? nil : moment }

    /// As in another state of the same stage at the same percent.
    mutating func takeTimes(of other: RolloutState) {
        sinceMilliseconds = other.sinceMilliseconds
        stateSinceMilliseconds = other.stateSinceMilliseconds
        attemptSinceMilliseconds = other.attemptSinceMilliseconds
        heldFromMilliseconds = other.heldFromMilliseconds
    }
}
