import TestSupport
import CLinux
import Rollout

/// One device of one user: writes and reads in turn, on a connection that it keeps. A record of its own it writes with keys,
/// and repeats a write until it has a plain answer, as a sync client does. Records that it shares with the user's other
/// devices it writes once and never again: a repeat that comes after another device's write would be another order.
final class PlayedClient {
    let user: String
    private let timeline: Timeline
    private let ledger: Ledger
    private var random: SeededGenerator
    private let own: [String]
    private let shared: [String]
    private var revisions: [String: Int] = [:]
    private var operationsLeft: Int
    private var wire: Wire?
    /// What was sent and has no answer yet.
    private var pending: Pending?
    /// A write waits for its repeat.
    private var isAboutToRepeat = false
    /// Counts requests, so that a late timer knows that its request is over.
    private var request = 0
    private var repeats = 0
    /// Longest pause between two operations, in milliseconds.
    private let pause: Int
    /// Something goes wrong on purpose: it leaves, repeats what it has an answer to.
    var isWild = true
    var trace: ((String) -> Void)?
    /// Connects to the gateway; nil while there is none.
    var connect: () -> Int32? = { nil }
    /// How many stale reads the gateway has owned up to.
    var staleReads: () -> UInt64 = { 0 }

    private enum Pending {
        case write(PlayedWrite)
        case read(record: String, floor: Int64?, stale: UInt64)
    }

    init(
        user: String, own: [String], shared: [String], operations: Int, pause: Int, timeline: Timeline, ledger: Ledger,
        random: SeededGenerator
    ) {
        self.user = user
        self.own = own
        self.shared = shared
        operationsLeft = operations
        self.pause = pause
        self.timeline = timeline
        self.ledger = ledger
        self.random = random
    }

    var isDone: Bool { operationsLeft <= 0 && pending == nil && !isAboutToRepeat }

    func start() { rest() }

    private func rest() {
        pending = nil
        guard operationsLeft > 0 else { return }
        let now = random.chance(30)
        timeline.after(milliseconds: now ? 0 : random.below(pause)) { [self] in next() }
    }

    private func next() {
        operationsLeft -= 1
        repeats = 0
        let isOwn = random.chance(60)
        let path = isOwn ? own[random.below(own.count)] : shared[random.below(shared.count)]
        if random.chance(35) { return read(path) }
        let isRevised = path.hasPrefix("/docs/")
        if isRevised { revisions[path, default: 0] += 1 }
        let method = isRevised ? "PUT" : ["PUT", "PUT", "POST", "DELETE"][random.below(4)]
        let size = random.chance(4) ? random.below(60_000) : random.below(200)
        let isKeyed = isOwn ? true : random.chance(40)
        let write = ledger.begin(
            user: user, path: path, method: method, revision: isRevised ? revisions[path] : nil, size: size
        ) { isKeyed ? "key-\($0)" : nil }
        send(write)
    }

    // MARK: Sending

    private func read(_ path: String) {
        let record = user + path
        pending = .read(record: record, floor: ledger.floor(of: record), stale: staleReads())
        put("GET \(path) HTTP/1.1\r\nHost: played\r\nX-User-Id: \(user)\r\n\r\n")
    }

    private func send(_ write: PlayedWrite) {
        pending = .write(write)
        var head = "\(write.method) \(write.target) HTTP/1.1\r\nHost: played\r\nX-User-Id: \(user)\r\n"
        if let key = write.key { head += "Idempotency-Key: \(key)\r\n" }
        if !write.body.isEmpty {
            head += "Content-Type: application/json\r\nContent-Length: \(write.body.utf8.count)\r\n"
        }
        put(head + "\r\n" + write.body)
    }

    private func put(_ text: String) {
        request += 1
        let this = request
        guard let wire = connected() else {
            // Nobody is there; come again.
            timeline.after(milliseconds: 20 + random.below(200)) { [self] in
                if request == this { put(text) }
            }
            return
        }
        let bytes = Array(text.utf8)
        let cut = isWild && random.chance(10) ? random.below(bytes.count) : bytes.count
        wire.send(Array(bytes[..<cut]))
        if cut < bytes.count {
            timeline.after(milliseconds: random.below(30)) { [self] in
                if request == this, self.wire === wire { wire.send(Array(bytes[cut...])) }
            }
        }
        if isWild, random.chance(4) {
            timeline.after(milliseconds: random.below(200)) { [self] in if request == this { ended("leaves") } }
        }
        timeline.after(milliseconds: 60_000) { [self] in if request == this { ended("has waited for a minute") } }
    }

    private func connected() -> Wire? {
        if let wire, wire.isOpen, !wire.isEnded { return wire }
        wire = connect().map { Wire(descriptor: $0) }
        return wire
    }

