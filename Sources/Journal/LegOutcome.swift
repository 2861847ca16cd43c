/// What came back when a leg was sent.
package enum LegOutcome: Sendable, Equatable {
    /// A whole answer with this status.
    case answered(status: Int)
    /// No connection: the backend saw nothing.
    case connectFailed
    /// Sent, and no answer in time: the backend may have applied it.
    case timedOut
    /// The connection broke after something was sent, or what came back was not HTTP.
    case broken
}

/// Why an authoritative leg failed.
package enum LegFailure: Sendable, Equatable, CaseIterable {
    case connect, timeout, serverError, broken
}

/// What an outcome means for the authoritative leg.
package enum AuthoritativeVerdict: Sendable, Equatable {
    /// The backend took it: answer the client, then send the other leg.
    case accepted
    /// The backend said no: the client gets that answer, the other leg is skipped, the answer is kept for repeats.
    case refused
    /// "Not now" (408, 425, 429) or "not with these credentials" (401, 403, 407): the client gets that answer and the other leg
    /// is skipped, but nothing is kept: a repeat with the same key is a new attempt, because the credentials are no part of
    /// what a key stands for. No fallback: the backend works, it only wants the client to come again.
    case turnedAway
    /// No usable answer: a fallback may take over; else the client gets the 5xx, 502 or 504, and a repeat is a new attempt.
    case failed(LegFailure)
}

/// What an outcome means for the other leg.
package enum SecondaryVerdict: Sendable, Equatable {
    /// The backend has it.
    case applied
    /// It has that or something newer; counts as a conflict of that backend.
    case superseded
    /// Try again after a back-off, for as long as it takes.
    case retry
    /// Try again, and count this refusal (`LegStatus.refusals`).
    case retryRefused
    /// Refused for good.
    case parked
}

/// How often a refused secondary leg is tried again before it is parked (contract §6.4).
package let refusedRetries = 3

/// Judges the answer of the authoritative backend (contract §6.4).
///
/// A 303 says that the action was done (RFC 9110 §15.4.4), and a 302 after a POST means the same in practice: both are
/// accepted, because a write that is missing on the other side without a trace is worse than a leg that gets parked. All
/// other redirects say that nothing was done here. An interim status in the place of an answer is garbage.
package func judgeAuthoritative(_ outcome: LegOutcome) -> AuthoritativeVerdict {
    switch outcome {
    case .answered(let status):
        switch status {
        case 200...299, 302, 303: .accepted
        case 401, 403, 407, 408, 425, 429: .turnedAway
        case 300...499: .refused
        case 500...599: .failed(.serverError)
        default: .failed(.broken)
        }
    case .connectFailed: .failed(.connect)
    case .timedOut: .failed(.timeout)
    case .broken: .failed(.broken)
    }
}

/// Judges the authoritative answer to a request that the backend may have applied before: it was sent again after a broken
/// connection, or after the gateway itself had died.
///
/// What the first try may have done holds: absent for DELETE (404, 410), present for MKCOL (405), "that or something
/// newer" where the route knows revisions (409, 412). Any other refusal leaves open what the first try did.
package func judgeRepeated(_ outcome: LegOutcome, method: String, hasRevision: Bool) -> AuthoritativeVerdict {
    guard case .answered(let status) = outcome else { return judgeAuthoritative(outcome) }
    switch (method, status) {
    case ("DELETE", 404), ("DELETE", 410), ("MKCOL", 405): return .accepted
    case (_, 409) where hasRevision: return .accepted
    case (_, 412) where hasRevision: return .accepted
    default: return judgeAuthoritative(outcome)
    }
}

/// Judges the answer of the other backend (contract §6.4).
///
/// - Parameters:
///   - isDelete: the method is DELETE: what is absent already holds.
///   - hasRevision: the change carries a revision: 409 and 412 then mean "that or something newer".
///   - refusals: earlier refusals of this leg that were counted.
///   - answeredStatus: what the client was answered with: a 302 or 303 holds only where the client got one too, because
///     elsewhere it is most likely a redirect to a login.
package func judgeSecondary(
    _ outcome: LegOutcome, isDelete: Bool, hasRevision: Bool, refusals: Int, answeredStatus: Int? = nil
) -> SecondaryVerdict {
    guard case .answered(let status) = outcome else { return .retry }
    let answeredWithRedirect = answeredStatus == 302 || answeredStatus == 303
    return switch status {
    case 200...299: .applied
    case 302...303 where answeredWithRedirect: .applied
    case 404 where isDelete, 410 where isDelete: .applied
    case 409 where hasRevision, 412 where hasRevision: .superseded
    case 408, 425, 429: .retry
    case 300...499: refusals >= refusedRetries ? .parked : .retryRefused
    default: .retry
    }
}
