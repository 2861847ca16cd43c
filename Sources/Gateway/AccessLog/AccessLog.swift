import CLinux
import Configuration
import HTTPWire
import Rollout
import Routing

/// The access log of one loop: lines are gathered in a block, and whole blocks go to the writer. Confined to its loop.
///
/// Nothing is allocated per request: records and blocks are used again.
final class AccessLog {
    /// Lines wait so long at most before they go to the writer, in milliseconds.
    private static let flushMilliseconds: Int64 = 500
    /// More free records than this go back to the allocator.
    private static let keep = 512

    private unowned(unsafe) let loop: EventLoop
    private let writer: AccessLogWriter
    private var block: AccessLogBlock?
    private var free: [AccessRecord] = []
    private var time = AccessTime()
    private var isTimerSet = false

    init(loop: EventLoop, writer: AccessLogWriter) {
        self.loop = loop
        self.writer = writer
    }

    // MARK: A request begins

    /// Begins the line of the request at the front of the client's input.
    /// - Parameter hasHead: false for one that never had a head which could be read.
    func begin(_ session: ClientSession, _ rules: AccessLogRules, hasHead: Bool = true) -> AccessRecord {
        let record = take(rules)
        var line = LineWriter(record.memory, capacity: AccessRecord.beginningBytes)
        switch rules.style {
        case .json: beginJSON(session, rules, hasHead: hasHead, &line)
        case .combined: beginCombined(session, rules, hasHead: hasHead, &line)
        }
        record.count = line.count
        return record
    }

    private func take(_ rules: AccessLogRules) -> AccessRecord {
        let record = free.popLast() ?? AccessRecord(rules)
        record.reset(rules)
        record.isSampled = rules.samples { loop.random.next() }
        return record
    }

    private func beginJSON(_ session: ClientSession, _ rules: AccessLogRules, hasHead: Bool, _ line: inout LineWriter) {
        let request = session.request
        line.add("{\"at\":\"")
        time.write(clinux_wall_milliseconds(), to: &line, .json)
        line.add("\",\"request_id\":\"")
        if hasHead, let id = session.harmlessRequestID {
            if let base = id.baseAddress { line.text(base, id.count, until: line.count + 160, .json) }
        } else {
            line.add(hex: request.id.high)
            line.add(hex: request.id.low)
        }
        if let trace = request.trace {
            line.add("\",\"trace_id\":\"")
            line.add(hex: trace.high)
            line.add(hex: trace.low)
        }
        if rules.client != .none {
            line.add("\",\"client\":\"")
            rules.write(client: session.peerText, to: &line)
        }
        if hasHead, rules.user != .none { addUser(session, rules, "\",\"user\":\"", &line) }
        line.add("\",\"kind\":\"")
        line.add(hasHead ? request.kind.name : "none")
        line.add(UInt8(ascii: "\""))
        guard hasHead else { return }
        let (p, head) = (session.client.input.readable, session.client.head)
        line.add(",\"method\":\"")
        line.text(p + head.leading, head.methodEnd - head.leading, until: line.count + 256, .json)
        line.add("\",\"path\":\"")
        addTarget(session, rules, &line)
        line.add(UInt8(ascii: "\""))
    }

    private func beginCombined(
        _ session: ClientSession, _ rules: AccessLogRules, hasHead: Bool, _ line: inout LineWriter
    ) {
        rules.write(client: session.peerText, to: &line)
        line.add(" - ")
        let before = line.count
        if hasHead, rules.user != .none { addUser(session, rules, "", &line) }
        if line.count == before { line.add(UInt8(ascii: "-")) }
        line.add(" [")
        time.write(clinux_wall_milliseconds(), to: &line, .combined)
        line.add("] \"")
        guard hasHead else { return line.add("-\"") }
        let (p, head) = (session.client.input.readable, session.client.head)
        line.text(p + head.leading, head.methodEnd - head.leading, until: line.count + 256, .combined)
        line.add(UInt8(ascii: " "))
        addTarget(session, rules, &line)
        if session.client.stream == nil {
            line.add(" HTTP/1.")
            line.add(decimal: head.minorVersion)
        } else {
            line.add(" HTTP/2.0")
        }
        line.add(UInt8(ascii: "\""))
    }

    private func addTarget(_ session: ClientSession, _ rules: AccessLogRules, _ line: inout LineWriter) {
        let (p, head) = (session.client.input.readable, session.client.head)
        let query =
            head.hasQuery
            ? UnsafeBufferPointer(start: p + head.queryStart, count: head.queryEnd - head.queryStart) : nil
        if head.pathEnd == head.pathStart { line.add(UInt8(ascii: "/")) }
        rules.write(
            p + head.pathStart, head.pathEnd - head.pathStart, query: query, to: &line, until: AccessRecord.targetEnd)
    }

    private func addUser(
        _ session: ClientSession, _ rules: AccessLogRules, _ name: StaticString, _ line: inout LineWriter
    ) {
        guard let user = session.identify() else { return }
        line.add(name)
        if rules.user == .plain {
            line.text(user.base, user.count, until: line.count + 512, rules.style)
        } else {
            line.add(hex: writer.userHash.hash(user.base, user.count))
        }
    }

    // MARK: A request ends

