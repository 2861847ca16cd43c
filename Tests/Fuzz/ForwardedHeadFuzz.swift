import Configuration
import Gateway
import HTTPWire
import Rollout
import Telemetry

@testable import ControlPlane
@testable import Gateway

/// What the proxy itself writes of a head that it has understood, towards a backend and towards a client.
///
/// The next one understands the same request or answer; what was left out is of this hop, and what was added is the gateway's.
/// The rules are written down here once more and by name, as the standards have them: nothing is asked of the product's own table.
final class ForwardedHeadFuzz {
    private static let peer = Array("192.0.2.1".utf8)
    private let office = FuzzOffice()
    private let worker: Worker
    private let session: ClientSession
    private let upstream: Connection
    private let pools: [UpstreamPool]
    private let out: Buffer

    init() {
        worker = office.dataPlane.workers[0]
        let loop = worker.loop
        let client = Connection(fd: -1, loop: loop, limits: WireLimits(), connecting: false)
        session = ClientSession(worker: worker, client: client, peerText: Self.peer, isFresh: true)
        upstream = Connection(fd: -1, loop: loop, limits: WireLimits(), connecting: false)
        out = Buffer(pool: loop.blocks)
        let metrics = worker.metrics
        pools = ["", "/base"].map { prefix in
            var settings = BackendSettings()
            (settings.host, settings.port) = ("127.0.0.1", 80)
            settings.pathPrefix = prefix
            return UpstreamPool(
                side: .new, settings: settings, workers: 1,
                shared: SharedBackend(settings, breaker: Settings().fallback.breaker), loop: loop, metrics: metrics)
        }
    }

    // MARK: Requests

    func request(_ head: MessageHead, _ bytes: [UInt8]) {
        let client = session.client
        arrive(bytes, at: client)
        require(client.head.parseRequest(client.input.readable, bytes.count) == .complete, "the session refuses it")
        for pool in pools {
            session.begin()
            if client.head.has(.traceParent) || session.snapshot.tracing.begins { session.takeUpTrace() }
            write { session.appendRequestHead(to: out, pool: pool, framing: .asReceived) }
            let text = Array(out.bytes)
            let again = parsedAgain(text, asRequest: true)
            isSameRequest(head, bytes, again, text, prefix: pool.pathPrefix)
            let kept = text[again.firstLineEnd..<(text.count - 2)]
            fields(of: head, bytes, passedOnAs: lines(kept), Self.towardsBackend)
            require(
                lines(kept).count { $0.name == "host" } == 1, "not one Host: \(String(decoding: text, as: UTF8.self))")

            // The body was taken in whole, or in part.
            write { session.appendRequestHead(to: out, pool: pool, framing: .length(12)) }
            var framed = parsedAgain(Array(out.bytes), asRequest: true)
            require(framed.contentLength == 12 && !framed.isChunked, "not the length that was written")
            write { session.appendRequestHead(to: out, pool: pool, framing: .rechunked) }
            framed = parsedAgain(Array(out.bytes), asRequest: true)
            require(framed.contentLength < 0 && framed.isChunked, "not chunked")
        }
    }

    private func isSameRequest(
        _ head: MessageHead, _ bytes: [UInt8], _ again: MessageHead, _ text: [UInt8], prefix: [UInt8]
    ) {
        require(again.method == head.method, "another method")
        require(text[again.leading..<again.methodEnd].elementsEqual(bytes[head.leading..<head.methodEnd]), "its name")
        let path = bytes[head.pathStart..<head.pathEnd]
        // RFC 9112 §3.2.4, and RFC 9110 §4.2.3 for the others.
        let isOfServer = head.method == .options && (path == [0x2a] || path.isEmpty && !head.hasQuery)
        let wanted = isOfServer ? [0x2a] : prefix + (path.isEmpty ? [0x2f] : Array(path))
        require(text[again.pathStart..<again.pathEnd].elementsEqual(wanted), "another path")
        let query = head.hasQuery ? bytes[head.queryStart..<head.queryEnd] : []
        require((again.hasQuery ? text[again.queryStart..<again.queryEnd] : []).elementsEqual(query), "another query")
        require(!again.isAbsoluteForm && again.hasQuery == head.hasQuery, "another form of target")
        require(again.isChunked == head.isChunked && again.contentLength == head.contentLength, "another framing")
        require(again.keepAlive && !again.wantsUpgrade && !again.expectsContinue, "a word about the connection")
    }

    private static let towardsBackend = Rules(
        goes: ofTheHop.union(["expect", "x-forwarded-for"]), mayGo: ["traceparent", "tracestate"],
        comes: [
            "host", "via", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-request-id", "traceparent",
            "transfer-encoding",
        ])

    // MARK: Answers

