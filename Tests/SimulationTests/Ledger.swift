import Journal
import Rollout

/// One write as its client means it, over all its attempts.
final class PlayedWrite {
    let token: Int
    let user: String
    /// `user/path`, as the backends name it.
    let record: String
    let method: String
    let target: String
    let body: String
    let key: String?
    var path: String { String(record.dropFirst(user.count)) }
    /// Places in the journal, one an attempt that was accepted.
    var sequences: [Sequence64] = []
    /// Body of the first 2xx that the client got, and in which life of the gateway.
    var acknowledged: (body: String, life: Int)?
    /// The backend that refused it for good; the client has that answer.
    var refusedBy: Side?

    init(token: Int, user: String, record: String, method: String, target: String, body: String, key: String?) {
        self.token = token
        self.user = user
        self.record = record
        self.method = method
        self.target = target
        self.body = body
        self.key = key
    }
}

/// All that clients were told and the journal has accepted: what the invariants are about.
final class Ledger {
    private(set) var writes: [PlayedWrite] = []
    /// What broke a promise, in words.
    private(set) var violations: [String] = []
    /// What happened how often.
    var tally = Tally()
    /// Records that a backend refuses for ever: what was acknowledged of them may be parked, and then a read shows less.
    var poisoned: Set<String> = []
    /// Counts lives of the gateway.
    var life = 0
    /// Percents that may be in force after a start: the last acknowledged one, and those on their way.
    var percents: Set<Int> = [0]

    func begin(
        user: String, path: String, method: String, revision: Int?, size: Int, key: (Int) -> String?
    ) -> PlayedWrite {
        let token = writes.count + 1
        let revised = revision.map { "&rev=\($0)" } ?? ""
        let id = path.split(separator: "/").last ?? ""
        let filler = String(repeating: "x", count: size)
        let body = "{\"id\":\"\(id)\",\"rev\":\(revision ?? 0),\"value\":\(token),\"filler\":\"\(filler)\"}"
        let write = PlayedWrite(
            token: token, user: user, record: user + path, method: method, target: "\(path)?token=\(token)\(revised)",
            body: method == "DELETE" ? "" : body, key: key(token))
        writes.append(write)
        return write
    }

    func write(_ token: Int) -> PlayedWrite? { token > 0 && token <= writes.count ? writes[token - 1] : nil }

    /// The journal has given a place to what goes to `target`.
    func accepted(_ sequence: Sequence64, target: String) {
        guard let write = number("token", in: target).flatMap(write) else { return }
        if !write.sequences.contains(sequence) { write.sequences.append(sequence) }
    }

    func violated(_ text: String) { violations.append(text) }

    /// The last place among the writes to a record that its user was told of; nil when it was told of none.
    func floor(of record: String) -> Sequence64? {
        writes.compactMap { $0.record == record && $0.acknowledged != nil ? $0.sequences.first : nil }.max()
    }

    /// Judges what a read showed that began when `floor` was known.
    func judgeRead(of record: String, token: Int, floor: Sequence64?, _ about: String) {
        guard let floor, !poisoned.contains(record) else { return }
        guard let write = write(token) else {
            return violated("\(about): \(record) shows nothing, though place \(floor) was acknowledged")
        }
        guard let last = write.sequences.last else {
            return violated("\(about): \(record) shows write \(token), which has no place in the journal")
        }
        if last < floor {
            violated("\(about): \(record) shows write \(token) (place \(last)), though place \(floor) was acknowledged")
        }
    }
}
