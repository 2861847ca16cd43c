import Comparison
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct PropertyTests {
    /// A fresh seed each run; the failure prints it.
    static let seed = UInt64.random(in: 0..<1_000_000_000)

    @Test func writingAValueTwoWaysGivesOneHash() {
        for round in 0..<600 {
            var generator = SeededGenerator(seed: Self.seed &+ UInt64(round))
            let value = RandomValue.random(&generator)
            let first = Array(value.written(&generator).utf8)
            let second = Array(value.written(&generator).utf8)
            let place: Comment = "seed \(Self.seed), round \(round)"
            #expect(isJSON(first), place)
            #expect(hash(first) == hash(second), place)
            #expect(found(first, second, rules: ComparisonRules()).isEmpty, place)
        }
    }

    @Test func oneChangeGivesAnotherHashAndOneDifference() {
        for round in 0..<600 {
            var generator = SeededGenerator(seed: Self.seed &+ UInt64(round))
            let value = RandomValue.random(&generator)
            let first = Array(value.written(&generator).utf8)
            let second = Array(value.mutated(&generator).written(&generator).utf8)
            let place: Comment = "seed \(Self.seed), round \(round)"
            #expect(hash(first) != hash(second), place)
            #expect(found(first, second, rules: ComparisonRules()).count == 1, place)
        }
    }

    @Test func agreesWithATreeOnWhatIsEqualUnderRandomRules() {
        let names = ["", "/a", "/*", "/*/a", "/a/*", "/*/*", "/0", "/b/0", "/a/b", "/*/0/*"]
        // Few keys and values, so that equal documents come up by chance.
        func small(_ generator: inout SeededGenerator, depth: Int) -> RandomValue {
            switch Int.random(in: 0..<(depth < 3 ? 6 : 3), using: &generator) {
            case 0: return .number(negative: false, digits: "1", exponent: .random(in: 0...1, using: &generator))
            case 1: return .string(Bool.random(using: &generator) ? "1" : "")
            case 2: return Bool.random(using: &generator) ? .array([]) : .object([])
            case 3, 4:
                return .array(
                    (0..<Int.random(in: 1...3, using: &generator)).map { _ in small(&generator, depth: depth + 1) })
            default:
                return .object(
                    ["a", "b", "0"].prefix(.random(in: 1...3, using: &generator)).map {
                        ($0, small(&generator, depth: depth + 1))
                    })
            }
        }
        var equalPairs = 0
        for round in 0..<250 {
            var generator = SeededGenerator(seed: Self.seed &+ UInt64(round))
            let place: Comment = "seed \(Self.seed), round \(round)"
            func pick() -> [String] {
                names.shuffled(using: &generator).dropLast(.random(in: 7...10, using: &generator))
            }
            let rules = rules(ignore: pick().filter { $0 != "" }, unordered: pick())
            var documents: [[UInt8]] = []
            for _ in 0..<8 {
                documents.append(Array(small(&generator, depth: 0).written(&generator).utf8))
            }
            let hashes = documents.map { hash($0, rules: rules) }
            let trees = documents.map { ReferenceParser.parse($0, rules: rules) }
            for one in documents.indices {
                for other in documents.indices where one < other {
                    #expect((hashes[one] == hashes[other]) == (trees[one] == trees[other]), place)
                    let differences = found(documents[one], documents[other], rules: rules)
                    #expect(differences.isEmpty == (trees[one] == trees[other]), place)
                    equalPairs += trees[one] == trees[other] ? 1 : 0
                }
            }
        }
        #expect(equalPairs > 50)
    }

    @Test func agreesWithATreeOnWhatIsJSON() {
        let alphabet = Array(#"{}[],:"\u0019eE+-. tfalsernul"#.utf8) + [0x0A, 0xC3, 0xA9, 0x80, 0x00]
        var valid = 0
        for round in 0..<2500 {
            var generator = SeededGenerator(seed: Self.seed &+ UInt64(round))
            var document: [UInt8]
            if round % 2 == 0 {
                document = (0..<Int.random(in: 0...6, using: &generator)).map { _ in
                    alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
                }
            } else {
                // A valid document with a byte changed, put in or taken out.
                document = Array(RandomValue.random(&generator, depth: 2).written(&generator).utf8)
                let index = Int.random(in: 0..<document.count, using: &generator)
                let byte = alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
                switch Int.random(in: 0...2, using: &generator) {
                case 0: document[index] = byte
                case 1: document.insert(byte, at: index)
                default: document.remove(at: index)
                }
            }
            let reference = ReferenceParser.parse(document)
            #expect(isJSON(document) == (reference != nil), "seed \(Self.seed), round \(round)")
            let opened = document.withUnsafeBufferPointer { JSONDocument(bytes: $0) != nil }
            #expect(opened == (reference != nil), "seed \(Self.seed), round \(round)")
            valid += reference == nil ? 0 : 1
        }
        #expect(valid > 100)
    }

    @Test func randomBytesAndPrefixesNeverReadBeyondTheirEnd() throws {
        let guarded = try GuardedBytes()
        let hasher = ContentHasher()
        let rules = rules(ignore: ["/*/a", "/a"], unordered: ["/*"])
        func check(_ bytes: [UInt8]) {
            let buffer = guarded.place(bytes)
            let expected = hasher.hash(bytes, isJSON: true)
            #expect(hasher.hash(buffer, isJSON: true, rules: ComparisonRules()) == expected)
            _ = hasher.hash(buffer, isJSON: true, rules: rules)
            _ = differences(buffer, buffer, rules: rules)
            if let document = JSONDocument(bytes: buffer) {
                _ = PointerPattern("/a/0").flatMap { document.value(at: $0) }
                for element in document.elements(of: document.root) {
                    _ = document.identifier(of: element)
                    _ = document.integer(of: element)
                }
            }
        }
        for round in 0..<15 {
            var generator = SeededGenerator(seed: Self.seed &+ UInt64(round))
            let text = Array(RandomValue.random(&generator).written(&generator).utf8.prefix(400))
            for length in 0...text.count {
                check(Array(text.prefix(length)))
            }
            check(
                (0..<Int.random(in: 0...300, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator)
                })
        }
        for text in ["12345678", #"{"a":1.5e3"#, "tru", "\"\\u12", "\"\\", "\"é", "[[[[", "-", "1e", "        ", "1."] {
            check(Array(text.utf8))
        }
    }
}

/// A page of memory with a page behind it that must not be touched.
private final class GuardedBytes {
    private let base: UnsafeMutableRawPointer
    private let size: Int

    struct NoMemory: Error {}

    init() throws {
        size = sysconf(Int32(_SC_PAGESIZE))
        let mapped = mmap(nil, size * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let mapped, mapped != MAP_FAILED, mprotect(mapped + size, size, PROT_NONE) == 0 else { throw NoMemory() }
        base = mapped
    }

    deinit { munmap(base, size * 2) }

    /// Puts the bytes right in front of the page that must not be touched.
    func place(_ bytes: [UInt8]) -> UnsafeBufferPointer<UInt8> {
        let start = base + (size - bytes.count)
        start.copyMemory(from: bytes, byteCount: bytes.count)
        return UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: bytes.count)
    }
}
