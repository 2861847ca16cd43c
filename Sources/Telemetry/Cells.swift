/// The map of one metrics block: which cell holds what.
///
/// Bases are literals in computed properties, so that an inlined caller in another module sees a constant and not a
/// lazily initialised global. Groups begin at round numbers; a test holds that none reaches into the next.
@usableFromInline package enum Cells {
    /// Reads: backend × (ok, error).
    @inlinable package static var reads: Int { 0 }
    /// Write legs: backend × leg × result.
    @inlinable package static var writes: Int { 16 }
    /// Conflicts by source.
    @inlinable package static var conflicts: Int { 32 }
    /// Shadow reads by result.
    @inlinable package static var shadow: Int { 48 }
    /// Legs tried again, by backend.
    @inlinable package static var legRetries: Int { 56 }
    /// Legs parked, by backend.
    @inlinable package static var legsParked: Int { 58 }
    /// Requests sent a second time because a reused connection had died, by backend.
    @inlinable package static var upstreamResends: Int { 60 }
    /// Answers that could not be read, by backend.
    @inlinable package static var malformedResponses: Int { 62 }
    /// Connection attempts: backend × (ok, error).
    @inlinable package static var upstreamConnects: Int { 64 }
    /// Times a breaker opened, by backend.
    @inlinable package static var breakerOpenings: Int { 68 }
    /// Rollbacks by trigger.
    @inlinable package static var rollbacks: Int { 70 }
    /// Limits reached, by limit.
    @inlinable package static var limits: Int { 72 }

    /// What clients finally saw: kind (read, write) × side that the request was meant for × (ok, error).
    @inlinable package static var clientAnswers: Int { 96 }
    /// Fallbacks: kind (read, write) × `fallbackReasons`.
    @inlinable package static var fallbacks: Int { 104 }
    /// How many reasons there are.
    @inlinable package static var fallbackReasons: Int { 5 }

    /// Writes received from clients.
    @inlinable package static var writesReceived: Int { 128 }
    /// Writes with at least one conflict.
    @inlinable package static var conflictedWrites: Int { 129 }
    /// Requests (reads and writes) of users on new.
    @inlinable package static var requestsOfNewUsers: Int { 130 }
    /// Reads served by legacy although it was known to be behind.
    @inlinable package static var staleReads: Int { 131 }
    /// Requests whose client went away.
    @inlinable package static var clientAborts: Int { 132 }
    /// Requests refused because they were not HTTP.
    @inlinable package static var malformedRequests: Int { 133 }
    /// Writes answered from the journal.
    @inlinable package static var idempotentReplays: Int { 134 }
    /// Client connections accepted.
    @inlinable package static var clientConnectionsAccepted: Int { 135 }
    /// Requests of users on new that went to legacy by design, because new lacks writes of theirs.
    @inlinable package static var requestsWhileBehind: Int { 136 }
    /// Reads among them that came while the breaker of new was open.
    @inlinable package static var readsWhileBehindBroken: Int { 139 }
    /// Shadow reads that new failed or did not answer.
    @inlinable package static var shadowFailures: Int { 137 }
    /// Shadow reads that new was not asked for while its breaker was open.
    @inlinable package static var shadowKeptAway: Int { 138 }

    /// Tunnels opened, by backend.
    @inlinable package static var tunnelsOpened: Int { 140 }
    /// Bytes through tunnels: to the backend, to the client.
    @inlinable package static var tunnelBytes: Int { 142 }

    /// Tokens and signed cookies refused, by reason.
    @inlinable package static var identityRejections: Int { 176 }
    /// Tokens looked for among those verified before: found, not found.
    @inlinable package static var identityLookups: Int { 184 }

    /// The first gauge; gauges end before `gaugesEnd`. A difference of two snapshots keeps the later gauge.
    @inlinable package static var gauges: Int { 192 }
    /// Upstream connections: backend × state.
    @inlinable package static var upstreamConnections: Int { 192 }
    /// Open client connections.
    @inlinable package static var clientConnections: Int { 198 }
    /// Shadow reads under way.
    @inlinable package static var shadowInFlight: Int { 199 }
    /// Requests under way.
    @inlinable package static var requestsInFlight: Int { 200 }
    /// Open tunnels, by backend.
    @inlinable package static var tunnels: Int { 201 }
    /// One past the last gauge.
    @inlinable package static var gaugesEnd: Int { 256 }

    /// Requests by status code: kind × `codesPerKind`. Slot 0 of a kind takes codes outside 100…599.
    @inlinable package static var codes: Int { 256 }
    /// Codes 100…599 lie at their distance from 99.
    @inlinable package static var codesPerKind: Int { 512 }

    /// Histograms, each `histogramStride` cells, its sum in `histogramSum`.
    @inlinable package static var histograms: Int { 3328 }
    /// Distance from one histogram to the next.
    @inlinable package static var histogramStride: Int { 1024 }
    /// Where in a histogram the sum of its observations (ns) lies.
    @inlinable package static var histogramSum: Int { 1023 }
    /// Histograms of single legs: backend × leg.
    @inlinable package static var writeDuration: Int { 0 }
    /// Histograms of what clients waited for writes, by authoritative backend.
    @inlinable package static var clientWriteDuration: Int { 4 }
    /// Histograms of requests, by kind.
    @inlinable package static var requestDuration: Int { 6 }
    /// How many histograms there are.
    @inlinable package static var histogramCount: Int { 12 }

    /// TLS, behind the histograms: peer × (handshakes by version and resumption, then failures by reason).
    @inlinable package static var tls: Int { histograms + histogramCount * histogramStride }
    /// Distance from one peer to the next.
    @inlinable package static var tlsPerPeer: Int { 16 }
    /// Where the failures of a peer begin.
    @inlinable package static var tlsFailures: Int { 4 }

    /// Cells in a block.
    @inlinable package static var count: Int { tls + 4 * tlsPerPeer }
}
