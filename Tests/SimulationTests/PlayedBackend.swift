import TestSupport
import CLinux
import Rollout

@testable import Gateway

/// What a backend knows of one record.
struct PlayedRecord {
    /// The write that it shows; 0 when it was never written.
    var token = 0
    var isDeleted = false
    var revision = 0
}

/// A backend that deduplicates by `Idempotency-Key`, keeps revisions, remembers in which order it applied what, and fails in
/// drawn ways. It lives on while gateways come and go: what lay in its sockets when one died may still be applied.
final class PlayedBackend {
    let side: Side
    private let timeline: Timeline
    private var random: SeededGenerator
    private let name: [UInt8]
    private var listener: Int32 = -1
    private var connections: [Connection] = []
    /// How it fails at present; none after the healing.
    var faults: Faults
    /// Records that it refuses for ever, as `user/record`.
    var poisoned: Set<String> = []
    /// Whether a deleted record is a 404, or a 200 that says so.
    var saysNotFound = true
    /// Counts the lives of the gateway: a connection of an earlier one was cut by a crash, not given up.
    var life = 1

    private(set) var records: [String: PlayedRecord] = [:]
    /// Tokens in the order in which they were applied, by record.
    private(set) var applied: [String: [Int]] = [:]
    /// Status of the answer when a key was applied first.
    private var keys: [String: Int] = [:]
    private var answers = 0

    fileprivate final class Connection {
        let wire: Wire
        let life: Int
        var isBusy = false
        /// The gateway gave the request up (a time-out): what was not applied by then never is.
        var isGivenUp = false

        init(_ wire: Wire, life: Int) {
            self.wire = wire
            self.life = life
        }
    }

    /// - Parameter name: of its socket, unique on the machine.
    init(side: Side, name: String, timeline: Timeline, random: SeededGenerator, faults: Faults) {
        self.side = side
        self.timeline = timeline
        self.random = random
        self.faults = faults
        self.name = [0] + Array(name.utf8)
        open()
    }

    deinit { if listener >= 0 { _ = close(listener) } }

    /// Its address in the abstract name space of local sockets: bytes arrive in the very call that sends them, which a
    /// loopback connection does not promise.
    var address: SocketAddress {
        var bytes = [UInt8](repeating: 0, count: 110)
        bytes[0] = UInt8(AF_UNIX)
        bytes.replaceSubrange(2..<2 + name.count, with: name)
        let size = socklen_t(2 + name.count)
        return bytes.withUnsafeBytes {
            SocketAddress($0.baseAddress!.assumingMemoryBound(to: sockaddr.self), size)
        }
    }

    // MARK: Up and down

    var isUp: Bool { listener >= 0 }

    func open() {
        guard listener < 0 else { return }
        listener = address.listen(backlog: 128, joins: false)
        precondition(listener >= 0, "cannot listen on a local socket: \(listener)")
    }

    /// Refuses connections from now on, and drops those it has.
    func shut() {
        if listener >= 0 { _ = close(listener) }
        listener = -1
        for connection in connections { connection.wire.close() }
        connections = []
    }

    /// Takes note of what the gateway has given up on by itself, before a crash closes the rest.
    func noteHangUps() {
        for connection in connections where connection.wire.hasHungUp { connection.isGivenUp = true }
    }

    // MARK: Moving

    /// Accepts, reads, and begins what is whole. Returns whether anything moved.
    func pump() -> Bool {
        var hasMoved = false
        while listener >= 0 {
            var peer = sockaddr_storage()
            let descriptor = clinux_accept(listener, &peer)
            guard descriptor >= 0 else { break }
            connections.append(Connection(Wire(descriptor: descriptor), life: life))
            hasMoved = true
        }
        for connection in connections where !connection.isBusy {
            if serve(connection) { hasMoved = true }
        }
        for connection in connections where connection.isBusy { _ = connection.wire.flush() }
        connections.removeAll { !$0.wire.isOpen }
        return hasMoved
    }

    private func serve(_ connection: Connection) -> Bool {
        let wire = connection.wire
        let fresh = wire.peek()
        if fresh.isEmpty {
            guard wire.hasHungUp else { return false }
            wire.close()
            return true
        }
        let bytes = wire.input + fresh
        guard let message = PlayedMessage(bytes) else { return wire.take(fresh.count) }
        connection.isBusy = true
        begin(message, connection, fresh: message.length - wire.input.count)
        return true
    }

