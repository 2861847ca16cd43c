import HTTPWire
import Journal
import Rollout
import Telemetry

/// One write as it goes to the backends: the same bytes for both legs.
struct LegMessage: Sendable {
    let submission: Submission

    /// Longest idempotency key that is taken.
    static let keyBytesMax = 1024

    /// Whether a byte may stand in an idempotency key: what is visible in a header line, and the space.
    static func isKeyByte(_ byte: UInt8) -> Bool { byte >= 0x20 && byte < 0x7f }

    /// Bytes that it keeps in memory.
    var byteCount: Int { submission.body.count + submission.headerLines.count }

    /// Writes the whole request.
    /// - Parameters:
    ///   - conditionals: If-Match and its like go along: on the authoritative leg, or where the route keeps them.
    ///   - span: makes the id of this leg's span; called where the write belongs to a trace.
    func append(to out: Buffer, pathPrefix: [UInt8], conditionals: Bool, span: () -> UInt64) {
        out.reserve(submission.headerLines.count &+ submission.body.count &+ submission.target.utf8.count &+ 256)
        out.append(text: submission.method)
        out.append(byte: 32)
        if !pathPrefix.isEmpty { out.append(pathPrefix) }
        out.append(text: submission.target)
        out.append(" HTTP/1.1\r\n")
        appendHeaderLines(to: out, span)
        if conditionals { out.append(submission.conditionalLines) }
        out.append("Idempotency-Key: ")
        append(key: submission.outgoingKey, to: out)
        out.append("\r\n\r\n")
        out.append(submission.body)
    }

    /// The lines as they are kept, but that each leg, and each try of it, is a span of its own in the write's trace.
    private func appendHeaderLines(to out: Buffer, _ span: () -> UInt64) {
        submission.headerLines.withUnsafeBufferPointer { lines in
            guard let base = lines.baseAddress else { return }
            // A line of the client's own is never the last one: those that the gateway adds come after it.
            guard let place = TraceParent.spanPlace(inLastOf: base, lines.count) else {
                return out.append(base, lines.count)
            }
            out.append(base, place)
            out.append(hex: span())
            out.append(base + place + 16, lines.count - place - 16)
        }
    }

    /// A row of an older version may hold anything; nothing but a key goes into the line.
    private func append(key: String, to out: Buffer) {
        if key.utf8.withContiguousStorageIfAvailable({ $0.allSatisfy(LegMessage.isKeyByte) }) ?? false {
            return out.append(text: key)
        }
        for byte in key.utf8 where LegMessage.isKeyByte(byte) { out.append(byte: byte) }
    }

    var isIdempotent: Bool {
        switch submission.method {
        case "PUT", "DELETE", "PROPPATCH", "MKCOL", "COPY", "MOVE", "UNLOCK": true
        default: false
        }
    }
    /// The trace of a write whose lines say so; its parent is the span of the request that brought the write.
    var trace: TraceParent? {
        submission.headerLines.withUnsafeBufferPointer { lines in
            lines.baseAddress.flatMap { base in
                TraceParent.spanPlace(inLastOf: base, lines.count).flatMap {
                    TraceParent(base + $0 - 36, TraceParent.byteCount)
                }
            }
        }
    }

    var isDelete: Bool { submission.method == "DELETE" }
}

/// Sends legs. Confined to the loop of its pool.
extension UpstreamPool {
    /// Sends one leg and waits for the head of the final answer. The client cannot cancel this: a leg that has begun runs
    /// to its end (contract §8). Re-sends under the same rule as reads do: once, on a new connection, when a pooled one
    /// turned out to be closed and the backend cannot have seen the request or may see it twice.
    /// - Parameter span: the id of the leg's span; 0 where nobody wants to know it.
    func send(
        _ message: LegMessage, conditionals: Bool, span: UInt64 = 0
    ) async throws(UpstreamFailure) -> Connection {
        var fresh = false
        var mayHaveBeenSeen = false
        while true {
            let upstream: Connection
            do throws(UpstreamFailure) {
                upstream = try await take(fresh: fresh, isRepeatable: message.isIdempotent)
            } catch {
                // The first try may have reached the backend, whatever the second came to.
                throw mayHaveBeenSeen ? .broken : error
            }
            upstream.carriesRepeat = mayHaveBeenSeen
            message.append(to: upstream.output, pathPrefix: pathPrefix, conditionals: conditionals) {
                span == 0 ? loop.random.span() : span
            }
            let whole = upstream.output.count
            let failure: UpstreamFailure
            do throws(UpstreamFailure) {
                do throws(IOFailure) { try await upstream.flushUnlessAnswered(timeout: timeout) } catch {
                    throw UpstreamFailure(error)
                }
                try await readAnswerHead(upstream, timeout: timeout, loop: loop)
                return upstream
            } catch {
                failure = error
            }
            let wroteNothing = upstream.output.count >= whole
            let sawAnswer = !upstream.input.isEmpty
            let reused = upstream.reused
            if failure == .malformed { metrics.malformedResponse(side.backend) }
            discard(upstream)
            if reused, failure == .broken, !sawAnswer { closedUnannounced() }
            if wroteNothing, failure == .broken, !reused { throw .connect }
            guard reused, !fresh, failure == .broken, !sawAnswer, wroteNothing || message.isIdempotent else {
                throw failure
            }
            metrics.upstreamResend(side.backend)
            mayHaveBeenSeen = !wroteNothing
            fresh = true
        }
    }
}

extension Connection {
    /// Whether all of the answer whose head was parsed is here already.
    func hasWholeAnswer(toHead: Bool) -> Bool {
        var scanner = BodyScanner.response(head, toHead: toHead)
        guard let left = scanner.remainingLength else {
            return scanner.scan(input.readable + head.length, input.count - head.length) { _, _ in } != nil
                && scanner.isDone
        }
        return input.count - head.length >= left
    }
}

extension LegOutcome {
    init(_ failure: UpstreamFailure) {
        self =
            switch failure {
            case .connect, .exhausted: .connectFailed
            case .timeout: .timedOut
            case .broken, .malformed, .clientGone: .broken
            }
    }
}