    /// Ends the line; it is written down when the request is sampled or its status is one that always is.
    func end(_ record: AccessRecord, _ end: AccessEnd) {
        defer { if free.count < AccessLog.keep { free.append(record) } }
        guard record.isSampled || record.rules.isAlways(end.status) else { return }
        let room = record.count + AccessRecord.restBytes
        if let block, block.free < room { handOver(block) }
        let block = block ?? writer.takeBlock()
        self.block = block
        var line = LineWriter(block.memory + block.count, capacity: room)
        line.add(record.memory, record.count)
        switch record.rules.style {
        case .json: endJSON(record, end, &line)
        case .combined: endCombined(record, end, &line)
        }
        line.add(10)
        block.count += line.count
        block.lines += 1
        setTimer()
    }

    private func endCombined(_ record: AccessRecord, _ end: AccessEnd, _ line: inout LineWriter) {
        line.add(UInt8(ascii: " "))
        line.add(decimal: end.status, digits: 3)
        line.add(UInt8(ascii: " "))
        line.add(decimal: record.responseBytes)
        // Headers are never written down.
        line.add(" \"-\" \"-\"")
    }

    private func endJSON(_ record: AccessRecord, _ end: AccessEnd, _ line: inout LineWriter) {
        line.add(",\"status\":")
        line.add(decimal: end.status)
        if let decision = end.decision {
            line.add(",\"backend\":\"")
            line.add(decision.side.name)
            line.add("\",\"reason\":\"")
            line.add(decision.reason.name)
            line.add(UInt8(ascii: "\""))
        }
        line.add(",\"duration_seconds\":")
        line.add(seconds: end.nanoseconds)
        if let nanoseconds = record.upstreamNanoseconds {
            line.add(",\"upstream_seconds\":")
            line.add(seconds: nanoseconds)
        }
        line.add(",\"request_bytes\":")
        line.add(decimal: record.requestBytes + end.bodyBytes)
        line.add(",\"response_bytes\":")
        line.add(decimal: record.responseBytes)
        if let problem = record.problem {
            line.add(",\"problem\":\"")
            line.add(problem)
            line.add(UInt8(ascii: "\""))
        }
        if let legs = record.legs {
            line.add(",\"legs\":{\"legacy\":\"")
            line.add(legs.legacy.word)
            line.add("\",\"new\":\"")
            line.add(legs.new.word)
            line.add("\"}")
        }
        line.add(UInt8(ascii: "}"))
    }

    // MARK: To the writer

    private func handOver(_ block: AccessLogBlock) {
        self.block = nil
        writer.take(block)
    }

    private func setTimer() {
        guard !isTimerSet else { return }
        isTimerSet = true
        loop.schedule(after: AccessLog.flushMilliseconds) { [unowned self] in
            self.isTimerSet = false
            guard let block = self.block else { return }
            // A writer that is behind gets few full blocks rather than many that are not.
            if self.writer.isBehind { return self.setTimer() }
            self.handOver(block)
        }
    }

    /// Hands everything over: the loop ends.
    func flush() {
        if let block { handOver(block) }
    }
}

extension ClientSession {
    /// The client's request id, when it is one that can be repeated anywhere.
    var harmlessRequestID: UnsafeBufferPointer<UInt8>? {
        guard request.headInPlace, let field = client.head.firstField(kind: .requestID) else { return nil }
        let value = field.value(in: client.input.readable)
        let isHarmless = value.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != 0x22 && $0 != 0x5c }
        return value.count > 0 && value.count <= 128 && isHarmless ? value : nil
    }

    /// The line of a request that the gateway has refused before it knew what it is.
    func logRefused(_ rules: AccessLogRules, _ problem: StaticString, status: Int, _ nanoseconds: UInt64) {
        let record = worker.accessLog.begin(self, rules, hasHead: false)
        record.problem = problem
        worker.accessLog.end(
            record, AccessEnd(status: status, decision: nil, nanoseconds: nanoseconds, bodyBytes: 0))
    }

    /// When a backend begins to be asked, in monotonic nanoseconds; 0 where nobody wants to know.
    @inline(__always)
    var askedAt: UInt64 { record == nil && spans == nil ? 0 : clinux_monotonic_nanoseconds() }

    /// The backend that was asked since then has answered, with the head at the front of `upstream`, or failed.
    @inline(__always)
    func noteAsked(_ since: UInt64, _ side: Side, _ upstream: Connection?, _ failure: UpstreamFailure? = nil) {
        if since != 0 { note(since, side, status: upstream?.head.status ?? 0, failure) }
    }

    private func note(_ since: UInt64, _ side: Side, status: Int, _ failure: UpstreamFailure?) {
        record?.asked(clinux_monotonic_nanoseconds() &- since)
        exportLeg(side, since: since, status: status, failure: failure)
    }

    /// Ends the line of the request at hand.
    func endRecord(_ record: AccessRecord, status: Int, _ nanoseconds: UInt64) {
        self.record = nil
        worker.accessLog.end(
            record,
            AccessEnd(
                status: status, decision: request.isRefused ? nil : request.decision, nanoseconds: nanoseconds,
                bodyBytes: body.count))
    }
}

extension RouteKind {
    var name: StaticString {
        switch self {
        case .read: "read"
        case .write: "write"
        case .legacy: "legacy"
        case .new: "new"
        case .split: "split"
        }
    }
}
