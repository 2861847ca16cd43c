import HTTPWire
import Testing

/// Messages that nobody wrote: random bytes and damaged messages, from a printed seed. To play a failure again, put the
/// seed that it names into `seed`.
@Suite struct RandomBytesTests {
    private let seed = UInt64.random(in: 0...UInt64.max)
    private static let longest = 400

    private static let seeds =
        ResumingTests.requests + ResumingTests.responses + [
            "POST /x HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 10\r\n\r\n",
            "GET https://h.example:81/p?q HTTP/1.1\r\nHost: h.example:81\r\nCookie: a=b\r\nConnection: close, te\r\n\r\n",
            "HTTP/1.0 200 \r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n",
        ]
    private static let pieces = [
        "\r\n", "\r", "\n", " ", "\t", ":", ",", "\r\n\r\n", "Host: a\r\n", "Content-Length: 3\r\n", "Content-Length",
        "chunked",
        "Transfer-Encoding: chunked\r\n", "Connection: close\r\n", "Connection: keep-alive\r\n", "HTTP/1.0", "HTTP/1.1",
        "http://a",
        "GET", "OPTIONS", "*", "?", "#", "%", "[", "]", "\u{0}", "\u{7f}", "\u{e9}", "0", "9223372036854775808",
        "X: y\r\n",
    ]

