import Glibc
import Journal
import JournalRules
import JournalThreads
import Rollout
import StoreSQLite

/// A data directory with an embedded journal that has everything in it that a journal can have. Gone with this object.
final class EmbeddedJournal {
    let path: String
    /// Keys whose first answer a repeat gets, with the body of that answer.
    private(set) var answered: [(submission: Submission, body: [UInt8])] = []

    static let day: Int64 = 86_400_000
    static let oddUser = "od\u{0}d\u{1}\u{2}é"
    static let sameLooks = ["caf\u{e9}", "cafe\u{301}"]

    /// - Parameter rows: changes; the oldest tenth, 50 at least, is pruned again.
    init(rows: Int) throws {
        var template = Array("/tmp/cutover-embedded-XXXXXX".utf8CString)
        path = String(cString: mkdtemp(&template))
        let store = try SQLiteStore(directory: path)
        var next = 1
        while next <= rows {
            let group = (next..<min(next + (next == 1 ? 50 : 400), rows + 1)).map(Self.submission)
            // The oldest ones are two days older: pruning finds them.
            let now = next <= max(1, rows / 10) ? 10 * Self.day : 12 * Self.day
            let admissions = try store.commit(group, updates: [], now: now + Int64(next)).admissions
            var updates: [JournalUpdate] = []
            for (submission, admission) in zip(group, admissions) {
                guard case .accepted(let sequence) = admission else { continue }
                updates += fate(of: sequence, submission, isOld: next <= max(1, rows / 10))
            }
            try store.apply(updates, now: now + Int64(next))
            next += group.count
        }
        _ = try store.prune(
            Retention(rollbackWindowMilliseconds: Self.day, idempotencyMilliseconds: Self.day), now: 12 * Self.day)
        try fillState(store)
    }

    deinit {
        for name in ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "lock", "instance"] {
            unlink(path + "/" + name)
        }
        rmdir(path)
    }

    var reader: SQLiteReader { get throws { try SQLiteReader(path: path + "/journal.sqlite") } }

    /// The bytes of the database file and its log.
    var contents: [[UInt8]] {
        ["journal.sqlite", "journal.sqlite-wal"].map { name in
            let descriptor = open(path + "/" + name, O_RDONLY)
            defer { close(descriptor) }
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while case let count = read(descriptor, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
            return bytes
        }
    }

    private static func submission(_ number: Int) -> Submission {
        let users = ["anna", "bert", oddUser, nil, "u\(number % 97)"] + sameLooks
        let user = users[number % users.count]
        let name = number % 13 == 0 ? "re\u{0}cord\(number)" : "record\(number % 500)"
        var records: [(String, Int64?)] = [(name, number % 3 == 0 ? Int64(number) : nil)]
        if number % 17 == 0 { records = [] }
        if number % 11 == 0 {
            records =
                (0..<4).map { ("batch\(number)-\($0)", Int64(number)) } + [("record\(number % 500)", Int64(number))]
        }
        var written = JournalRules.submission(
            user: user, records, key: number % 2 == 0 ? "key \(number)\u{1}" : nil, body: "body \(number)",
            target: "/changes?\(number)", side: number % 5 == 0 ? .new : .legacy, dualWrite: number % 7 != 0)
        written.body = (0..<number % 300).map { UInt8(truncatingIfNeeded: $0 &* number) }
        if number % 5_000 == 0 { written.body = [UInt8](repeating: 0xFF, count: 3_000_000) }
        if number % 19 == 0 { written.conditionalLines = [] }
        return written
    }

    /// One of everything that may have become of a change. What is to be pruned is settled.
    private func fate(of sequence: Sequence64, _ submission: Submission, isOld: Bool) -> [JournalUpdate] {
        let applied = LegStatus(.applied, attempts: 1, lastStatus: 201)
        var other = LegStatus(.applied, attempts: 2, lastStatus: 409)
        switch isOld ? 9 : sequence % 10 {
        case 0: return []
        case 1: return [.refused(sequence)]
        case 2: return [.failed(sequence)]
        case 3: other = LegStatus(.parked, attempts: 5, refusals: 3, lastStatus: 422)
        case 4: other = LegStatus(.awaitingCopy)
        case 5: other = LegStatus(.superseded, attempts: 1, lastStatus: 412)
        case 6, 7: other = LegStatus(.pending, attempts: 4, refusals: 1, lastStatus: 503, nextAttemptMilliseconds: 77)
        default: break
        }
        if !submission.dualWrite { other = LegStatus(.skipped) }
        let isLegacy = submission.side == .legacy
        var first = JournalRules.answer(body: "answer \(sequence)\u{0}", servedBy: submission.side)
        if sequence % 23 == 0 { first.isBodyOmitted = true }
        if submission.idempotencyKey != nil, !isOld, !first.isBodyOmitted { answered.append((submission, first.body)) }
        return [
            .answered(
                sequence, servedBy: submission.side,
                legs: Legs(legacy: isLegacy ? applied : other, new: isLegacy ? other : applied), answer: first,
                revisionAccepted: true)
        ]
    }

    private func fillState(_ store: SQLiteStore) throws {
        func event(_ number: Int64) -> RolloutEvent {
            RolloutEvent(
                sequence: 0, atMilliseconds: number, actor: "admin", action: "percent", before: "\(number)",
                after: "\(number + 1)", reason: "because\u{0}")
        }
        for number in 1...700 as ClosedRange<Int64> { try store.appendEvent(event(number)) }
        var history = RandomHistory(seed: 1, instances: ["a", Self.oddUser] + Self.sameLooks)
        for _ in 0..<30 {
            try store.appendHistory((0..<40).flatMap { _ in HistoryRollup.rows(from: history.next()) }, now: 0)
        }
        for (number, user) in (["zoe", Self.oddUser] + Self.sameLooks).enumerated() {
            try store.setPin(
                Pin(user: user, side: number % 2 == 0 ? .legacy : .new, sinceMilliseconds: Int64(number)),
                event: event(800))
        }
        let rollout = RolloutRecord(
            generation: 42, plan: "plan", stage: "half", percentHundredths: 1_250, state: "paused",
            sinceMilliseconds: 99, details: #"{"a":1}"#)
        _ = try store.saveRollout(rollout, replacing: 0, event: event(900))
    }
}
