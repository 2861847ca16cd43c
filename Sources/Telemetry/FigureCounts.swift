/// Events of which some are of the kind that a ratio tells: numerator and denominator.
package struct Proportion: Sendable, Equatable {
    /// The events that count, never more than `whole` in a difference.
    package var part: UInt64
    /// All events.
    package var whole: UInt64

    package init(_ part: UInt64 = 0, of whole: UInt64 = 0) {
        self.part = part
        self.whole = whole
    }

    /// The ratio with its sample count; nil without an event.
    package var figure: Figure { .ratio(part, of: whole) }

    /// What was counted since `earlier`.
    ///
    /// An event whose whole was counted just before `earlier` was read, and its part after, does not make the part larger
    /// than the whole: nobody who judges a proportion could do anything with it.
    package func subtracting(_ earlier: Proportion) -> Proportion {
        let events = grown(whole, earlier.whole)
        return Proportion(min(events, grown(part, earlier.part)), of: events)
    }

    /// The events of both.
    package func adding(_ other: Proportion) -> Proportion { Proportion(part &+ other.part, of: whole &+ other.whole) }
}

/// Growth of a counter; one that went down (it cannot, with one source) has not grown.
func grown(_ now: UInt64, _ then: UInt64) -> UInt64 { now >= then ? now - then : 0 }

