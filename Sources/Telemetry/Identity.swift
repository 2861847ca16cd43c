/// Why a token or a signed cookie was not believed. In the order in which it is judged: of two refusals of one request the
/// later one says more.
@usableFromInline package enum IdentityRejection: String, Sendable, CaseIterable {
    /// It is no token: its parts, its JSON, a member twice, `crit`, no `exp` where one is needed.
    case malformed
    /// Signed with another algorithm than the configured keys are for, `none` among them.
    case algorithm
    /// It names a key that is not there.
    case unknownKey = "unknown_key"
    case signature
    case issuer
    case audience
    case notYetValid = "not_yet_valid"
    case expired

    /// Position in the cell map.
    @inlinable package var index: Int {
        switch self {
        case .malformed: 0
        case .algorithm: 1
        case .unknownKey: 2
        case .signature: 3
        case .issuer: 4
        case .audience: 5
        case .notYetValid: 6
        case .expired: 7
        }
    }
}

extension LoopMetrics {
    /// A request offered a token or a signed cookie that does not hold, whatever became of the request.
    @inlinable @inline(__always)
    package func identityRejected(_ reason: IdentityRejection) { add(Cells.identityRejections &+ reason.index) }

    /// A token was looked for among those that have been verified before.
    @inlinable @inline(__always)
    package func identityLookup(found: Bool) { add(Cells.identityLookups &+ (found ? 0 : 1)) }
}

extension PrometheusText {
    /// What became of tokens and signed cookies.
    mutating func identity(_ snapshot: MetricsSnapshot) {
        begin(
            "cutover_identity_rejected_total", .counter,
            "Requests with a token or signed cookie that does not verify, by reason.")
        for reason in IdentityRejection.allCases {
            sample([("reason", reason.rawValue)], snapshot.counter(Cells.identityRejections + reason.index))
        }
        begin(
            "cutover_identity_lookups_total", .counter,
            "Tokens looked for among those verified lately; a miss is a signature that was checked.")
        for (position, result) in ["hit", "miss"].enumerated() {
            sample([("result", result)], snapshot.counter(Cells.identityLookups + position))
        }
    }
}
