import HTTPWire

extension MessageHead {
    /// Whether the answer is `text/event-stream`: server-sent events, which go on for as long as somebody listens.
    /// - Parameter text: where the head was read.
    func isEventStream(in text: UnsafePointer<UInt8>) -> Bool {
        guard let field = firstField(kind: .contentType) else { return false }
        let value = field.value(in: text)
        let name: StaticString = "text/event-stream"
        let count = name.utf8CodeUnitCount
        guard value.count >= count else { return false }
        for i in 0..<count {
            let byte = value[i]
            // ASCII letters without regard to case (RFC 9110 §8.3.1).
            let lower = byte &- 0x41 < 26 ? byte | 0x20 : byte
            if lower != name.utf8Start[i] { return false }
        }
        // What follows the type is a parameter or nothing.
        return value.count == count || [0x20, 0x09, 0x3b].contains(value[count])
    }
}