    /// Draws what becomes of a request.
    private func begin(_ message: PlayedMessage, _ connection: Connection, fresh: Int) {
        let isWrite = message.method != "GET"
        let fate = faults.fate(isWrite: isWrite, &random)
        if fate == .resetUnread {
            // Unread bytes make the close a reset.
            note("\(message.method) \(message.target) reset unread")
            return connection.wire.close()
        }
        let resets = fate == .resetRead || fate == .resetApplied
        _ = connection.wire.take(resets ? fresh - 1 : fresh)
        connection.wire.input = []
        let delay = faults.delay(&random)
        timeline.after(microseconds: delay) { [self] in finish(message, connection, fate) }
    }

    private func finish(_ message: PlayedMessage, _ connection: Connection, _ fate: Fate) {
        let wire = connection.wire
        guard wire.isOpen else { return }
        if connection.life == life, wire.hasHungUp { connection.isGivenUp = true }
        if connection.isGivenUp {
            note("\(message.method) \(message.target) given up")
            return wire.close()
        }
        switch fate {
        case .resetUnread, .resetRead:
            note("\(message.method) \(message.target) reset")
            wire.close()
        case .silent: note("\(message.method) \(message.target) not answered")
        case .status(let status):
            note("\(message.method) \(message.target) says \(status)")
            answer(status, "{}", connection)
        case .resetApplied:
            _ = apply(message)
            wire.close()
        case .silentApplied: _ = apply(message)
        case .statusApplied(let status):
            _ = apply(message)
            answer(status, "{}", connection)
        case .answers:
            let (status, body) = message.method == "GET" ? read(message) : apply(message)
            answer(status, body, connection)
        }
    }

    private func answer(_ status: Int, _ body: String, _ connection: Connection) {
        let closes = random.chance(faults.intensity > 0 ? 8 : 0)
        let hanging = !closes && random.chance(faults.intensity > 0 ? 5 : 0)
        var head = "HTTP/1.1 \(status) Played\r\nContent-Type: application/json\r\n"
        if closes { head += "Connection: close\r\n" }
        let isChunked = random.chance(20)
        head += isChunked ? "Transfer-Encoding: chunked\r\n\r\n" : "Content-Length: \(body.utf8.count)\r\n\r\n"
        let text = isChunked ? "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n" : body
        let bytes = Array((head + text).utf8)
        let cut = random.chance(10) ? random.below(bytes.count) : bytes.count
        connection.wire.send(Array(bytes[..<cut]))
        let end = { [self] in
            if cut < bytes.count { connection.wire.send(Array(bytes[cut...])) }
            connection.isBusy = false
            if closes { connection.wire.close() }
            // Closes a connection that it promised to keep.
            if hanging { timeline.after(milliseconds: random.below(40)) { connection.closeIfIdle() } }
        }
        if cut < bytes.count { timeline.after(milliseconds: random.below(5), end) } else { end() }
    }

    // MARK: The data

    private func read(_ message: PlayedMessage) -> (Int, String) {
        let record = records[key(message)] ?? PlayedRecord()
        let status = saysNotFound && (record.isDeleted || record.token == 0) ? 404 : 200
        note("\(message.method) \(message.target) shows \(record.token)")
        return (status, "{\"last\":\(record.token)}")
    }

    private func apply(_ message: PlayedMessage) -> (Int, String) {
        answers += 1
        let name = key(message)
        let token = number("token", in: message.target) ?? 0
        let body = "{\"answer\":\"\(side.name)-\(answers)\"}"
        guard let idempotencyKey = message.fields["idempotency-key"] else { return (400, "{}") }
        if poisoned.contains(name) {
            note("\(message.method) \(message.target) refused")
            return (422, body)
        }
        if let status = keys[idempotencyKey] {
            note("\(message.method) \(message.target) repeated")
            return (status, body)
        }
        var record = records[name] ?? PlayedRecord()
        let revision = number("rev", in: message.target)
        if let revision, revision <= record.revision {
            note("\(message.method) \(message.target) old")
            return (409, body)
        }
        let isGone = message.method == "DELETE" && (record.token == 0 || record.isDeleted)
        let status = isGone ? 404 : message.method == "POST" ? 201 : 200
        record = PlayedRecord(
            token: token, isDeleted: message.method == "DELETE", revision: revision ?? record.revision)
        records[name] = record
        applied[name, default: []].append(token)
        keys[idempotencyKey] = status
        note("\(message.method) \(message.target) applied \(token): \(status)")
        return (status, body)
    }

    private func key(_ message: PlayedMessage) -> String {
        let path = message.target.prefix { $0 != "?" }
        return "\(message.fields["x-user-id"] ?? "")\(path)"
    }

    private func note(_ text: String) { trace?("\(side.name): \(text)") }
    var trace: ((String) -> Void)?
}

extension PlayedBackend.Connection {
    fileprivate func closeIfIdle() { if !isBusy, wire.peek().isEmpty { wire.close() } }
}
