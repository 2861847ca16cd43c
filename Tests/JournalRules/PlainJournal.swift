import Journal
import Rollout

/// The rules of keys and revisions (contract §6.5, §6.6) over plain lists, without any of the store's economies: nothing is
/// trimmed, nothing is remembered, everything is looked up anew.
struct PlainJournal {
    enum Fate { case open, accepted(Int), refused(Int), failed }
    struct Change {
        var submission: Submission
        var fate = Fate.open
    }

    var changes: [Change] = []

    /// Places of the changes whose answer is to come.
    var open: [Int] { changes.indices.filter { if case .open = changes[$0].fate { true } else { false } } }

    mutating func submit(_ submission: Submission) -> String {
        if let key = submission.idempotencyKey, let holder = holder(of: key, submission.user) {
            guard holder.submission.fingerprint == submission.fingerprint else { return "reused" }
            return replay(holder) ?? "running"
        }
        var stale: [String] = []
        var repeats: [Int] = []
        for item in submission.records {
            guard let revision = item.revision, let last = last(submission.user, item.record) else { continue }
            guard revision <= last.item.revision ?? 0 else { continue }
            let key = changes[last.index].submission.idempotencyKey
            if revision == last.item.revision,
                item.payloadHash == last.item.payloadHash || (key != nil && key == submission.idempotencyKey)
            {
                repeats.append(last.index)
            } else {
                stale.append("\(item.record):\(revision)<\(last.item.revision ?? 0)")
            }
        }
        if !stale.isEmpty { return "stale " + stale.joined(separator: ",") }
        if repeats.contains(where: { if case .open = changes[$0].fate { true } else { false } }) { return "running" }
        if let first = repeats.first, repeats.count == submission.records.count, Set(repeats).count == 1,
            changes[first].submission.records.count == submission.records.count,
            changes[first].submission.target == submission.target, let answer = replay(changes[first])
        {
            return answer
        }
        changes.append(Change(submission: submission))
        return "accepted \(changes.count)"
    }

    private func holder(of key: String, _ user: String?) -> Change? {
        changes.first {
            if case .failed = $0.fate { return false }
            return $0.submission.idempotencyKey == key && $0.submission.user == user
        }
    }

    private func replay(_ change: Change) -> String? {
        switch change.fate {
        case .accepted(let status), .refused(let status): "replay \(status)"
        case .open, .failed: nil
        }
    }

    private func last(_ user: String?, _ record: String) -> (index: Int, item: RecordRevision)? {
        var best: (index: Int, item: RecordRevision)?
        for (index, change) in changes.enumerated() where change.submission.user == user {
            switch change.fate {
            case .refused, .failed: continue
            case .open, .accepted: break
            }
            for item in change.submission.records where item.record == record && item.revision != nil {
                if item.revision ?? 0 > best?.item.revision ?? -1 { best = (index, item) }
            }
        }
        return best
    }
}
