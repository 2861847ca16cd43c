/// Why a user is served by a side: the text of `Cutover-Reason` and of `explain`.
@usableFromInline package enum Reason: UInt8, Sendable, CaseIterable {
    case anonymous
    case pinnedLegacy
    case pinnedNew
    case outsidePercent
    case notBackfilled
    case behind
    case breakerOpen
    case inPercent
    case draining
    case fallbackConnect
    case fallbackTimeout
    case fallback5xx
    case fallback404
    /// The route names its backend (`kind: legacy` or `kind: new`).
    case route

    /// The word that goes over the wire.
    package var name: StaticString {
        switch self {
        case .anonymous: "anonymous"
        case .pinnedLegacy: "pinned-legacy"
        case .pinnedNew: "pinned-new"
        case .outsidePercent: "outside-percent"
        case .notBackfilled: "not-backfilled"
        case .behind: "behind"
        case .breakerOpen: "breaker-open"
        case .inPercent: "in-percent"
        case .draining: "draining"
        case .fallbackConnect: "fallback-connect"
        case .fallbackTimeout: "fallback-timeout"
        case .fallback5xx: "fallback-5xx"
        case .fallback404: "fallback-404"
        case .route: "route"
        }
    }
}
