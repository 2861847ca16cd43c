import CLinux
import Configuration
import Gateway
import Journal
import Rollout
import JournalThreads
import Values

/// What is known about legacy catching up after a rollback.
struct LegacyCatchUp: Sendable {
    /// Tells one rollback from the next.
    var rollback: Int64 = 0
    /// A rollback waits for legacy to have everything.
    var isAwaited = false
    /// The last change that legacy has to have; nil: not known yet.
    var last: Sequence64?
    /// Everything up to here is known to hold on legacy.
    var seen: Sequence64 = 0
    /// Legs that were outstanding to legacy, as far as they were seen.
    var legs = 0
    /// When legacy had everything, in milliseconds since 1970.
    var caughtUpAtMilliseconds: Int64?
    /// Somebody is looking right now.
    var isBeingLookedAt = false
}

/// The end of the writing of legacy, and the way back to it.
extension RolloutController {
    /// The action of the event that says that legacy has caught up after a rollback.
    static let caughtUpAction = "legacy caught up"

    // MARK: keep

    /// Who would read or write a backend that nobody writes any more.
    var whoNeedsLegacy: [String] {
        var reasons: [String] = []
        let pinned = pins.values.count { $0.side == .legacy }
        if pinned > 0 { reasons.append("\(pinned) \(pinned == 1 ? "user is" : "users are") pinned to legacy") }
        if cluster != nil {
            reasons.append(
                "gateways share this store, and this version cannot bring legacy back what it would lack then")
        }
        guard let coordinator = dataPlane?.shared.coordinator else { return reasons }
        let deferred = coordinator.deferred(.legacy)
        if deferred > 0 { reasons.append("legacy is far behind: \(deferred) writes for it are only in the journal") }
        let behind = coordinator.backlog(.new).count
        if behind > 0 {
            reasons.append(
                "\(behind) \(behind == 1 ? "write is" : "writes are") still on the way to new, and their users read legacy"
            )
        }
        if coordinator.legacyGate.isClosed { reasons.append("a reverse sync still brings legacy what it lacks") }
        return reasons
    }

    /// Once a second: ends the writing of legacy when `keep` is over and nothing holds that. It gives up fallback and the quick
    /// way back, so it takes what an automatic promotion takes.
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - judged: the state that the gates were asked about.
    ///   - holds: what holds it, as sentences.
    func endKeep(now: Int64, _ judged: RolloutState, holds: [String]) async {
        guard let end = machine.keepEndsMilliseconds(state), now >= end, let keep = settings.plan?.keepSeconds else {
            keepWaits = []
            return
        }
        guard holds.isEmpty else { return waitWithKeep(holds) }
        let origin = ChangeOrigin(
            actor: "gateway", reason: "keep of \(durationWords(keep)) has ended", ifGeneration: judged.generation)
        switch await apply(.stopLegacy, gates: [], origin) {
        // Somebody needs legacy: asked again with the next second.
        case .refused(let reasons): waitWithKeep(reasons)
        case .done, .outdated, .unavailable: keepWaits = []
        }
    }

    private func waitWithKeep(_ reasons: [String]) {
        if keepWaits.isEmpty {
            logLine("keep has ended, and legacy goes on being written: \(reasons.joined(separator: "; "))")
        }
        keepWaits = reasons
    }

    /// When `keep` ends, and what holds it.
    var keep: KeepReading { KeepReading(endsMilliseconds: machine.keepEndsMilliseconds(state), waits: keepWaits) }

    /// Whether a percent that is set directly enters the last stage.
    package func entersLastStage(_ hundredths: Int) -> Bool { machine.entersLastStage(state, hundredths) }

    /// Whether a promotion would enter the last stage.
    package func promotesToLastStage(_ name: String?) -> Bool { machine.promotesToLastStage(state, to: name) }

    /// What legacy lacks when it is written again, in words.
    func legacyWarnings(
        from before: RolloutState, to next: RolloutState, isDryRun: Bool = false
    ) async -> [String] {
        guard !before.legacyWrites, next.legacyWrites else { return [] }
        guard let reverseSync else { return [] }
        // The run that has begun counts; a dry run has none.
        let found = isDryRun ? await reverseSync.lookForMissing(since: nil) : await reverseSync.counted()
        if let found, found.count == 0 { return [] }
        let since = before.legacyWritesSinceMilliseconds.map { " since \(Instant(milliseconds: $0).text)" } ?? ""
        var lacks = "lacks what was written meanwhile"
        if let found {
            if catchUp.rollback == next.generation { catchUp.legs += found.count }
            let number = (found.isComplete ? "" : "at least ") + "\(found.count)"
            lacks = "lacks \(number) \(found.count == 1 ? "change" : "changes")"
        }
        return [
            "legacy was not written\(since) and \(lacks): it is brought there in order now; "
                + "users of it read older data until then"
        ]
    }

