import HTTPWire
import Testing

/// `traceparent` and `tracestate`, by the letter of W3C Trace Context.
@Suite struct TraceContextTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let parent = "b7ad6b7169203331"
    private static let valid = "00-\(trace)-\(parent)-01"

    private func parse(_ text: String) -> TraceParent? {
        // As long as the text is, so that a sanitizer sees what is read beyond it.
        let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: max(1, text.utf8.count))
        defer { bytes.deallocate() }
        bytes.initialize(from: Array(text.utf8), count: text.utf8.count)
        return TraceParent(bytes, text.utf8.count)
    }

    private func isValid(_ lines: [String]) -> Bool {
        var check = TraceStateCheck()
        for line in lines {
            var line = line
            line.withUTF8 { bytes in
                withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytes.count + 1) { copy in
                    _ = copy.initialize(from: bytes)
                    if let base = copy.baseAddress { check.add(base, bytes.count) }
                }
            }
        }
        return check.isValid
    }

    @Test func aTraceParentIsRead() throws {
        let found = try #require(parse(Self.valid))
        #expect(found.high == 0x0af7_6519_16cd_43dd && found.low == 0x8448_eb21_1c80_319c)
        #expect(found.parent == 0xb7ad_6b71_6920_3331 && found.flags == 1 && found.isSampled)
    }

    @Test func flagsThatNobodyHasDefinedAreZero() {
        #expect(parse("00-\(Self.trace)-\(Self.parent)-00")?.flags == 0)
        #expect(parse("00-\(Self.trace)-\(Self.parent)-fe")?.flags == 2)
        #expect(parse("00-\(Self.trace)-\(Self.parent)-fe")?.isSampled == false)
    }

    @Test func halfOfAnIdMayBeZero() {
        #expect(parse("00-\(String(repeating: "0", count: 31))1-\(Self.parent)-01") != nil)
        #expect(parse("00-1\(String(repeating: "0", count: 31))-\(Self.parent)-01") != nil)
    }

    @Test func aLaterVersionIsReadAsFarAsItIsKnown() {
        #expect(parse("01" + Self.valid.dropFirst(2)) == parse(Self.valid))
        #expect(parse("fe" + Self.valid.dropFirst(2) + "-more") == parse(Self.valid))
        #expect(parse("01" + Self.valid.dropFirst(2) + "-") == parse(Self.valid))
        #expect(parse("01" + Self.valid.dropFirst(2) + "more") == nil)
    }

    @Test func everythingElseIsNone() {
        let zeros = String(repeating: "0", count: 32)
        for text in [
            "", "00", "00-", Self.valid + "-", Self.valid + " ", "ff" + Self.valid.dropFirst(2),
            "0A" + Self.valid.dropFirst(2), "00-\(zeros)-\(Self.parent)-01",
            "00-\(Self.trace)-\(zeros.prefix(16))-01", "00-\(Self.trace.uppercased())-\(Self.parent)-01",
            "00-\(Self.trace)-\(Self.parent.uppercased())-01", "00-\(Self.trace)-\(Self.parent)-0A",
            "00-\(Self.trace)-\(Self.parent)-1", "\(Self.valid),\(Self.valid)",
        ] {
            #expect(parse(text) == nil, "\(text)")
        }
        for length in 0..<Self.valid.utf8.count { #expect(parse(String(Self.valid.prefix(length))) == nil) }
    }

    @Test func everyByteThatIsWrongIsSeen() {
        for index in 0..<55 {
            for byte in ["g", "-", "0", "\u{7f}", ".", "é"] {
                var text = Array(Self.valid.unicodeScalars.map(String.init))
                guard text[index] != byte else { continue }
                text[index] = byte
                let isDigit = byte == "0" && Self.valid.utf8.map { $0 }[index] != UInt8(ascii: "-")
                #expect((parse(text.joined()) != nil) == isDigit, "\(text.joined())")
            }
        }
    }

    @Test func aListOfVendorsIsValid() {
        for lines in [
            [""], ["a=1"], ["a=1,b=2"], ["a=1", "b=2"], [" a=1 ,\t b=2 "], [",,a=1,", ""], ["0t@s=1"], ["a_-*/9=x y"],
            [String(repeating: "k", count: 256) + "=1"], ["a=" + String(repeating: "v", count: 256)],
            [String(repeating: "t", count: 241) + "@" + String(repeating: "s", count: 14) + "=1"],
            ["a=~!@#$%^&*()"], [(0..<32).map { "k\($0)=1" }.joined(separator: ",")],
        ] {
            #expect(isValid(lines), "\(lines)")
        }
    }

    @Test func whatIsNoListOfVendorsIsNot() {
        for lines in [
            ["a"], ["=1"], ["a="], ["A=1"], ["0a=1"], ["a b=1"], ["a=b=c"], ["a=é"], ["a=\u{7f}"], ["a=1;b=2=3"],
            [String(repeating: "k", count: 257) + "=1"], ["a=" + String(repeating: "v", count: 257)],
            [String(repeating: "t", count: 242) + "@s=1"], ["t@" + String(repeating: "s", count: 15) + "=1"], ["t@=1"],
            ["@s=1"], ["t@s@u=1"], ["t@0=1"], [(0..<33).map { "k\($0)=1" }.joined(separator: ",")],
            [String](repeating: (0..<11).map { "k\($0)=1" }.joined(separator: ","), count: 3), ["a=1", "B=1"],
        ] {
            #expect(!isValid(lines), "\(lines)")
        }
    }

    @Test func theSpanOfALineThatTheGatewayWroteIsFoundAndOfNoOther() {
        func place(_ text: String) -> Int? {
            var text = text
            return text.withUTF8 { bytes in
                bytes.baseAddress.flatMap { TraceParent.spanPlace(inLastOf: $0, bytes.count) }
            }
        }
        let line = "traceparent: \(Self.valid)\r\n"
        #expect(place(line) == 49)
        #expect(place("Host: a\r\n" + line) == 58)
        #expect(place("X-" + line) == nil)
        #expect(place("Host: a\r\n" + line + "Via: 1.1 cutover\r\n") == nil)
        #expect(place("Host: a\r\n") == nil)
        #expect(place(String(repeating: "x", count: 200)) == nil)
    }
}
