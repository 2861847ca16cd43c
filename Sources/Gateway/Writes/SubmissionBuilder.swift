import Comparison
import HTTPWire
import Journal
import Rollout
import Routing

/// A write that cannot be journaled as it is.
enum SubmissionProblem: Error {
    case unusable(String)
    /// The route asks for an idempotency key.
    case missingKey
}

extension ClientSession {
    /// Makes the journal's entry of the request at hand, whose body is in `body`.
    /// - Throws: what is wrong with what the route wants to find in the body.
    func makeSubmission() throws(SubmissionProblem) -> Submission {
        let head = client.head
        let p = client.input.readable
        let route = request.route >= 0 ? snapshot.compiledRoutes[request.route] : nil
        var user = identify().map { $0.text }  // A key path would be walked at run time.
        let found = try lookUp(route)
        if let named = found.user {
            user = named
            decideAgain(for: named)
        } else if request.hasWaitedForBody {
            decide()
        }
        let lines = Buffer(pool: loop.blocks)
        appendWriteLines(head, p, to: lines)
        let headerLines = Array(lines.bytes)
        lines.clear()
        for i in 0..<head.fieldCount where head.field(i).kind == .conditional {
            append(line: head.field(i), p, to: lines)
        }
        let conditionalLines = Array(lines.bytes)
        let target = targetText(head, p)
        let method = String(
            decoding: UnsafeBufferPointer(start: p + head.leading, count: head.methodEnd - head.leading), as: UTF8.self)
        let key = try clientKey(head, p, body: found.key, route)
        let rollout = worker.snapshot.rollout
        return Submission(
            user: user, records: found.records, idempotencyKey: key?.value,
            outgoingKey: key?.text ?? hexadecimal(loop.random.next(), loop.random.next()),
            fingerprint: fingerprint(method, target), method: method, target: target, headerLines: headerLines,
            conditionalLines: conditionalLines, body: Array(body.bytes), side: request.decision.side,
            dualWrite: rollout.dualWrite && (request.decision.side == .legacy || rollout.legacyWrites))
    }

    private func decideAgain(for user: String) {
        var user = user
        user.withUTF8 { bytes in
            guard let base = bytes.baseAddress, !Bucketing.isAnonymous(base, bytes.count) else {
                return decide(for: nil)
            }
            decide(for: UserID(base: base, count: bytes.count))
        }
    }

    /// The header lines that both legs carry, framing included.
    private func appendWriteLines(_ head: MessageHead, _ p: UnsafePointer<UInt8>, to lines: Buffer) {
        let (isTraced, dropsTraceState) = (request.isTraced, request.dropsTraceState)
        appendFields(head, p, to: lines) { kind in
            switch kind {
            case .traceParent: isTraced
            case .traceState: dropsTraceState
            case .connection, .hopByHop, .namedByConnection, .upgrade, .expect, .forwardedFor, .contentLength,
                .transferEncoding, .trailer, .conditional, .idempotencyKey:
                true
            default: false
            }
        }
        if !head.has(.host) { lines.append(worker.pool(request.decision.side).hostLine) }
        appendAdditions(head, p, lines)
        if head.isChunked || head.contentLength >= 0 {
            lines.append("Content-Length: ")
            lines.append(decimal: body.count)
            lines.append("\r\n")
        }
        // The last line: there each leg finds the place of its own span id (`LegMessage.append`).
        if isTraced { appendTraceParent(to: lines, spans?.id ?? loop.random.span()) }
    }

    private func append(line field: Field, _ p: UnsafePointer<UInt8>, to lines: Buffer) {
        lines.append(p + Int(field.lineStart), Int(field.lineEnd) - Int(field.lineStart))
    }

