/// Makes content hashes. It keeps its scratch storage from one call to the next, so that hashing allocates nothing once
/// the storage has grown to what the bodies need.
///
/// Not Sendable: one per event loop, or one per task that hashes.
package final class ContentHasher {
    private var digester: JSONDigester

    /// Makes a hasher with small scratch storage.
    ///
    /// - Parameter seed: guards the table that finds duplicate keys against prepared documents. No hash depends on it.
    package init(seed: UInt64 = .random(in: .min ... .max)) {
        digester = JSONDigester(seed: seed)
    }

    /// The hash of a body whose content codings have been decoded.
    ///
    /// - Parameters:
    ///   - bytes: the body; it is only read during the call.
    ///   - isJSON: whether to compare it as a JSON value. Bytes that are not valid JSON are hashed as bytes.
    ///   - rules: what does not count; used for JSON only.
    package func hash(_ bytes: UnsafeBufferPointer<UInt8>, isJSON: Bool, rules: ComparisonRules) -> ContentHash {
        if isJSON, let hash = try? digester.hash(bytes, rules: rules) {
            return hash
        }
        return hashBytes(bytes)
    }

    /// The hash of a body held in an array.
    package func hash(_ bytes: [UInt8], isJSON: Bool, rules: ComparisonRules = ComparisonRules()) -> ContentHash {
        bytes.withUnsafeBufferPointer { hash($0, isJSON: isJSON, rules: rules) }
    }

    private func hashBytes(_ bytes: UnsafeBufferPointer<UInt8>) -> ContentHash {
        var mixer = Mixer(.bytes)
        mixer.absorb(bytes)
        return ContentHash(mixer.finish(UInt64(truncatingIfNeeded: bytes.count)))
    }
}