    private func damaged(_ random: inout SeededNumbers) -> [UInt8] {
        var bytes = Array(Self.seeds[Int.random(in: 0..<Self.seeds.count, using: &random)].utf8)
        for _ in 0..<Int.random(in: 0...4, using: &random) where !bytes.isEmpty {
            let at = Int.random(in: 0..<bytes.count, using: &random)
            let end = min(bytes.count, at + Int.random(in: 1...8, using: &random))
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes[at] ^= 1 << UInt8.random(in: 0...7, using: &random)
            case 2: bytes.removeSubrange(at..<end)
            case 3: bytes.insert(contentsOf: bytes[at..<end], at: at)
            default:
                let piece = Self.pieces[Int.random(in: 0..<Self.pieces.count, using: &random)]
                bytes.insert(contentsOf: piece.utf8, at: at)
            }
        }
        return Array(bytes.prefix(Self.longest))
    }

    /// What must be true of every complete head, whatever it was made of.
    private func isSound(_ head: MessageHead, _ bytes: [UInt8], asRequest: Bool) -> Bool {
        guard head.length <= bytes.count, head.leading < head.firstLineEnd, head.firstLineEnd + 2 <= head.length,
            bytes[head.length - 2] == 13, bytes[head.length - 1] == 10
        else { return false }
        if asRequest {
            let offsets = [
                head.leading, head.methodEnd, head.targetStart, head.pathStart, head.pathEnd, head.queryStart,
                head.queryEnd, head.targetEnd, head.firstLineEnd,
            ]
            guard offsets == offsets.sorted() else { return false }
        }
        var at = head.firstLineEnd
        for index in 0..<head.fieldCount {
            let field = head.field(index)
            guard Int(field.lineStart) == at, field.lineStart < field.nameEnd, field.nameEnd < field.valueStart,
                field.valueStart <= field.valueEnd, field.valueEnd + 2 <= field.lineEnd, head.has(field.kind)
            else { return false }
            at = Int(field.lineEnd)
        }
        return at + 2 == head.length && !(head.isChunked && head.contentLength >= 0)
    }

    private func verdict(_ outcome: HeadOutcome, _ head: MessageHead) -> ReferenceHead.Verdict {
        switch outcome {
        case .incomplete: .incomplete
        case .refused: .refused
        case .complete:
            .complete(
                length: head.length, fields: head.fieldCount, contentLength: head.contentLength,
                isChunked: head.isChunked, keepAlive: head.keepAlive)
        }
    }

    /// Parses whole and in two or more pieces, compares both, the reference and the invariants; names what failed.
    private func trouble(
        _ bytes: [UInt8], asRequest: Bool, _ heads: (MessageHead, MessageHead), _ buffer: GuardedBytes,
        _ random: inout SeededNumbers
    ) -> String? {
        let (whole, cut) = heads
        whole.reset()
        cut.reset()
        var p = buffer.place(bytes, filler: UInt8.random(in: 0...255, using: &random))
        let outcome = asRequest ? whole.parseRequest(p, bytes.count) : whole.parseResponse(p, bytes.count)
        var last = HeadOutcome.incomplete
        var count = 0
        repeat {
            count = min(bytes.count, count + Int.random(in: 0...max(1, bytes.count / 2), using: &random))
            p = buffer.place(bytes[..<count], filler: UInt8.random(in: 0...255, using: &random))
            last = asRequest ? cut.parseRequest(p, count) : cut.parseResponse(p, count)
        } while last == .incomplete && count < bytes.count
        if last != outcome { return "pieces: \(last), whole: \(outcome)" }
        if outcome == .complete {
            if !isSound(whole, bytes, asRequest: asRequest) { return "offsets" }
            if HeadSnapshot(outcome, whole, bytes) != HeadSnapshot(last, cut, bytes) { return "pieces differ" }
        }
        let wanted = ReferenceHead.judge(bytes, asRequest: asRequest)
        let got = verdict(outcome, whole)
        return got == wanted ? nil : "\(outcome) \(got), reference: \(wanted)"
    }

    @Test func damagedMessagesAreJudgedAsTheReferenceDoesInWhateverPieces() {
        print("seed of damaged messages: \(seed)")
        var random = SeededNumbers(seed: seed)
        let heads = (MessageHead(limits: WireLimits()), MessageHead(limits: WireLimits()))
        let buffer = GuardedBytes(capacity: Self.longest)
        var complete = 0
        for round in 0..<6000 {
            let bytes = damaged(&random)
            let asRequest = round % 4 != 0
            if let trouble = trouble(bytes, asRequest: asRequest, heads, buffer, &random) {
                let text = String(decoding: bytes, as: UTF8.self).debugDescription
                Issue.record("seed \(seed), round \(round), request \(asRequest): \(trouble) \(text)")
                return
            }
            if heads.0.length > 0 { complete += 1 }
        }
        // Else it would have tested only how to refuse.
        #expect(complete > 300)
    }

    @Test func randomBytesNeverHarmTheHeadParser() {
        print("seed of random bytes: \(seed)")
        var random = SeededNumbers(seed: seed)
        let heads = (MessageHead(limits: WireLimits()), MessageHead(limits: WireLimits()))
        let buffer = GuardedBytes(capacity: Self.longest)
        let prefixes = ["", "GET ", "GET / HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\n", "GET / HTTP/1.1\r\nHost:"]
        for round in 0..<4000 {
            var bytes = Array(prefixes[round % prefixes.count].utf8)
            // Of few values, so that something comes of it.
            let alphabet = round % 2 == 0 ? Array("\r\n\t :aA/,?".utf8) : Array(0...255)
            for _ in 0..<Int.random(in: 0...40, using: &random) {
                bytes.append(alphabet[Int.random(in: 0..<alphabet.count, using: &random)])
            }
            let asRequest = round % 3 != 0
            if let trouble = trouble(bytes, asRequest: asRequest, heads, buffer, &random) {
                Issue.record("seed \(seed), round \(round), request \(asRequest): \(trouble) \(bytes)")
                return
            }
        }
    }

    @Test func damagedChunkedBodiesAreJudgedAlikeInWhateverPieces() {
        print("seed of damaged chunks: \(seed)")
        var random = SeededNumbers(seed: seed)
        let bodies = ChunkedBodyTests.valid.map(\.0) + ChunkedBodyTests.malformed
        for round in 0..<3000 {
            var bytes = Array(bodies[round % bodies.count].utf8)
            for _ in 0..<Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: at)
                case 2: bytes.insert(bytes[at], at: at)
                default: bytes.insert(Array("\r\n0;: a".utf8)[Int.random(in: 0..<7, using: &random)], at: at)
                }
            }
            let whole = scan(BodyScanner(.chunked), bytes)
            let cuts = (0..<5).map { _ in Int.random(in: 0...bytes.count, using: &random) }.sorted()
            let parts = scan(BodyScanner(.chunked), bytes, cuts: cuts)
            // Pieces before the malformed one had been taken already.
            let isAlike = whole.isMalformed ? parts.isMalformed : parts == whole
            if !isAlike || whole.taken > bytes.count {
                Issue.record("seed \(seed), round \(round), cuts \(cuts): \(whole), \(parts) of \(bytes)")
                return
            }
        }
    }
}