    /// The target in origin form; bytes outside ASCII are percent-encoded, which means the same (RFC 3986 §2.1) and
    /// survives being kept as text.
    private func targetText(_ head: MessageHead, _ p: UnsafePointer<UInt8>) -> String {
        let start = head.isAbsoluteForm ? head.pathStart : head.targetStart
        let isWithoutPath = head.isAbsoluteForm && head.pathEnd == head.pathStart
        let plain = UnsafeBufferPointer(start: p + start, count: head.targetEnd - start)
        if !isWithoutPath, plain.allSatisfy({ $0 < 0x80 }) { return String(decoding: plain, as: UTF8.self) }
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(plain.count)
        if isWithoutPath { bytes.append(0x2f) }
        for i in start..<head.targetEnd {
            if p[i] < 0x80 {
                bytes.append(p[i])
            } else {
                bytes += [0x25, digits[Int(p[i] >> 4)], digits[Int(p[i] & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The client's key: from the header, else from the body where the route says so.
    private func clientKey(
        _ head: MessageHead, _ p: UnsafePointer<UInt8>, body: String?, _ route: CompiledRoute?
    ) throws(SubmissionProblem) -> IdempotencyKey? {
        var key: IdempotencyKey?
        switch head.has(.idempotencyKey) ? head.match(named: IdempotencyKey.fieldName, in: p) : .none {
        case .none: break
        case .one(let field): key = try IdempotencyKey(field: String(decoding: field.value(in: p), as: UTF8.self))
        // Which of them the backends would take is not known here.
        case .several: throw .unusable("there is more than one Idempotency-Key header; accepted: one")
        }
        if key == nil, let body { key = try IdempotencyKey(body: body) }
        if key == nil, route?.route.requiresIdempotencyKey ?? false { throw .missingKey }
        return key
    }

    /// Tells a repeat from another request: method, target and body.
    private func fingerprint(_ method: String, _ target: String) -> String {
        let content = worker.hasher.hash(body.bytes, isJSON: false, rules: ComparisonRules())
        var (method, target) = (method, target)
        // In one piece: interpolation grows its text step by step.
        return String(unsafeUninitializedCapacity: method.utf8.count + target.utf8.count + 34) { buffer in
            guard let base = buffer.baseAddress else { return 0 }
            var end = 0
            func put(_ text: inout String) {
                text.withUTF8 { bytes in
                    if let first = bytes.baseAddress { (base + end).update(from: first, count: bytes.count) }
                    end += bytes.count
                }
                base[end] = 0x20
                end += 1
            }
            put(&method)
            put(&target)
            content.writeHex(to: base + end)
            return end + 32
        }
    }
}

// MARK: - What the route wants from path and body

private struct WriteFindings {
    var user: String?
    var records: [RecordRevision] = []
    var key: String?
}

extension ClientSession {
    private func lookUp(_ route: CompiledRoute?) throws(SubmissionProblem) -> WriteFindings {
        var found = WriteFindings()
        guard let route else { return found }
        let p = client.input.readable
        let head = client.head
        if let range = snapshot.routes.capture(
            .record, route: request.route, path: p + head.pathStart, head.pathEnd - head.pathStart)
        {
            let record = decodedPath(p + head.pathStart + range.start, range.count)
            found.records = [RecordRevision(record: record, revision: nil, payloadHash: payloadHash(body.bytes))]
        }
        guard route.readsBody else { return found }
        guard let document = JSONDocument(bytes: body.bytes) else {
            throw .unusable("the body is not valid JSON, which the route \"\(route.route.pattern.text)\" needs")
        }
        found.user = try identifier(route.user, "user", route.route.user, document, nil)
        found.key = try identifier(route.idempotencyKey, "idempotency_key", route.route.idempotencyKey, document, nil)
        if let pointer = route.items {
            guard let list = document.value(at: pointer), list.kind == .array else {
                throw .unusable("items: there is no array at \(route.route.items ?? "")")
            }
            for item in document.elements(of: list) {
                if let record = try record(route, document, item) { found.records.append(record) }
            }
        } else if let record = try record(route, document, nil) {
            found.records = [record]
        }
        return found
    }

    private func record(
        _ route: CompiledRoute, _ document: JSONDocument, _ item: JSONNode?
    ) throws(SubmissionProblem) -> RecordRevision? {
        guard let pointer = route.record else { return nil }
        guard let name = try identifier(pointer, "record", route.route.record, document, item) else {
            throw .unusable("record: there is no string or integer at \(route.route.record ?? "")")
        }
        var revision: Int64?
        if let pointer = route.revision, let value = document.value(at: pointer, within: item) {
            guard let number = document.integer(of: value) else {
                throw .unusable("revision: the value at \(route.route.revision ?? "") is not an integer")
            }
            revision = number
        }
        let bytes = item.map { UnsafeBufferPointer(rebasing: body.bytes[$0.range]) } ?? body.bytes
        return RecordRevision(record: name, revision: revision, payloadHash: payloadHash(bytes))
    }

    private func identifier(
        _ pointer: PointerPattern?, _ key: String, _ text: String?, _ document: JSONDocument, _ item: JSONNode?
    ) throws(SubmissionProblem) -> String? {
        guard let pointer, let value = document.value(at: pointer, within: item) else { return nil }
        guard let name = document.identifier(of: value) else {
            throw .unusable("\(key): the value at \(text ?? "") is neither a string nor an integer")
        }
        return name
    }

    private func payloadHash(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        worker.hasher.hash(bytes, isJSON: true, rules: ComparisonRules()).hex
    }

    private func decodedPath(_ p: UnsafePointer<UInt8>, _ count: Int) -> String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(1, count)) { scratch in
            guard let base = scratch.baseAddress else { return "" }
            let written = PercentCoding.decode(p, count, into: base)
            return String(decoding: UnsafeBufferPointer(start: base, count: written), as: UTF8.self)
        }
    }
}
