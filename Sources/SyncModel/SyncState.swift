internal import Comparison
internal import Values

/// What has become of one change of a request.
package enum ChangeVerdict: Sendable, Equatable {
    /// It is newer than what was there.
    case applied
    /// It was there already: somebody asks a second time.
    case retry
    /// Its revision is not above that of the record.
    case stale
    /// Its key belongs to another change of this user.
    case keyReused
    /// The record is another user's.
    case foreign
    /// A record of one type does not become one of another.
    case typeChanged
}

/// What has become of a request.
package struct BatchOutcome: Sendable, Equatable {
    /// Of each change.
    package var verdicts: [ChangeVerdict]
    /// Each change's record as it is then; nil where it is not the user's to see.
    package var records: [SyncRecord?]

    /// A request is applied whole, or not at all.
    package var isRefused: Bool { verdicts.contains { $0 != .applied && $0 != .retry } }
}

/// A user's key of one request.
package struct UserKey: Sendable, Hashable {
    package var user: String
    package var key: String

    package init(user: String, key: String) {
        self.user = user
        self.key = key
    }
}

/// One version of a record.
package struct RecordVersion: Sendable, Hashable {
    package var record: String
    package var revision: Int64

    package init(record: String, revision: Int64) {
        self.record = record
        self.revision = revision
    }
}

/// A change that is to be kept.
package struct AcceptedChange: Sendable {
    package var change: SyncChange
    package var type: RecordType
}