    // MARK: After a rollback

    /// Legacy's figures of the present rollback: when it had everything, and how many legs that took.
    package var caughtUp: (atMilliseconds: Int64?, legs: Int, isAwaited: Bool) {
        (catchUp.caughtUpAtMilliseconds, catchUp.legs, catchUp.isAwaited)
    }

    func watchForCatchUp(legs: Int) {
        catchUp = LegacyCatchUp()
        catchUp.rollback = state.generation
        catchUp.isAwaited = true
        catchUp.legs = legs
    }

    /// After a start in a rolled-back state: whether legacy had caught up already stands among the events.
    func resumeWatching() async {
        let events = try? await journal.read { reader throws(JournalError) in
            try reader.events(before: nil, limit: 200)
        }
        for event in events ?? [] {
            if event.action == RolloutController.caughtUpAction {
                catchUp.caughtUpAtMilliseconds = event.atMilliseconds
                return
            }
            if event.action == "rollback" { break }
        }
        watchForCatchUp(legs: 0)
    }

    /// Looks whether legacy has everything that was accepted up to the rollback; keeps an event when it has.
    ///
    /// Not the count in memory decides but the journal: a write that new was still deciding over when the rollback came has no
    /// leg to count yet.
    package func lookForCatchUp(now: Int64) async {
        guard catchUp.isAwaited, !catchUp.isBeingLookedAt, let coordinator = dataPlane?.shared.coordinator else {
            return
        }
        if coordinator.legacyGate.isClosed || reverseSync?.isSending == true { return }
        catchUp.legs = max(catchUp.legs, coordinator.backlog(.legacy).count)
        catchUp.isBeingLookedAt = true
        let rollback = catchUp.rollback
        let found: (last: Sequence64, seen: Sequence64)? = try? await findOutstanding(
            last: catchUp.last, seen: catchUp.seen)
        guard catchUp.rollback == rollback, catchUp.isAwaited else { return }
        if let found { (catchUp.last, catchUp.seen) = (found.last, found.seen) }
        guard let found, found.seen >= found.last else {
            catchUp.isBeingLookedAt = false
            return
        }
        // The event first: who is told must find it. Its moment is the one that is shown, before a restart and after it.
        await note(
            RolloutController.caughtUpAction, before: .object([("outstanding", .number("\(catchUp.legs)"))]),
            after: .object([("outstanding", 0)]), ChangeOrigin(actor: "gateway"), at: now)
        guard catchUp.rollback == rollback, catchUp.isAwaited else { return }
        catchUp.isAwaited = false
        catchUp.isBeingLookedAt = false
        catchUp.caughtUpAtMilliseconds = now
    }

    /// Walks on over what is outstanding, up to the first leg to legacy.
    /// - Returns: the last change that counts, and up to where legacy is known to have everything.
    private func findOutstanding(
        last: Sequence64?, seen: Sequence64
    ) async throws(JournalError) -> (last: Sequence64, seen: Sequence64) {
        // On the journal's thread: what was submitted or posted before has been kept by then.
        let newest = try await journal.write { store throws(JournalError) in try store.counts().lastSequence }
        let last = last ?? newest
        var seen = seen
        // Some pages a look: legs to new of an outage may be many, and are none of ours.
        for _ in 0..<20 {
            let after = seen
            let page = try await journal.read { reader throws(JournalError) in
                try reader.outstanding(after: after, limit: 1000)
            }
            for change in page {
                if change.sequence > last { return (last, last) }
                if change.legs.legacy.state.isOutstanding { return (last, seen) }
                seen = change.sequence
            }
            if page.count < 1000 { return (last, last) }
        }
        return (last, seen)
    }
}

/// Seconds as a plan would say them: `90d`, `24h`, `30s`.
func durationWords(_ seconds: Int64) -> String {
    for (unit, length) in [("d", 86_400), ("h", 3600), ("m", 60)] as [(String, Int64)]
    where seconds >= length && seconds % length == 0 {
        return "\(seconds / length)\(unit)"
    }
    return "\(seconds)s"
}