/// The numbers under the four figures: counted since the start, or between two moments (`subtracting`).
///
/// What a slot of the window keeps of a snapshot: about 30 KB of 125 KB.
package struct FigureCounts: Sendable, Equatable {
    /// Reads sent to a backend; part: that failed there, before any fallback.
    package var reads = ByBackend(legacy: Proportion(), new: Proportion())
    /// Reads by the side that they were meant for; part: the client finally saw a 5xx or an answer that broke off.
    package var clientReads = ByBackend(legacy: Proportion(), new: Proportion())
    /// Writes by the side that they were meant for; part: as for `clientReads`.
    package var clientWrites = ByBackend(legacy: Proportion(), new: Proportion())
    /// What clients waited for writes, by the side that they were meant for.
    package var clientWriteDurations = ByBackend(legacy: Histogram(), new: Histogram())
    /// How long single authoritative legs took, by backend.
    package var authoritativeLegDurations = ByBackend(legacy: Histogram(), new: Histogram())
    /// Writes received; part: with at least one conflict.
    package var conflicted = Proportion()
    /// Conflicts by who noticed them; one write may be in several.
    package var conflictsBySource: [ConflictSource: UInt64] = zeros()
    /// Reads and writes of users on new by percent or pin; part: legacy answered in place of new.
    package var fallbacks = Proportion()
    /// Fallbacks by what new did wrong.
    package var fallbacksByReason: [FallbackReason: UInt64] = zeros()
    /// Fallbacks by kind of request.
    package var fallbacksByKind: [ClientKind: UInt64] = zeros()
    /// Shadow reads compared; part: with a lasting difference.
    package var mismatched = Proportion()
    /// What says something about new beside the figures.
    package var aside = Aside()

    /// Counts that no figure holds and a gate wants to know.
    package struct Aside: Sendable, Equatable {
        /// Reads of users on new that new was not asked for while its breaker was open. Those of users who are behind are among
        /// them: in an outage everybody who writes is behind soon, and nobody would be left to count.
        package var readsKeptAway: UInt64 = 0
        /// Requests of users on new that went to legacy by design, because new lacks writes of theirs.
        package var requestsWhileBehind: UInt64 = 0
        /// Shadow reads that new failed or did not answer.
        package var shadowFailures: UInt64 = 0
        /// Shadow reads that new was not asked for while its breaker was open; as in `readsKeptAway`.
        package var shadowKeptAway: UInt64 = 0
        /// Shadow reads that were not compared for want of room, and those of which either side's answer was none.
        package var shadowDropped: UInt64 = 0
        package var shadowErrors: UInt64 = 0

        /// Nothing counted.
        package init() {}

        init(_ snapshot: MetricsSnapshot) {
            readsKeptAway =
                snapshot.fallbacks(.read, reason: .breakerOpen) &+ snapshot.counter(Cells.readsWhileBehindBroken)
            requestsWhileBehind = snapshot.requestsWhileBehind
            shadowFailures = snapshot.shadowFailures
            shadowKeptAway = snapshot.shadowKeptAway
            shadowDropped = snapshot.shadow(.dropped)
            shadowErrors = snapshot.shadow(.error)
        }

        func subtracting(_ earlier: Aside) -> Aside {
            var result = self
            result.readsKeptAway = grown(readsKeptAway, earlier.readsKeptAway)
            result.requestsWhileBehind = grown(requestsWhileBehind, earlier.requestsWhileBehind)
            result.shadowFailures = grown(shadowFailures, earlier.shadowFailures)
            result.shadowKeptAway = grown(shadowKeptAway, earlier.shadowKeptAway)
            result.shadowDropped = grown(shadowDropped, earlier.shadowDropped)
            result.shadowErrors = grown(shadowErrors, earlier.shadowErrors)
            return result
        }
    }

    /// Nothing counted.
    package init() {}

    /// Takes what the figures need.
    package init(_ snapshot: MetricsSnapshot) {
        for backend in Backend.allCases {
            let failed = snapshot.reads(backend, failed: true)
            reads[backend] = Proportion(failed, of: failed &+ snapshot.reads(backend, failed: false))
            clientReads[backend] = snapshot.clientAnswers(.read, meantFor: backend)
            clientWrites[backend] = snapshot.clientAnswers(.write, meantFor: backend)
            clientWriteDurations[backend] = snapshot.histogram(Cells.clientWriteDuration + backend.index)
            authoritativeLegDurations[backend] = snapshot.histogram(
                Cells.writeDuration + backend.index * 2 + WriteLeg.authoritative.index)
        }
        conflicted = Proportion(snapshot.conflictedWrites, of: snapshot.writesReceived)
        for source in ConflictSource.allCases { conflictsBySource[source] = snapshot.conflicts(source) }
        fallbacks = Proportion(snapshot.fallbacks, of: snapshot.requestsOfNewUsers)
        for kind in ClientKind.allCases {
            for reason in FallbackReason.allCases {
                let count = snapshot.fallbacks(kind, reason: reason)
                fallbacksByKind[kind, default: 0] &+= count
                fallbacksByReason[reason, default: 0] &+= count
            }
        }
        mismatched = Proportion(snapshot.shadow(.mismatch), of: snapshot.compared)
        aside = Aside(snapshot)
    }

    /// What was counted since `earlier`, an earlier reading of the same counters.
    package func subtracting(_ earlier: FigureCounts) -> FigureCounts {
        var result = self
        for backend in Backend.allCases {
            result.reads[backend] = reads[backend].subtracting(earlier.reads[backend])
            result.clientReads[backend] = clientReads[backend].subtracting(earlier.clientReads[backend])
            result.clientWrites[backend] = clientWrites[backend].subtracting(earlier.clientWrites[backend])
            result.clientWriteDurations[backend] = clientWriteDurations[backend]
                .subtracting(earlier.clientWriteDurations[backend])
            result.authoritativeLegDurations[backend] = authoritativeLegDurations[backend]
                .subtracting(earlier.authoritativeLegDurations[backend])
        }
        result.conflicted = conflicted.subtracting(earlier.conflicted)
        result.fallbacks = fallbacks.subtracting(earlier.fallbacks)
        result.mismatched = mismatched.subtracting(earlier.mismatched)
        result.aside = aside.subtracting(earlier.aside)
        result.conflictsBySource.subtract(earlier.conflictsBySource)
        result.fallbacksByReason.subtract(earlier.fallbacksByReason)
        result.fallbacksByKind.subtract(earlier.fallbacksByKind)
        return result
    }
}

/// Every word of a label, at 0.
func zeros<Key: CaseIterable & Hashable>() -> [Key: UInt64] {
    Dictionary(uniqueKeysWithValues: Key.allCases.map { ($0, 0) })
}

extension Dictionary where Value == UInt64 {
    fileprivate mutating func subtract(_ earlier: Self) {
        for (key, value) in self { self[key] = grown(value, earlier[key, default: 0]) }
    }
}