/// Decides what becomes of a group of requests against what the store holds, and says what is to be written. The rules of the service are here and
/// nowhere else: a store finds rows and keeps rows. Without I/O and clock.
///
/// Use: `know…` everything that the store has about the records and keys of the group, then `decide` each request in its order.
package struct SyncState {
    private var records: [String: SyncRecord] = [:]
    private var keys: [UserKey: KnownChange] = [:]
    private var versions: [RecordVersion: KnownChange] = [:]
    /// What is to be kept, in order.
    package private(set) var accepted: [AcceptedChange] = []
    /// The ids of records that are to be written, each once.
    package private(set) var written: [String] = []
    private var isWritten: Set<String> = []
    /// Records that became tombstones: what the feed still holds of their payloads goes.
    package private(set) var erased: [RecordVersion] = []

    package init() {}

    package mutating func know(_ record: SyncRecord) { records[record.record] = record }
    package mutating func know(_ known: KnownChange, key: String) {
        keys[UserKey(user: known.user, key: key)] = known
    }
    package mutating func know(version known: KnownChange) {
        versions[RecordVersion(record: known.record, revision: known.revision)] = known
    }

    /// The record as it is after what was decided so far.
    package subscript(_ record: String) -> SyncRecord? { records[record] }

    /// Decides one request.
    /// - Parameter now: milliseconds since 1970.
    package mutating func decide(_ changes: [SyncChange], now: Int64) -> BatchOutcome {
        var verdicts: [ChangeVerdict] = []
        verdicts.reserveCapacity(changes.count)
        // What has to be put back when a later change of this request is refused.
        var undo: [(change: SyncChange, record: SyncRecord?)] = []
        let acceptedBefore = accepted.count
        for change in changes {
            let current = records[change.record]
            let verdict = judge(change, current, now)
            if verdict == .applied {
                undo.append((change, current))
                take(change, current, now)
            }
            verdicts.append(verdict)
        }
        var outcome = BatchOutcome(verdicts: verdicts, records: [])
        if outcome.isRefused {
            for (change, record) in undo.reversed() {
                records[change.record] = record
                keys[UserKey(user: change.user, key: change.key)] = nil
                versions[RecordVersion(record: change.record, revision: change.revision)] = nil
            }
            accepted.removeLast(accepted.count - acceptedBefore)
        } else {
            for entry in accepted[acceptedBefore...] {
                if isWritten.insert(entry.change.record).inserted { written.append(entry.change.record) }
                if entry.change.deleted {
                    erased.append(RecordVersion(record: entry.change.record, revision: entry.change.revision))
                }
            }
        }
        outcome.records = changes.map { change in records[change.record].flatMap { $0.user == change.user ? $0 : nil } }
        return outcome
    }

    private func judge(_ change: SyncChange, _ current: SyncRecord?, _ now: Int64) -> ChangeVerdict {
        if let use = keys[UserKey(user: change.user, key: change.key)] {
            return use == KnownChange(change) ? .retry : .keyReused
        }
        guard let current else { return .applied }
        guard current.user == change.user else { return .foreign }
        guard change.type == nil || change.type == current.type else { return .typeChanged }
        if change.revision > current.revision { return .applied }
        if let same = versions[RecordVersion(record: change.record, revision: change.revision)] {
            return same.content == change.content && same.deleted == change.deleted ? .retry : .stale
        }
        return isNewerProgress(change, than: current, now) ? .applied : .stale
    }

    /// Where somebody is in a text is as of a moment: the later moment wins, whatever the order of the revisions. Not against a
    /// delete, on either side, nor for the record's own revision, which another change has.
    private func isNewerProgress(_ change: SyncChange, than current: SyncRecord, _ now: Int64) -> Bool {
        guard current.type == .progress, !current.deleted, !change.deleted, change.revision < current.revision,
            let at = change.progressAt
        else { return false }
        return min(at, now) > current.progressAt ?? .min
    }

    private mutating func take(_ change: SyncChange, _ current: SyncRecord?, _ now: Int64) {
        var change = change
        let type = current?.type ?? change.type ?? .document
        var clamped: Int64?
        if type == .progress, let at = change.progressAt {
            clamped = min(at, now)
            if at > now { change.payload = withProgressAt(now, in: change.payload) }
        }
        var record = SyncRecord(
            user: change.user, record: change.record, type: type, revision: change.revision, device: change.device,
            deleted: change.deleted, payload: change.payload, progressAt: clamped,
            createdAt: current?.createdAt ?? change.createdAt ?? change.updatedAt ?? now,
            updatedAt: change.updatedAt ?? now,
            recordName: change.recordName ?? current?.recordName ?? change.record,
            container: change.container ?? current?.container ?? "")
        if !change.deleted, let current, !current.deleted { merge(&record, with: current) }
        if type == .highlight, change.hasNulls, record.fieldRevisions.isEmpty {
            dropNulls(&record)
        }
        records[change.record] = record
        keys[UserKey(user: change.user, key: change.key)] = KnownChange(change)
        versions[RecordVersion(record: change.record, revision: change.revision)] = KnownChange(change)
        accepted.append(AcceptedChange(change: change, type: type))
    }

    private func merge(_ record: inout SyncRecord, with current: SyncRecord) {
        switch record.type {
        case .document, .note: break
        case .highlight:
            guard
                let merged = mergeFields(
                    of: current.payload, revisions: current.fieldRevisions, revision: current.revision,
                    with: record.payload, newRevision: record.revision)
            else { return }
            record.payload = merged.payload
            record.fieldRevisions = merged.revisions
        case .progress:
            let isLater = record.progressAt ?? .min > current.progressAt ?? .min
            let isHigher = record.revision > current.revision
            if isHigher, isLater || record.progressAt == current.progressAt { return }
            // The progress of one, everything else of the other.
            let (rest, moment) = isHigher ? (record, current) : (current, record)
            let taken = (members(moment.payload) ?? []).filter { $0.0 == "progress" || $0.0 == "progressAt" }
            let payload = replacing(taken, in: rest.payload) ?? rest.payload
            let progressAt = moment.progressAt
            if !isHigher {
                record = rest
                record.device = moment.device
                record.updatedAt = max(rest.updatedAt, moment.updatedAt)
            }
            record.payload = payload
            record.progressAt = progressAt
        }
    }

    private func withProgressAt(_ moment: Int64, in payload: String) -> String {
        replacing([("progressAt", .string(Instant(milliseconds: moment).textWithMilliseconds))], in: payload) ?? payload
    }

    /// A new highlight without the members that are null.
    private func dropNulls(_ record: inout SyncRecord) {
        guard
            let clean = mergeFields(
                of: "", revisions: "", revision: record.revision, with: record.payload, newRevision: record.revision)
        else { return }
        record.payload = clean.payload
    }
}