    /// Interim ones end at the gateway, but for the one that makes a tunnel.
    func response(_ head: MessageHead, _ bytes: [UInt8]) {
        guard head.status >= 200 || head.status == 101 else { return }
        arrive(bytes, at: upstream)
        let outcome = upstream.head.parseResponse(upstream.input.readable, bytes.count)
        require(outcome == .complete, "the answer is refused")
        for unwraps in head.status == 101 ? [false] : [false, true] {
            session.begin()
            session.request.isHTTP10 = unwraps
            session.request.keepAlive = !unwraps
            session.client.output.clear()
            session.appendAnswerHead(of: upstream, side: .new, reason: .inPercent, dropsFraming: unwraps)
            let text = Array(session.client.output.bytes)
            let again = parsedAgain(text, asRequest: false)
            require(again.status == head.status, "another status")
            require(again.keepAlive == !unwraps, "another word about the connection")
            isSameFraming(head, again, unwraps: unwraps)
            let reason = { (head: MessageHead, bytes: [UInt8]) in bytes[(head.leading + 8)..<head.firstLineEnd] }
            require(reason(again, text).elementsEqual(reason(head, bytes)), "another reason")
            let rules = head.status == 101 ? Self.tunnel : unwraps ? Self.towardsOldClient : Self.towardsClient
            fields(of: head, bytes, passedOnAs: lines(text[again.firstLineEnd..<(text.count - 2)]), rules)
        }
    }

    private func isSameFraming(_ head: MessageHead, _ again: MessageHead, unwraps: Bool) {
        let isBare = head.status == 204 || head.status == 101
        require(again.contentLength == (unwraps || isBare ? -1 : head.contentLength), "another length")
        let isChunked = head.isChunked && !unwraps && !isBare && head.status != 304
        require(again.isChunked == isChunked, "another framing")
    }

    private static let framing: Set<String> = ["content-length", "transfer-encoding", "trailer"]
    private static let towardsClient = Rules(
        goes: ofTheHop.subtracting(framing), mayGo: framing, comes: ["via"], isAnswer: true)
    private static let towardsOldClient = Rules(
        goes: ofTheHop.union(framing), mayGo: [], comes: ["via", "connection"], isAnswer: true)
    private static let tunnel = Rules(
        goes: ofTheHop.union(framing).subtracting(["upgrade"]), mayGo: [], comes: ["via", "connection"], isAnswer: true)

    // MARK: Both

    /// RFC 9110 §7.6.1, and what is between a client and a forward proxy (§11.7).
    private static let ofTheHop: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade", "proxy-authenticate",
        "proxy-authorization", "proxy-authentication-info",
    ]

    private struct Line: Equatable {
        var name: String
        var bytes: ArraySlice<UInt8>
    }

    private struct Rules {
        /// Never passes, whatever the gateway then says itself.
        var goes: Set<String>
        var mayGo: Set<String>
        /// Said by the gateway itself.
        var comes: Set<String>
        /// `Cutover-` lines are the gateway's own there.
        var isAnswer = false

        func drops(_ name: String) -> Bool { goes.contains(name) || isAnswer && name.hasPrefix("cutover-") }
        func adds(_ name: String) -> Bool { comes.contains(name) || isAnswer && name.hasPrefix("cutover-") }
    }

    /// Every line of the head as it came is in what was written, in its order, unless the rules take it out or the sender called it
    /// one of the hop; all else that was written is what the gateway adds.
    private func fields(of head: MessageHead, _ bytes: [UInt8], passedOnAs written: [Line], _ rules: Rules) {
        let came = lines(bytes[head.firstLineEnd..<(head.length - 2)])
        let options = came.filter { $0.name == "connection" }.flatMap { line in
            value(line).split(separator: 0x2c).map { name($0.drop { $0 == 0x20 || $0 == 0x09 }) }
        }
        var rest = written[...]
        for line in came where !rules.drops(line.name) {
            if let index = rest.firstIndex(where: { $0.bytes == line.bytes }) {
                for added in rest[..<index] { require(rules.adds(added.name), "added: \(added.name)") }
                rest = rest[(index + 1)...]
            } else {
                require(rules.mayGo.contains(line.name) || options.contains(line.name), "lost: \(line.name)")
            }
        }
        for added in rest { require(rules.adds(added.name), "added: \(added.name)") }
    }

    private func lines(_ fields: ArraySlice<UInt8>) -> [Line] {
        fields.split(separator: 0x0a).map { line in
            Line(name: name(line.prefix { $0 != 0x3a }), bytes: line)
        }
    }

    private func name(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self).lowercased()
            .trimmingBlanks
    }

    private func value(_ line: Line) -> ArraySlice<UInt8> {
        line.bytes.drop { $0 != 0x3a }.dropFirst().prefix { $0 != 0x0d }
    }

    private func arrive(_ bytes: [UInt8], at connection: Connection) {
        connection.input.clear()
        connection.input.append(bytes)
        connection.head.reset()
    }

    private func write(_ append: () -> Void) {
        out.clear()
        append()
    }

    /// What the next one reads in a head that was passed on.
    private func parsedAgain(_ text: [UInt8], asRequest: Bool) -> MessageHead {
        let again = MessageHead(
            limits: WireLimits(
                targetBytes: 1 << 20, headerLineBytes: 1 << 20, headerBytes: 1 << 20, headerLines: 10_000))
        let outcome = withExactCopy(text + [UInt8](repeating: 0x0a, count: 8)) {
            asRequest ? again.parseRequest($0, text.count) : again.parseResponse($0, text.count)
        }
        require(outcome == .complete, "what is passed on is \(outcome): \(String(decoding: text, as: UTF8.self))")
        require(again.length == text.count && again.leading == 0, "what is passed on ends early")
        return again
    }
}

extension String {
    /// Without the blanks at its end.
    fileprivate var trimmingBlanks: String {
        var text = self[...]
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return String(text)
    }
}
