import HTTPWire

/// Heads of requests and answers: one verdict, however the bytes arrive; and what the proxy writes from what it understood is
/// understood the same by whoever reads it next (`ForwardedHeadFuzz`).
final class HeadFuzz {
    /// A parser may look this far past the bytes that it was given (`MessageHead.parseRequest`).
    private static let slack = 8
    private let asRequest: Bool
    private let forwarded = ForwardedHeadFuzz()

    init(asRequest: Bool) { self.asRequest = asRequest }

    func run(_ input: UnsafeBufferPointer<UInt8>) {
        let bytes = Array(input)
        let whole = MessageHead(limits: WireLimits())
        let outcome = parse(whole, bytes[...], filler: 0)
        inPieces(bytes, whole, outcome, Cuts(input))
        guard outcome == .complete else { return }
        isSound(whole, bytes)
        if asRequest {
            forwarded.request(whole, bytes)
        } else {
            forwarded.response(whole, bytes)
        }
    }

    private func parse(_ head: MessageHead, _ bytes: ArraySlice<UInt8>, filler: UInt8) -> HeadOutcome {
        let padded = bytes + [UInt8](repeating: filler, count: HeadFuzz.slack)
        return withExactCopy(padded) {
            asRequest ? head.parseRequest($0, bytes.count) : head.parseResponse($0, bytes.count)
        }
    }

    private func inPieces(_ bytes: [UInt8], _ whole: MessageHead, _ outcome: HeadOutcome, _ cuts: Cuts) {
        var cuts = cuts
        let cut = MessageHead(limits: WireLimits())
        var last = HeadOutcome.incomplete
        var count = 0
        while last == .incomplete, count < bytes.count {
            count = min(bytes.count, count + cuts.next(most: bytes.count < 64 ? 3 : bytes.count / 4))
            // What is not there yet must not be looked at: it is another byte each time.
            last = parse(cut, bytes[..<count], filler: UInt8(truncatingIfNeeded: count &* 37))
        }
        require(last == outcome, "in pieces \(last), whole \(outcome)")
        guard outcome == .complete else { return }
        require(meaning(cut, bytes) == meaning(whole, bytes), "in pieces it means something else")
    }

    /// All that a head says, for comparing two parses of the same bytes.
    private func meaning(_ head: MessageHead, _ bytes: [UInt8]) -> [Int] {
        var numbers = [
            head.length, head.leading, head.firstLineEnd, Int(head.method.rawValue), head.methodEnd, head.targetStart,
            head.targetEnd, head.pathStart, head.pathEnd, head.queryStart, head.queryEnd, head.authorityStart,
            head.authorityEnd, head.status, head.minorVersion, head.keepAlive ? 1 : 0, head.contentLength,
            head.isChunked ? 1 : 0, head.expectsContinue ? 1 : 0, head.wantsUpgrade ? 1 : 0, head.fieldCount,
        ]
        for index in 0..<head.fieldCount {
            let field = head.field(index)
            numbers += [
                Int(field.kind.rawValue), Int(field.lineStart), Int(field.nameEnd), Int(field.valueStart),
                Int(field.valueEnd), Int(field.lineEnd),
            ]
        }
        return numbers
    }

    /// The places in a head lie in their order and inside it, and no line holds what would end it for another reader.
    private func isSound(_ head: MessageHead, _ bytes: [UInt8]) {
        require(head.length <= bytes.count, "longer than its bytes")
        require(head.firstLineEnd + 2 <= head.length, "a first line without its end")
        if asRequest {
            let places = [
                head.leading, head.methodEnd, head.targetStart, head.pathStart, head.pathEnd, head.queryStart,
                head.queryEnd, head.targetEnd, head.firstLineEnd,
            ]
            require(places == places.sorted(), "places out of order: \(places)")
            let target = bytes[head.targetStart..<head.targetEnd]
            require(!target.contains { $0 <= 0x20 || $0 == 0x7f }, "a target with white space or control characters")
        }
        var at = head.firstLineEnd
        for index in 0..<head.fieldCount {
            let field = head.field(index)
            let places = [field.lineStart, field.nameEnd, field.valueStart, field.valueEnd, field.lineEnd].map(Int.init)
            require(places[0] == at && places == places.sorted(), "field \(index) out of order: \(places)")
            let value = bytes[places[2]..<places[3]]
            require(!value.contains { $0 == 0 || $0 == 10 || $0 == 13 }, "field \(index) holds an end of line")
            at = places[4]
        }
        require(at + 2 == head.length, "bytes between the fields and the end of the head")
        require(!(head.isChunked && head.contentLength >= 0), "two framings")
    }
}
