import Journal
import Rollout
import Testing

@testable import StoreSQLite

/// The rules of keys and revisions (contract §6.5, §6.6) over plain lists, without any of the store's economies: nothing is
/// trimmed, nothing is remembered, everything is looked up anew.
private struct PlainJournal {
    enum Fate { case open, accepted(Int), refused(Int), failed }
    struct Change {
        var submission: Submission
        var fate = Fate.open
    }

    var changes: [Change] = []

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

private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

@Suite struct AgainstPlainLists {
    private static func random(_ random: inout SeededGenerator) -> Submission {
        let body = "\(Int.random(in: 0..<3, using: &random))"
        var records: [(String, Int64?)] = [
            ("r\(Int.random(in: 0..<3, using: &random))", .random(in: 1...9, using: &random))
        ]
        switch Int.random(in: 0..<6, using: &random) {
        case 0: records = [("r0", .random(in: 1...9, using: &random)), ("r1", .random(in: 1...9, using: &random))]
        case 1: records[0].1 = nil
        default: break
        }
        let key = Bool.random(using: &random) ? "k\(Int.random(in: 0..<12, using: &random))" : nil
        let user = ["anna", "bert", nil][Int.random(in: 0..<3, using: &random)]
        return submission(
            user: user, records, key: key, body: body,
            target: ["/a", "/a", "/b"][Int.random(in: 0..<3, using: &random)])
    }

    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func theStoreSaysWhatTheRulesSay(seed: UInt64) throws {
        let directory = TemporaryDirectory()
        var random = SeededGenerator(state: seed)
        var plain = PlainJournal()
        var store: SQLiteStore? = try SQLiteStore(directory: directory.path)
        for step in 0..<250 {
            var updates: [JournalUpdate] = []
            let open = plain.changes.indices.filter { if case .open = plain.changes[$0].fate { true } else { false } }
            if let index = open.randomElement(using: &random), Bool.random(using: &random) {
                let sequence = Sequence64(index + 1)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: (plain.changes[index].fate, updates) = (.refused(422), [.refused(sequence)])
                case 1: (plain.changes[index].fate, updates) = (.failed, [.failed(sequence)])
                default: (plain.changes[index].fate, updates) = (.accepted(201), [.accepted(sequence, new: .applied)])
                }
            }
            let group = (0..<Int.random(in: 0...3, using: &random)).map { _ in Self.random(&random) }
            let expected = group.map { plain.submit($0) }
            let said = try store?.commit(group, updates: updates, now: 1_000).admissions.map(\.summary)
            guard said == expected else {
                Issue.record("seed \(seed), step \(step): said \(said ?? []), not \(expected)")
                return
            }
            if Int.random(in: 0..<25, using: &random) == 0 {
                store = nil
                store = try SQLiteStore(directory: directory.path)
            }
        }
        let open = plain.changes.indices.filter { if case .open = plain.changes[$0].fate { true } else { false } }
        #expect(try store?.outstanding(after: 0, limit: 1_000).map(\.sequence) == open.map { Sequence64($0 + 1) })
    }
}