    // MARK: Hearing

    func pump() -> Bool {
        guard let wire, wire.isOpen else { return false }
        var hasMoved = wire.pump()
        if hasMoved, let answer = PlayedMessage(wire.input) {
            wire.input = []
            hasMoved = true
            heard(answer)
        } else if wire.isEnded {
            wire.close()
            hasMoved = true
            if pending != nil { ended("is cut off") }
        }
        return hasMoved
    }

    /// The request came to no answer.
    private func ended(_ how: String) {
        request += 1
        trace?("\(user) \(how)")
        wire?.close()
        wire = nil
        switch pending {
        case .write(let write): again(write)
        case .read: rest()
        case nil: break
        }
    }

    private func heard(_ answer: PlayedMessage) {
        request += 1
        guard let pending else { return }
        ledger.tally.count("status \(answer.status)")
        if let reason = answer.fields["cutover-reason"] { ledger.tally.count(reason) }
        if answer.fields["idempotent-replayed"] != nil { ledger.tally.count("replayed") }
        trace?("\(user) hears \(answer.status) \(answer.fields["cutover-reason"] ?? "") \(text(answer))")
        if answer.fields["connection"] == "close" { wire?.close() }
        switch pending {
        case .write(let write): judge(write, answer)
        case .read(let record, let floor, let stale):
            let isWhole = answer.status == 200 || answer.status == 404
            if isWhole, staleReads() == stale, let token = last(answer) {
                let reason = answer.fields["cutover-reason"] ?? ""
                ledger.judgeRead(
                    of: record, token: token, floor: floor,
                    "read from \(answer.fields["cutover-backend"] ?? "?") (\(reason)) at \(timeline.now / 1_000_000)")
            }
            rest()
        }
    }

    private func text(_ answer: PlayedMessage) -> String { String(decoding: answer.body.prefix(60), as: UTF8.self) }

    private func last(_ answer: PlayedMessage) -> Int? {
        let text = String(decoding: answer.body, as: UTF8.self)
        guard text.hasPrefix("{\"last\":"), text.hasSuffix("}") else { return nil }
        return Int(text.dropFirst(8).dropLast())
    }

    private func judge(_ write: PlayedWrite, _ answer: PlayedMessage) {
        let served = answer.fields["cutover-backend"]
        switch answer.status {
        case 200...299:
            acknowledge(write, answer)
            if isWild, write.key != nil, random.chance(10), repeats < 3 {
                repeats += 1
                return send(write, afterMilliseconds: random.below(50))
            }
            rest()
        case 409 where served == nil && text(answer).contains("answer-not-kept"): learned(write, answer)
        case 409 where served == nil, 429, 500...599: again(write)
        case 422 where served == nil:
            ledger.violated("write \(write.token): its key is said to be another request's")
            rest()
        case 400...499:
            let side: Side = served == "new" ? .new : .legacy
            if write.acknowledged == nil, write.refusedBy == nil {
                write.refusedBy = side
                ledger.tally.count("refused")
            }
            rest()
        default:
            ledger.violated("write \(write.token) was answered with \(answer.status)")
            rest()
        }
    }

    private func acknowledge(_ write: PlayedWrite, _ answer: PlayedMessage) {
        let body = text(answer)
        if let first = write.acknowledged {
            if first.life == ledger.life, !first.body.isEmpty, first.body != body {
                ledger.violated("write \(write.token): a repeat got \(body), the first answer was \(first.body)")
            }
        } else {
            write.acknowledged = (body, ledger.life)
            ledger.tally.count("acknowledged")
            trace?("\(user) write \(write.token) is acknowledged")
        }
    }

    /// The first answer's status is all that a repeat can get.
    private func learned(_ write: PlayedWrite, _ answer: PlayedMessage) {
        let whole = String(decoding: answer.body, as: UTF8.self)
        let status = whole.split(separator: "\"first_status\":").dropFirst().first.flatMap { Int($0.prefix(3)) }
        guard let status else { return ledger.violated("write \(write.token): 409 without its first status: \(whole)") }
        ledger.tally.count("answer not kept")
        if (200...299).contains(status), write.acknowledged == nil { write.acknowledged = ("", ledger.life) }
        rest()
    }

    /// A write without a plain answer is repeated where that is safe, else left alone.
    private func again(_ write: PlayedWrite) {
        guard write.key != nil, own.contains(write.path) else { return rest() }
        send(write, afterMilliseconds: 10 + random.below(400))
    }

    private func send(_ write: PlayedWrite, afterMilliseconds pause: Int) {
        pending = nil
        isAboutToRepeat = true
        timeline.after(milliseconds: pause) { [self] in
            isAboutToRepeat = false
            send(write)
        }
    }
}
