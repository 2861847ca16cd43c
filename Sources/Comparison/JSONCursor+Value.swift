extension JSONCursor {
    /// Passes over a whole value, checking it.
    ///
    /// - Parameter depth: the number of containers around it.
    mutating func scanValue(depth: Int) throws(NotJSON) -> JSONNode {
        let start = position
        let kind: JSONNode.Kind
        switch current {
        case UInt8(ascii: "\""):
            kind = .string
            _ = try scanString()
        case UInt8(ascii: "{"):
            kind = .object
            try scanMembers(depth: depth) { _, _, _ in }
        case UInt8(ascii: "["):
            kind = .array
            try scanElements(depth: depth) { _, _ in true }
        case UInt8(ascii: "t"):
            kind = .bool
            try expect(literal: "true")
        case UInt8(ascii: "f"):
            kind = .bool
            try expect(literal: "false")
        case UInt8(ascii: "n"):
            kind = .null
            try expect(literal: "null")
        default:
            kind = .number
            _ = try scanNumber()
        }
        return JSONNode(kind: kind, range: start..<position)
    }

    /// Passes over an object, calling `body` with each member behind whose value the cursor then is.
    @inline(__always)
    mutating func scanMembers(
        depth: Int, _ body: (borrowing JSONCursor, JSONText, JSONNode) -> Void
    ) throws(NotJSON) {
        guard depth < Self.deepest else { throw NotJSON() }
        position &+= 1
        skipWhitespace()
        if current == UInt8(ascii: "}") {
            position &+= 1
            return
        }
        repeat {
            guard current == UInt8(ascii: "\"") else { throw NotJSON() }
            let key = try scanString()
            skipWhitespace()
            try expect(UInt8(ascii: ":"))
            skipWhitespace()
            let value = try scanValue(depth: depth &+ 1)
            body(self, key, value)
        } while try !endsContainer(UInt8(ascii: "}"))
    }

    /// Passes over an array, calling `body` with each element; stops early, inside the array, when it returns false.
    @inline(__always)
    mutating func scanElements(
        depth: Int, _ body: (borrowing JSONCursor, JSONNode) -> Bool
    ) throws(NotJSON) {
        guard depth < Self.deepest else { throw NotJSON() }
        position &+= 1
        skipWhitespace()
        if current == UInt8(ascii: "]") {
            position &+= 1
            return
        }
        repeat {
            let value = try scanValue(depth: depth &+ 1)
            guard body(self, value) else { return }
        } while try !endsContainer(UInt8(ascii: "]"))
    }

    /// Passes over what follows a member or an element: true at the closing bracket, false at a comma.
    @inline(__always)
    mutating func endsContainer(_ closing: UInt8) throws(NotJSON) -> Bool {
        skipWhitespace()
        let byte = current
        position &+= 1
        if byte == UInt8(ascii: ",") {
            skipWhitespace()
            return false
        }
        guard byte == closing else { throw NotJSON() }
        return true
    }

    /// Whether the value of a string is these bytes.
    func equals(_ text: JSONText, _ bytes: [UInt8]) -> Bool {
        guard text.escaped else {
            return text.count == bytes.count
                && bytes.elementsEqual(UnsafeBufferPointer(start: base + text.start, count: text.count))
        }
        guard text.count > bytes.count else { return false }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.count) { buffer in
            guard let destination = buffer.baseAddress else { return false }
            let count = decode(text, into: destination)
            return bytes.elementsEqual(UnsafeBufferPointer(start: destination, count: count))
        }
    }
}
