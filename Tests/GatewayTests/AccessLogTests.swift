import CLinux
import Comparison
import Configuration
import Routing
import TestSupport
import Testing

@testable import Gateway

@Suite struct AccessLogTests {
    private func written(_ body: (inout LineWriter) -> Void, capacity: Int = 4096) -> String {
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity + 16)
        defer { memory.deallocate() }
        memory.initialize(repeating: 0xee, count: capacity + 16)
        var line = LineWriter(memory, capacity: capacity)
        body(&line)
        #expect((0..<16).allSatisfy { memory[capacity + $0] == 0xee }, "written beyond its end")
        return String(decoding: UnsafeBufferPointer(start: memory, count: line.count), as: UTF8.self)
    }

    private func withBytes<T>(_ bytes: [UInt8], _ body: (UnsafePointer<UInt8>, Int) -> T) -> T {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytes.count + 1) { memory in
            _ = memory.initialize(from: bytes)
            return body(UnsafePointer(memory.baseAddress!), bytes.count)
        }
    }

    // MARK: The hash

    /// The reference implementation's vectors: key 00…0f, inputs 00, 00 01, …
    @Test func theHashIsSipHash24() {
        let hash = SipHash(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908)
        let expected: [(Int, UInt64)] = [
            (0, 0x726f_db47_dd0e_0e31), (1, 0x74f8_39c5_93dc_67fd), (7, 0xab02_00f5_8b01_d137),
            (8, 0x93f5_f579_9a93_2462), (15, 0xa129_ca61_49be_45e5),
        ]
        for (count, value) in expected {
            #expect(withBytes((0..<count).map { UInt8($0) }) { hash.hash($0, $1) } == value, "\(count) bytes")
        }
    }

    @Test func anotherSecretIsAnotherHash() {
        let names = Array("ann".utf8)
        let hashes = ["one", "two", "one"].map { secret in
            withBytes(names) { SipHash(secret: Array(secret.utf8)).hash($0, $1) }
        }
        #expect(hashes[0] == hashes[2] && hashes[0] != hashes[1])
    }

    // MARK: The moment

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z", "01/Jan/1970:00:00:00 +0000"),
        (951_782_399_999, "2000-02-28T23:59:59.999Z", "28/Feb/2000:23:59:59 +0000"),
        (951_868_799_000, "2000-02-29T23:59:59.000Z", "29/Feb/2000:23:59:59 +0000"),
        (951_868_800_000, "2000-03-01T00:00:00.000Z", "01/Mar/2000:00:00:00 +0000"),
        (1_796_083_200_007, "2026-12-01T00:00:00.007Z", "01/Dec/2026:00:00:00 +0000"),
        (4_107_542_399_000, "2100-02-28T23:59:59.000Z", "28/Feb/2100:23:59:59 +0000"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z", "01/Mar/2100:00:00:00 +0000"),
    ])
    func aMomentIsWrittenInBothForms(_ milliseconds: Int64, _ json: String, _ combined: String) {
        var time = AccessTime()
        #expect(written { time.write(milliseconds, to: &$0, .json) } == json)
        #expect(written { time.write(milliseconds, to: &$0, .combined) } == combined)
        // A clock that is set back is believed.
        #expect(written { time.write(0, to: &$0, .json) } == "1970-01-01T00:00:00.000Z")
        #expect(written { time.write(milliseconds, to: &$0, .json) } == json)
    }

    @Test func durationsHaveSixDecimals() {
        #expect(written { $0.add(seconds: 0) } == "0.000000")
        #expect(written { $0.add(seconds: 1_234_567_890) } == "1.234567")
        #expect(written { $0.add(seconds: 61_000_001_000) } == "61.000001")
    }

    // MARK: What comes from outside

    @Test func whateverTheBytesAreALineStaysOneLine() {
        var generator = SeededGenerator(seed: 6)
        for _ in 0..<3_000 {
            let bytes = generator.bytes(Int(generator.next() % 40))
            for style in [LineWriter.Style.json, .combined] {
                let text = withBytes(bytes) { p, count in
                    written { line in
                        line.add("\"")
                        line.text(p, count, until: 1_000, style)
                        line.add("\"")
                    }
                }
                let path = withBytes(bytes) { p, count in
                    written { line in
                        line.add("\"")
                        _ = line.path(p, count, until: 1_000, style)
                        line.add("\"")
                    }
                }
                for part in [text, path] {
                    let scalars = part.unicodeScalars
                    #expect(scalars.allSatisfy { $0.value >= 0x20 && $0 != "\u{85}" && $0 != "\u{2028}" }, "\(bytes)")
                    if style == .json {
                        let isJSON = withBytes(Array(part.utf8)) {
                            JSONDocument(bytes: UnsafeBufferPointer(start: $0, count: $1)) != nil
                        }
                        #expect(isJSON, "\(bytes)")
                    } else {
                        #expect(part.dropFirst().dropLast().utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != 0x22 })
                    }
                }
            }
        }
    }

    @Test func textKeepsWhatIsReadable() {
        let bytes = Array("é \"x\\\u{7f}\u{202e}".utf8) + [0xff, 0xc3]
        #expect(
            withBytes(bytes) { p, n in written { $0.text(p, n, until: 200, .json) } }
                == #"é \"x\\\u007f\u202e\\xFF\\xC3"#)
        #expect(
            withBytes(bytes) { p, n in written { $0.text(p, n, until: 200, .combined) } }
                == #"\xC3\xA9\x20\x22x\x5C\x7F\xE2\x80\xAE\xFF\xC3"#)
    }

    @Test func whatDoesNotFitIsLeftOut() {
        for capacity in 0..<30 {
            let bytes = Array("\"\u{1}é\u{ff}\\abcdefghijklmnop".utf8)
            for style in [LineWriter.Style.json, .combined] {
                _ = withBytes(bytes) { p, n in
                    written({ $0.text(p, n, until: 1_000, style) }, capacity: capacity)
                }
                _ = withBytes(bytes) { p, n in
                    written({ _ = $0.path(p, n, until: 1_000, style) }, capacity: capacity)
                }
            }
        }
    }

    // MARK: What must not be told

    private func shown(
        _ target: String, _ change: (inout AccessLogSettings) -> Void = { _ in }, until end: Int = 1_000
    ) -> String {
        var settings = AccessLogSettings(destination: .standardError)
        change(&settings)
        var user = UserSettings()
        user.from = [.path(PathPattern("/users/{user_id}/**")!)]
        let rules = AccessLogRules(settings, user)
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        return withBytes(Array(parts[0].utf8)) { path, count in
            withBytes(parts.count > 1 ? Array(parts[1].utf8) : []) { query, queryCount in
                written { line in
                    let query = parts.count > 1 ? UnsafeBufferPointer(start: query, count: queryCount) : nil
                    rules.write(path, count, query: query, to: &line, until: end)
                }
            }
        }
    }

    @Test(arguments: [
        ("/", "/"), ("/a?", "/a?"), ("/a?b", "/a?…"), ("/a?b=", "/a?b="), ("/a?b=c", "/a?b=…"),
        ("/a?b=c&d=e", "/a?b=…&d=…"), ("/a?&&b=c&", "/a?&&b=…&"), ("/a?=c", "/a?=…"), ("/a?b=c=d", "/a?b=…"),
        ("/users/42", "/users/…"), ("/users/42/notes/42", "/users/…/notes/42"), ("/users/", "/users/"),
        ("/%75sers/4%32/x?y=z", "/%75sers/…/x?y=…"), ("/users//x", "/users//x"), ("/user/42", "/user/42"),
    ])
    func valuesAndUsersAreLeftOut(_ target: String, _ expected: String) {
        #expect(shown(target) == expected)
    }

    @Test func whatIsAskedForIsTold() {
        #expect(shown("/a?b=c&d", { $0.query = .plain }) == "/a?b=c&d")
        #expect(shown("/a?b=c", { $0.query = .none }) == "/a")
        #expect(shown("/users/42", { $0.user = .plain }) == "/users/42")
        #expect(shown("/users/42", { $0.user = .hash }) == "/users/…")
    }

    @Test func severalPatternsLeaveEachTheirOwnOut() {
        let patterns = ["/users/{user_id}/**", "/users/{a}/friends/{user_id}"].map { PathPattern($0)! }
        #expect(shown("/users/1/friends/2", { $0.redact = patterns }) == "/users/…/friends/…")
    }

    @Test func aTargetThatIsTooLongSaysSo() {
        for length in 0..<40 {
            let text = shown("/" + String(repeating: "a", count: length) + "?bcd=e&f=g", until: 24)
            #expect(text.utf8.count <= 24 && (text.hasSuffix("…") || text.count == length + 11))
        }
    }

    @Test(arguments: [
        ("192.0.2.77", "192.0.2.0"), ("::ffff:192.0.2.77", "::ffff:192.0.2.0"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1::"),
        ("::1", "::"), ("nonsense", "-"), ("", "-"),
    ])
    func anAddressIsMaskedToItsNetwork(_ address: String, _ expected: String) {
        let rules = AccessLogRules(AccessLogSettings(destination: .standardError), UserSettings())
        #expect(written { rules.write(client: Array(address.utf8), to: &$0) } == expected)
    }

    // MARK: The writer

    private func block(_ writer: AccessLogWriter, _ text: String) -> AccessLogBlock {
        let block = writer.takeBlock()
        block.memory.update(from: Array(text.utf8), count: text.utf8.count)
        block.count = text.utf8.count
        block.lines = text.utf8.count { $0 == 10 }
        return block
    }

    @Test func whatFindsNoRoomIsDroppedAndCounted() async throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let writer = AccessLogWriter(log: { _ in })
        try writer.use(AccessLogFile(.file("/proc/self/fd/\(ends[1])")))
        let line = String(repeating: "x", count: 1023) + "\n"
        let full = String(repeating: line, count: 60)
        let sent = AccessLogWriter.blocksMax + 60
        for _ in 0..<sent { writer.take(block(writer, full)) }
        let dropped = writer.figures.dropped
        #expect(dropped >= 58 * 60 && dropped % 60 == 0)
        // Whoever reads gets whole lines; what is left at the end is dropped and counted, too.
        let reader = ends[0]
        let read = await offThread { () -> [UInt8] in
            var all: [UInt8] = []
            var part = [UInt8](repeating: 0, count: 65_536)
            while all.count < 1 << 20 {
                let count = CLinux.read(reader, &part, part.count)
                all += part.prefix(max(0, count))
            }
            return all
        }
        await offThread { writer.finish(milliseconds: 100) }
        #expect(read.split(separator: 10).dropLast().allSatisfy { $0.count == 1023 })
        let figures = writer.figures
        #expect(figures.written + figures.dropped <= UInt64(sent * 60))
        #expect(figures.written >= 1024)
    }

    @Test func aFileThatNobodyUsesTakesNoLine() {
        let writer = AccessLogWriter(log: { _ in })
        writer.take(block(writer, "a\nb\n"))
        #expect(writer.figures.dropped == 2 && writer.figures.written == 0)
        writer.finish(milliseconds: 10)
    }
}
