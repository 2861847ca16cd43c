import Comparison

/// The content hash of a text that is to be compared as JSON.
func hash(_ text: String, ignore: [String] = [], unordered: [String] = []) -> ContentHash {
    hash(Array(text.utf8), rules: rules(ignore: ignore, unordered: unordered))
}

func hash(_ bytes: [UInt8], rules: ComparisonRules = ComparisonRules()) -> ContentHash {
    ContentHasher().hash(bytes, isJSON: true, rules: rules)
}

/// The hash that bytes have when they are compared as bytes.
func byteHash(_ text: String) -> ContentHash { byteHash(Array(text.utf8)) }

func byteHash(_ bytes: [UInt8]) -> ContentHash {
    ContentHasher().hash(bytes, isJSON: false)
}

/// Whether a text is taken as JSON.
func isJSON(_ bytes: [UInt8]) -> Bool { hash(bytes) != byteHash(bytes) }
func isJSON(_ text: String) -> Bool { isJSON(Array(text.utf8)) }

func rules(ignore: [String] = [], unordered: [String] = []) -> ComparisonRules {
    ComparisonRules(
        ignore: ignore.compactMap(PointerPattern.init), unordered: unordered.compactMap(PointerPattern.init))
}

func paths(
    _ first: String, _ second: String, ignore: [String] = [], unordered: [String] = [], limit: Int = 20
) -> [String] {
    found(first, second, ignore: ignore, unordered: unordered, limit: limit).map(\.path)
}

func found(
    _ first: String, _ second: String, ignore: [String] = [], unordered: [String] = [], limit: Int = 20,
    includeValues: Bool = false
) -> [Difference] {
    found(
        Array(first.utf8), Array(second.utf8), rules: rules(ignore: ignore, unordered: unordered), limit: limit,
        includeValues: includeValues)
}

func found(
    _ first: [UInt8], _ second: [UInt8], rules: ComparisonRules, limit: Int = 20, includeValues: Bool = false
) -> [Difference] {
    first.withUnsafeBufferPointer { one in
        second.withUnsafeBufferPointer { other in
            findDifferences(one, other, rules: rules, limit: limit, includeValues: includeValues)
        }
    }
}
