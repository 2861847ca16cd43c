import CJSONTokens
import Comparison
import TestSupport
import Testing

/// The hash is what its definition says, however it is come by.
@Suite struct ReferenceHashTests {
    /// A fresh seed each run; the failure prints it.
    static let seed = UInt64.random(in: 0..<1_000_000_000)

    private func check(_ document: [UInt8], rules: ComparisonRules = ComparisonRules(), _ place: Comment) {
        let expected = ReferenceHash.json(document, rules: rules) ?? byteHash(document)
        // With one hasher for all, too, as the gateway has it: nothing of a document is left for the next.
        #expect(hash(document, rules: rules) == expected, place)
        #expect(hasher.hash(document, isJSON: true, rules: rules) == expected, place)
    }

    private let hasher = ContentHasher()

    @Test func vectorsAgreeWithTheDefinition() {
        for (text, expected) in VectorTests.json {
            #expect(ReferenceHash.json(Array(text.utf8))?.hex == expected, "\(text)")
        }
    }

    @Test func randomDocumentsHaveTheHashOfTheDefinition() {
        let rules = rules(ignore: ["/*/a", "/0", "/*/*/b"], unordered: ["", "/*"])
        for round in 0..<400 {
            var generator = SeededGenerator(seed: Self.seed &+ UInt64(round))
            let text = Array(RandomValue.random(&generator).written(&generator).utf8)
            check(text, "seed \(Self.seed), round \(round)")
            check(text, rules: rules, "seed \(Self.seed), round \(round), with rules")
        }
    }

    @Test func damagedDocumentsAreJudgedByTheDefinition() {
        let bytes =
            Array(#"{}[],:"\u0019eE+-. tfn"#.utf8) + [0x0A, 0x0C, 0x1A, 0xC3, 0xA9, 0x80, 0xE2, 0xF0, 0x00, 0x7F]
        for round in 0..<1500 {
            var generator = SeededGenerator(seed: Self.seed &+ UInt64(round))
            var document = Array(RandomValue.random(&generator, depth: 1).written(&generator).utf8)
            for _ in 0..<Int.random(in: 1...2, using: &generator) where !document.isEmpty {
                let index = Int.random(in: 0..<document.count, using: &generator)
                let byte = bytes[Int.random(in: 0..<bytes.count, using: &generator)]
                switch Int.random(in: 0...3, using: &generator) {
                case 0: document[index] = byte
                case 1: document.insert(byte, at: index)
                case 2: document.remove(at: index)
                default: document.removeLast(document.count - index)
                }
            }
            check(document, "seed \(Self.seed), round \(round)")
        }
    }

    @Test func whereADocumentStandsInItsBlocksDoesNotCount() {
        let texts = [
            #"{"k":"v\\","\u00e9\\\"":["\\\\",-1.5e-3,true,false,null,12345678901234567890123,{}],"é€😀日本語":[[[]]]}"#,
            #"["0123456789abcdef","0123456789abcde","0123456789abcdef0",123456789,0.1234567890123456,1e22,100,0]"#,
            #"{"a":1,"b":{"a":2,"b":{"a":3,"a":4}},"a":5}"#, #"["\\\\\\\\\\\\\\\"",1,"x"]"#,
        ]
        for text in texts {
            for shift in 0..<130 {
                let document = Array(repeating: UInt8(ascii: " "), count: shift) + Array(text.utf8)
                check(document, "\(text) behind \(shift) spaces")
                check(document + Array(repeating: UInt8(ascii: "\n"), count: 80), "\(text) behind \(shift) spaces")
                check(Array(document.dropLast()), "\(text) cut, behind \(shift) spaces")
            }
        }
    }

    @Test func documentsOfManyTokensHaveTheHashOfTheDefinition() {
        func nested(_ depth: Int) -> String {
            String(repeating: #"{"a":["#, count: depth / 2) + "1" + String(repeating: "]}", count: depth / 2)
        }
        for count in [1, 50, 126, 250, 251, 252, 253, 254, 255, 256, 300, 1500] {
            let escapes = String(repeating: #"\n\"\\"#, count: count)
            let texts = [
                "[" + Array(repeating: nested(20), count: count).joined(separator: ",") + "]",
                "[" + Array(repeating: #"{"k":"v","n":0}"#, count: count).joined(separator: ",") + "]",
                #"["\#(escapes)","\#(escapes)"]"#, #"{"\#(escapes)":"\#(escapes)"}"#,
                "{" + (0..<count).map { #""k\#($0 % 200)":\#($0)"# }.joined(separator: ",") + "}",
                "[" + nested(min(count, 510)) + "," + nested(min(count, 510)) + "]",
            ]
            for text in texts {
                check(Array(text.utf8), "\(count)")
                check(Array(text.utf8.dropLast()), "\(count), cut")
                check(Array((text + "]").utf8), "\(count), one bracket more")
            }
        }
    }

    @Test func numbersOfEveryLengthHaveTheHashOfTheDefinition() {
        for length in 1...30 {
            for fraction in 0...26 {
                for exponent in ["", "e0", "E+5", "e-12", "e1234567", "e12345678"] {
                    let digits = String("12345067800000000000123456789900".prefix(length))
                    let point = fraction == 0 ? "" : "." + "98765432100000000123456789".prefix(fraction)
                    let number = digits + point + exponent
                    check(Array("[\(number),-\(number),\"\(String(repeating: "x", count: 80))\"]".utf8), "\(number)")
                }
            }
        }
    }

    @Test func everyMachineFindsTheSameTokens() {
        let alphabet = Array("{}[],:\"\"\"\\\\ \n\t09aé😀".utf8) + [0x0C, 0x1A, 0x01, 0x80, 0xFF]
        for round in 0..<600 {
            var generator = SeededGenerator(seed: Self.seed &+ UInt64(round))
            var text = (0..<Int.random(in: 0...400, using: &generator)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count - (round % 2 == 0 ? 5 : 0), using: &generator)]
            }
            if round % 3 == 0 { text = Array(RandomValue.random(&generator).written(&generator).utf8) }
            let wide = tokens(text, json_tokens_scan)
            let narrow = tokens(text, json_tokens_scan_portably)
            let place: Comment = "seed \(Self.seed), round \(round)"
            #expect(tokens(text, json_tokens_scan_baseline) == narrow, place)
            #expect(wide.isFaulty == narrow.isFaulty, place)
            #expect(wide.isFaulty || String(validating: text, as: UTF8.self) != nil, place)
            // A form feed and 0x1A may be tokens of their own: no JSON has them outside strings.
            if !text.contains(0x0C), !text.contains(0x1A) {
                #expect(wide.places == narrow.places, place)
            }
        }
    }

    private struct Tokens: Equatable {
        let places: [Int]
        let isFaulty: Bool
    }

    private func tokens(
        _ text: [UInt8],
        _ scan: (UnsafeMutablePointer<json_tokens>?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, Int) -> Int
    ) -> Tokens {
        text.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress, !bytes.isEmpty else { return Tokens(places: [], isFaulty: false) }
            var state = json_tokens()
            state.text = base
            state.count = bytes.count
            var places: [Int] = []
            var found = [UnsafePointer<UInt8>?](repeating: nil, count: 100)
            while state.scanned < state.count {
                let count = scan(&state, &found, found.count)
                places += found.prefix(count).map { $0.map { $0 - base } ?? -1 }
            }
            return Tokens(places: places, isFaulty: state.is_faulty)
        }
    }
}
