/// A JSON value inside a document: what it is, and where.
@usableFromInline @frozen package struct JSONNode: Sendable, Hashable {
    /// The six things that a JSON value can be.
    @usableFromInline @frozen package enum Kind: Sendable, Hashable {
        case null, bool, number, string, array, object
    }

    @usableFromInline package let kind: Kind
    /// Where it stands in the document's bytes, quotes or brackets included.
    @usableFromInline package let range: Range<Int>
}

/// What a search for a member that may be there once found.
package enum JSONMember: Sendable, Hashable {
    case none
    case one(JSONNode)
    case several
}

/// Look-ups in a JSON document without building a tree of it.
///
/// It keeps the buffer that it was made with: the buffer must stay in place and unchanged for as long as the document is
/// used, and a ``JSONNode`` is of use only with the document that it came from. Of members with the same key the last
/// counts, as it does for the content hash.
package struct JSONDocument {
    /// The document's outermost value.
    package let root: JSONNode
    private let base: UnsafePointer<UInt8>

    /// Checks the whole document (RFC 8259, UTF-8, at most 512 levels deep); nil when it is not valid.
    package init?(bytes: UnsafeBufferPointer<UInt8>) {
        guard let base = bytes.baseAddress else { return nil }
        var cursor = JSONCursor(base, count: bytes.count)
        cursor.skipWhitespace()
        guard let root = try? cursor.scanValue(depth: 0) else { return nil }
        cursor.skipWhitespace()
        guard cursor.position == cursor.end else { return nil }
        self.root = root
        self.base = base
    }

    /// The value at a pointer, nil when there is none. `*` in the pointer matches nothing.
    ///
    /// - Parameter container: what the pointer is relative to; the whole document when nil.
    package func value(at pointer: PointerPattern, within container: JSONNode? = nil) -> JSONNode? {
        var value = container ?? root
        for token in pointer.tokens {
            guard case .name(let name) = token else { return nil }
            let child: JSONNode?
            switch value.kind {
            case .object: child = member(name, of: value)
            case .array: child = element(name, of: value)
            case .null, .bool, .number, .string: child = nil
            }
            guard let child else { return nil }
            value = child
        }
        return value
    }

    /// The member of an object with this key, and whether it is the only one: where two readers must not see two things, a
    /// second member with the same key is as bad as a lie.
    ///
    /// - Parameter object: the document's outermost value when nil.
    package func onlyMember(_ name: [UInt8], of object: JSONNode? = nil) -> JSONMember {
        let object = object ?? root
        guard object.kind == .object else { return .none }
        var cursor = cursor(at: object)
        var found = JSONMember.none
        try? cursor.scanMembers(depth: 0) { cursor, key, value in
            guard cursor.equals(key, name) else { return }
            if case .none = found { found = .one(value) } else { found = .several }
        }
        return found
    }

    /// The elements of an array; empty for other kinds.
    package func elements(of value: JSONNode) -> [JSONNode] {
        var elements: [JSONNode] = []
        guard value.kind == .array else { return elements }
        forEachElement(of: value) { _, element in
            elements.append(element)
            return true
        }
        return elements
    }

    /// The text of a string; nil for other kinds, and for a string with a lone surrogate, which has no UTF-8 form.
    package func string(of value: JSONNode) -> String? {
        stringBytes(of: value).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The value of a number that is an integer (`8`, `8.0`, `80e-1`) within Int64; nil for anything else.
    package func integer(of value: JSONNode) -> Int64? {
        guard let number = canonicalNumber(of: value), number.exponent >= 0, number.exponent < 19 else { return nil }
        var magnitude = number.digits
        for _ in 0..<Int(number.exponent) {
            let (product, overflow) = magnitude.multipliedReportingOverflow(by: 10)
            if overflow { return nil }
            magnitude = product
        }
        return number.isNegative
            ? (magnitude <= Int64.min.magnitude ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil)
            : Int64(exactly: magnitude)
    }

    /// What an id is in text: a string as it is, an integer of at most 40 digits as its decimal digits (`8.0` is `8`);
    /// nil for anything else.
    package func identifier(of value: JSONNode) -> String? {
        identifierBytes(of: value).map { String(decoding: $0, as: UTF8.self) }
    }

    /// What an id is in UTF-8 bytes: see ``identifier(of:)``.
    package func identifierBytes(of value: JSONNode) -> [UInt8]? {
        if value.kind == .string {
            // A lone surrogate is the only thing that is not UTF-8 here; its bytes are ED A0 to ED BF.
            guard let bytes = stringBytes(of: value) else { return nil }
            for index in bytes.indices.dropLast() where bytes[index] == 0xED && bytes[index + 1] >= 0xA0 {
                return nil
            }
            return bytes
        }
        var scratch = Storage<UInt8>(capacity: 64)
        guard let number = canonicalNumber(of: value, scratch: &scratch), number.exponent >= 0 else { return nil }
        var digits: [UInt8] = number.isNegative ? [UInt8(ascii: "-")] : []
        if number.longCount > 0 {
            digits += UnsafeBufferPointer(start: scratch.base, count: number.longCount)
        } else {
            digits += String(number.digits).utf8
        }
        guard Int128(digits.count) + number.exponent <= 40 else { return nil }
        return digits + repeatElement(UInt8(ascii: "0"), count: Int(number.exponent))
    }
}

extension JSONDocument {
    private func cursor(at value: JSONNode) -> JSONCursor {
        var cursor = JSONCursor(base, count: min(value.range.upperBound, root.range.upperBound))
        cursor.position = value.range.lowerBound
        return cursor
    }

    /// The bytes of a string's value, where a lone surrogate has three bytes that are not UTF-8.
    private func stringBytes(of value: JSONNode) -> [UInt8]? {
        var cursor = cursor(at: value)
        guard value.kind == .string, let text = try? cursor.scanString() else { return nil }
        return [UInt8](unsafeUninitializedCapacity: text.count) { buffer, count in
            count = buffer.baseAddress.map { cursor.decode(text, into: $0) } ?? 0
        }
    }

    private func canonicalNumber(of value: JSONNode) -> CanonicalNumber? {
        var scratch = Storage<UInt8>(capacity: 64)
        let number = canonicalNumber(of: value, scratch: &scratch)
        return number?.longCount == 0 ? number : nil
    }

    private func canonicalNumber(of value: JSONNode, scratch: inout Storage<UInt8>) -> CanonicalNumber? {
        var cursor = cursor(at: value)
        guard value.kind == .number, let number = try? cursor.scanNumber() else { return nil }
        return cursor.canonical(number, scratch: &scratch)
    }

    /// The last member with this key.
    private func member(_ name: [UInt8], of object: JSONNode) -> JSONNode? {
        var cursor = cursor(at: object)
        var found: JSONNode?
        try? cursor.scanMembers(depth: 0) { cursor, key, value in
            if cursor.equals(key, name) { found = value }
        }
        return found
    }

    /// The element whose decimal index this is (RFC 6901 §4: no sign, no leading zero).
    private func element(_ name: [UInt8], of array: JSONNode) -> JSONNode? {
        guard !name.isEmpty, name.count <= 18, name.allSatisfy({ $0 &- UInt8(ascii: "0") <= 9 }),
            name.count == 1 || name[0] != UInt8(ascii: "0")
        else { return nil }
        let wanted = name.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        var found: JSONNode?
        forEachElement(of: array) { index, element in
            guard index == wanted else { return true }
            found = element
            return false
        }
        return found
    }

    /// Calls `body` with each element until it returns false.
    private func forEachElement(of array: JSONNode, _ body: (Int, JSONNode) -> Bool) {
        var cursor = cursor(at: array)
        var index = 0
        try? cursor.scanElements(depth: 0) { _, element in
            defer { index += 1 }
            return body(index, element)
        }
    }
}

extension JSONDocument {
    /// Calls `body` with each member of an object in its order: the name, decoded, and the value. One pass, for whoever wants many
    /// members; of members with the same name the last counts, which is the caller's to see to.
    ///
    /// - Parameter object: the document's outermost value when nil. Nothing is called for other kinds.
    package func forEachMember(of object: JSONNode? = nil, _ body: (UnsafeBufferPointer<UInt8>, JSONNode) -> Void) {
        let object = object ?? root
        guard object.kind == .object else { return }
        var cursor = cursor(at: object)
        try? cursor.scanMembers(depth: 0) { cursor, key, value in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(1, key.count)) { buffer in
                guard let base = buffer.baseAddress else { return }
                let count = cursor.decode(key, into: base)
                body(UnsafeBufferPointer(start: base, count: count), value)
            }
        }
    }
}
