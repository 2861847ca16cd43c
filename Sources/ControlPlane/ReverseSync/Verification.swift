import Configuration
import Gateway
import Glibc
import Journal
import Rollout
import Synchronization

/// Asks both backends about every record that was touched while legacy was not written. On the thread of a run.
///
/// A difference is looked at twice, `shadow.recheck_after` apart, and does not count where the record is just being written:
/// then it is in flight.
struct Verification {
    /// Records that are told from each other; beyond it some are read twice.
    static let recordsMax = 1_000_000
    /// Differences that wait for their second look at a time.
    private static let suspectsMax = 1000

    private struct Suspect {
        var change: StoredChange
        var target: String
    }

    let sync: ReverseSync
    let order: ReverseSyncOrder
    /// Parked legs that were sent again.
    let replayed: [Sequence64]
    /// The last change that the run looked at.
    let last: Sequence64

    private var isStopping: Bool { sync.state.withLock { $0.isStopping } }

    func perform() {
        let controller = sync.controller
        let settings = waitFor { await controller.picture.settings }
        let reader = RecordReader(settings: settings)
        var seen: Set<Int> = []
        var suspects: [Suspect] = []
        update { $0.verification = .init() }
        forEachTouched { change in
            guard let targets = reader.targets(change.submission) else {
                let records = max(1, change.submission.records.count)
                return count { verification in
                    verification.records += records
                    verification.unverifiable += records
                }
            }
            for target in targets {
                if seen.count < Verification.recordsMax {
                    // Users may see different things at one target.
                    var hasher = Hasher()
                    hasher.combine(change.submission.user)
                    hasher.combine(target)
                    guard seen.insert(hasher.finalize()).inserted else { continue }
                }
                count { $0.records += 1 }
                switch reader.compare(target, as: change.submission) {
                case .equal: count { $0.equal += 1 }
                case .unverifiable: count { $0.unverifiable += 1 }
                case .different: suspects.append(Suspect(change: change, target: target))
                }
            }
            if suspects.count >= Verification.suspectsMax { lookAgain(&suspects, reader) }
        }
        lookAgain(&suspects, reader)
    }

    private func lookAgain(_ suspects: inout [Suspect], _ reader: RecordReader) {
        guard !suspects.isEmpty, !isStopping else { return }
        usleep(UInt32(clamping: min(60_000, reader.settings.shadow.recheckAfterMilliseconds) * 1000))
        let newer = newerLanes()
        for suspect in suspects {
            switch reader.compare(suspect.target, as: suspect.change.submission) {
            case .equal: count { $0.equal += 1 }
            case .unverifiable: count { $0.unverifiable += 1 }
            case .different(let legacy, let new, let pointers):
                guard !isInFlight(suspect.change.submission, newer) else {
                    count { $0.inFlight += 1 }
                    continue
                }
                let difference = RecordDifference(
                    sequence: suspect.change.sequence, path: String(suspect.target.prefix { $0 != "?" }),
                    legacyStatus: legacy, newStatus: new, pointers: pointers)
                update { report in
                    report.verification?.different += 1
                    if report.differences.count < ReverseSyncReport.listedMax { report.differences.append(difference) }
                }
            }
        }
        suspects = []
    }

    /// Whether a newer write of the same lane is under way, or was left out because legacy is not written.
    private func isInFlight(_ submission: Submission, _ newer: Set<LaneKey>) -> Bool {
        if sync.dataPlane.shared.coordinator.isAwaited(user: submission.user) { return true }
        return !newer.isDisjoint(with: LaneKey.lanes(user: submission.user, records: submission.records.map(\.record)))
    }

    /// The lanes that were written while the run ran and legacy was not written.
    private func newerLanes() -> Set<LaneKey> {
        var lanes: Set<LaneKey> = []
        var cursor = last
        while lanes.count < Verification.recordsMax, let page = try? sync.unshared(after: cursor, skippedOnly: false),
            let newest = page.last?.sequence
        {
            for change in page { lanes.formUnion(LaneKey.lanes(user: change.user, records: change.records)) }
            cursor = newest
        }
        return lanes
    }

    /// Every change that new took while legacy was not written, and every parked one that was sent again.
    private func forEachTouched(_ body: (StoredChange) -> Void) {
        var cursor: Sequence64 = 0
        while !isStopping, let page = try? sync.unshared(after: cursor, skippedOnly: false),
            let newest = page.last?.sequence
        {
            for change in page where change.sequence <= last && change.wasAccepted {
                guard change.acceptedMilliseconds >= order.sinceMilliseconds ?? .min, !isStopping,
                    let stored = try? sync.load(change.sequence)
                else { continue }
                body(stored)
            }
            cursor = newest
        }
        for sequence in replayed where !isStopping {
            if let stored = try? sync.load(sequence) { body(stored) }
        }
    }

    private func count(_ change: (inout ReverseSyncReport.Verification) -> Void) {
        update { report in
            var verification = report.verification ?? .init()
            change(&verification)
            report.verification = verification
        }
    }

    private func update(_ change: (inout ReverseSyncReport) -> Void) { sync.state.withLock { change(&$0.report) } }
}
