// The words that label the metrics. Each has an `index` beside its word: cells are found by it on the hot path, where a
// raw value's getter would be a call into this module. No case order may change without the cell map (`Cells`).

/// A backend, as the metrics know it. Its index equals the raw value of the routing side of the same name.
@usableFromInline package enum Backend: Int, Sendable, CaseIterable {
    case legacy = 0
    case new = 1

    /// 0 is legacy, anything else is new.
    @inlinable package init(index: Int) { self = index == 0 ? .legacy : .new }

    /// Position in the cell map.
    @inlinable package var index: Int { self == .legacy ? 0 : 1 }

    /// The value of the label `backend`.
    package var label: String { self == .legacy ? "legacy" : "new" }
}

/// Which copy of a write: the one that answers the client, or the other one.
@usableFromInline package enum WriteLeg: String, Sendable, CaseIterable {
    case authoritative
    case secondary

    /// Position in the cell map.
    @inlinable package var index: Int { self == .authoritative ? 0 : 1 }
}

/// What one attempt of a leg came to.
@usableFromInline package enum WriteResult: String, Sendable, CaseIterable {
    /// The backend has it (contract §6: 2xx, or an answer that means the same).
    case ok
    /// A 4xx that is an answer, not a failure.
    case refused
    /// Connect, timeout, 5xx or an answer that could not be read.
    case error

    /// Position in the cell map.
    @inlinable package var index: Int {
        switch self {
        case .ok: 0
        case .refused: 1
        case .error: 2
        }
    }
}

/// Who noticed that a revision was stale or taken.
@usableFromInline package enum ConflictSource: String, Sendable, CaseIterable {
    case gateway
    case legacy
    case new

    /// Position in the cell map.
    @inlinable package var index: Int {
        switch self {
        case .gateway: 0
        case .legacy: 1
        case .new: 2
        }
    }
}

/// The requests of users: of these it is told whether legacy answered in place of new, and what the client saw in the end.
@usableFromInline package enum ClientKind: String, Sendable, CaseIterable {
    case read
    case write

    /// Position in the cell map.
    @inlinable package var index: Int { self == .read ? 0 : 1 }
}

/// Why legacy answered in place of new.
@usableFromInline package enum FallbackReason: String, Sendable, CaseIterable {
    case connect
    case timeout
    case serverError = "5xx"
    case notFound = "404"
    /// New failed so often that it was not asked.
    case breakerOpen = "breaker-open"

    /// Position in the cell map.
    @inlinable package var index: Int {
        switch self {
        case .connect: 0
        case .timeout: 1
        case .serverError: 2
        case .notFound: 3
        case .breakerOpen: 4
        }
    }
}

/// What a shadow read came to.
@usableFromInline package enum ShadowResult: String, Sendable, CaseIterable {
    /// Both sides had equal content.
    case match
    /// They differed, and differed again when looked at a second time.
    case mismatch
    /// They differed once and agreed at the second look.
    case transient
    /// Not compared for want of room: in-flight limit, or a body over the limit.
    case dropped
    /// The shadow side failed or sent something that cannot be decoded.
    case error
    /// Not compared on purpose: the user had outstanding legs.
    case skipped

    /// Position in the cell map.
    @inlinable package var index: Int {
        switch self {
        case .match: 0
        case .mismatch: 1
        case .transient: 2
        case .dropped: 3
        case .error: 4
        case .skipped: 5
        }
    }
}

/// What a request was, by the route that it matched.
@usableFromInline package enum RequestKind: String, Sendable, CaseIterable {
    case read
    case write
    case legacy
    case new
    case split
    /// It got no route: malformed, over a limit, or the gateway was draining.
    case none

    /// Position in the cell map.
    @inlinable package var index: Int {
        switch self {
        case .read: 0
        case .write: 1
        case .legacy: 2
        case .new: 3
        case .split: 4
        case .none: 5
        }
    }
}

/// What an open upstream connection is doing.
@usableFromInline package enum ConnectionState: String, Sendable, CaseIterable {
    case connecting
    case idle
    case active

    /// Position in the cell map.
    @inlinable package var index: Int {
        switch self {
        case .connecting: 0
        case .idle: 1
        case .active: 2
        }
    }
}

/// A named limit; reaching it is counted, so that a limit that bites is never silent.
@usableFromInline package enum Limit: String, Sendable, CaseIterable {
    case clientConnections = "client_connections"
    case target = "target"
    case head = "head"
    case clientHeadTime = "client_head_time"
    case clientBodyTime = "client_body_time"
    case clientIdleTime = "client_idle_time"
    case poolWait = "pool_wait"
    case poolWaitTime = "pool_wait_time"
    case writeBody = "write_body"
    case shadowInFlight = "shadow_in_flight"
    case shadowBody = "shadow_body"
    case journalQueue = "journal_queue"
    case mismatchRing = "mismatch_ring"
    case adminConnections = "admin_connections"
    case http2Flood = "http2_flood"
    case listenerConnections = "listener_connections"
    case clientConnectionsPerAddress = "client_connections_per_address"
    case tunnels = "tunnels"

    /// Position in the cell map.
    @inlinable package var index: Int {
        switch self {
        case .clientConnections: 0
        case .target: 1
        case .head: 2
        case .clientHeadTime: 3
        case .clientBodyTime: 4
        case .clientIdleTime: 5
        case .poolWait: 6
        case .poolWaitTime: 7
        case .writeBody: 8
        case .shadowInFlight: 9
        case .shadowBody: 10
        case .journalQueue: 11
        case .mismatchRing: 12
        case .adminConnections: 13
        case .http2Flood: 14
        case .listenerConnections: 15
        case .clientConnectionsPerAddress: 16
        case .tunnels: 17
        }
    }
}

/// What set off a rollback.
@usableFromInline package enum RollbackTrigger: String, Sendable, CaseIterable {
    case `operator`
    case gate

    /// Position in the cell map.
    @inlinable package var index: Int { self == .operator ? 0 : 1 }
}

/// Who is at the other end of a TLS connection.
@usableFromInline package enum TLSPeer: String, Sendable, CaseIterable {
    /// A client of one of the listeners.
    case client
    /// A client of the admin listener.
    case admin
    case legacy
    case new

    /// Position in the cell map.
    @inlinable package var index: Int {
        switch self {
        case .client: 0
        case .admin: 1
        case .legacy: 2
        case .new: 3
        }
    }
}

/// Why a TLS handshake came to nothing.
@usableFromInline package enum TLSFailureReason: String, Sendable, CaseIterable {
    /// The peer's certificate comes from no authority that is trusted here.
    case untrusted
    /// The peer's certificate has expired, or is not valid yet.
    case expired
    /// The peer's certificate is for another name.
    case name
    /// The peer showed no certificate, or one that is no good for another reason.
    case certificate
    /// What the peer sent is not TLS.
    case notTLS = "not_tls"
    /// No version, cipher or application protocol in common.
    case `protocol`
    /// The peer refused what it was shown.
    case alert
    /// The peer went away.
    case closed
    case timeout
    case other

    /// Position in the cell map.
    @inlinable package var index: Int {
        switch self {
        case .untrusted: 0
        case .expired: 1
        case .name: 2
        case .certificate: 3
        case .notTLS: 4
        case .protocol: 5
        case .alert: 6
        case .closed: 7
        case .timeout: 8
        case .other: 9
        }
    }
}
