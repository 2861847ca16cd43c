import HTTPWire
import Rollout

/// How a request's body is framed on the way to the backend.
enum RequestFraming {
    /// No body was sent, none is announced.
    case none
    /// The whole body is at hand.
    case length(Int)
    /// The body passes as it comes, with the client's own framing.
    case asReceived
    /// The body passes as it comes, chunked anew because its beginning has been unwrapped already.
    case rechunked
    /// No body, and the connection is to become a tunnel.
    case upgrade
}

extension ClientSession {
    /// Writes the client's request as it goes to a backend: end-to-end fields in their order, case and multiplicity;
    /// fields of the hop removed (RFC 9110 §7.6.1); `Via`, `X-Forwarded-*` and `X-Request-Id` added.
    func appendRequestHead(to out: Buffer, pool: UpstreamPool, framing: RequestFraming) {
        let head = client.head
        let p = client.input.readable
        out.reserve(head.length &+ 512)
        out.append(p + head.leading, head.methodEnd &- head.leading &+ 1)
        // OPTIONS of the whole server has no path to put a prefix before (RFC 9112 §3.2.4).
        let isOfServer =
            head.method == .options
            && (head.isAbsoluteForm ? head.pathStart == head.targetEnd : p[head.pathStart] == 0x2a)
        if pool.hasPathPrefix, !isOfServer { out.append(pool.pathPrefix) }
        if isOfServer {
            out.append(byte: 0x2a)
        } else if head.isAbsoluteForm {
            if head.pathEnd == head.pathStart { out.append(byte: 0x2f) }
            out.append(p + head.pathStart, head.targetEnd &- head.pathStart)
        } else {
            out.append(p + head.targetStart, head.targetEnd &- head.targetStart)
        }
        out.append(" HTTP/1.1\r\n")
        let passesFraming = if case .asReceived = framing { true } else { false }
        let upgrades = if case .upgrade = framing { true } else { false }
        let (isTraced, dropsTraceState) = (request.isTraced, request.dropsTraceState)
        appendFields(head, p, to: out) { kind in
            switch kind {
            case .traceParent: isTraced
            case .traceState: dropsTraceState
            case .connection, .hopByHop, .namedByConnection, .expect, .forwardedFor: true
            case .upgrade: !upgrades
            // A backend that knows `chunked` by its letters must not read `CHUNKED` as no coding at all.
            case .transferEncoding: true
            case .contentLength, .trailer: !passesFraming
            default: false
            }
        }
        if !head.has(.host) { out.append(pool.hostLine) }
        appendAdditions(head, p, out)
        if isTraced { appendTraceParent(to: out) }
        switch framing {
        case .none: break
        case .asReceived: if head.isChunked { out.append("Transfer-Encoding: chunked\r\n") }
        case .upgrade: out.append("Connection: Upgrade\r\n")
        case .rechunked: out.append("Transfer-Encoding: chunked\r\n")
        case .length(let count):
            out.append("Content-Length: ")
            out.append(decimal: count)
            out.append("\r\n")
        }
        out.append("\r\n")
    }

    func appendAdditions(_ head: MessageHead, _ p: UnsafePointer<UInt8>, _ out: Buffer) {
        out.append(client.stream == nil ? "Via: 1.1 cutover\r\n" : "Via: 2.0 cutover\r\n")
        if head.has(.forwardedFor) {
            out.append("X-Forwarded-For: ")
            for i in 0..<head.fieldCount where head.field(i).kind == .forwardedFor {
                let value = head.field(i).value(in: p)
                if let base = value.baseAddress { out.append(base, value.count) }
                out.append(", ")
            }
            out.append(peerText)
            out.append("\r\n")
        } else {
            out.append(forwardedForLine)
        }
        if !head.has(.forwardedProto) {
            out.append(client.isSecure ? "X-Forwarded-Proto: https\r\n" : "X-Forwarded-Proto: http\r\n")
        }
        if !head.has(.forwardedHost), let host = head.firstField(kind: .host) {
            out.append("X-Forwarded-Host: ")
            out.append(p + Int(host.valueStart), Int(host.valueEnd) &- Int(host.valueStart))
            out.append("\r\n")
        }
        if !head.has(.requestID) {
            out.append("X-Request-Id: ")
            out.append(hex: request.id.high)
            out.append(hex: request.id.low)
            out.append("\r\n")
        }
    }

    /// Writes a backend's answer as it goes to the client; the lines that say who answered take the place of any
    /// `Cutover-` lines of the backend's own.
    @inline(__always)
    func appendAnswerHead(of upstream: Connection, side: Side, reason: Reason, dropsFraming: Bool) {
        let head = upstream.head
        let p = upstream.input.readable
        let out = client.output
        out.reserve(head.length &+ 256)
        out.append("HTTP/1.1")
        out.append(p + 8, head.firstLineEnd &- 8)
        appendFields(head, p, to: out) { kind in
            switch kind {
            case .connection, .hopByHop, .namedByConnection, .cutover: true
            case .upgrade: head.status != 101
            // What has no body has no framing, and what follows a 101 is no HTTP any more (RFC 9110 §8.6, RFC 9112 §6.1).
            case .contentLength: dropsFraming || head.status == 204 || head.status == 101
            case .transferEncoding, .trailer:
                dropsFraming || head.status == 204 || head.status == 304 || head.status == 101
            default: false
            }
        }
        worker.answerTails.append(side, reason, to: out)
        if head.status == 101 { out.append("Connection: Upgrade\r\n") } else { appendConnection(out) }
        out.append("\r\n")
    }
}

/// Appends field lines, leaving some kinds out; neighbours that stay are copied in one go.
@inline(__always)
func appendFields(_ head: MessageHead, _ p: UnsafePointer<UInt8>, to out: Buffer, dropping: (FieldKind) -> Bool) {
    var run = head.firstLineEnd
    for i in 0..<head.fieldCount {
        let field = head.field(i)
        if dropping(field.kind) {
            out.append(p + run, Int(field.lineStart) &- run)
            run = Int(field.lineEnd)
        }
    }
    out.append(p + run, head.length &- 2 &- run)
}
