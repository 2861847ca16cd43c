import Comparison
import HTTPWire

extension MessageHead {
    /// Whether the answer is `text/event-stream`: server-sent events, which go on for as long as somebody listens.
    /// - Parameter text: where the head was read.
    func isEventStream(in text: UnsafePointer<UInt8>) -> Bool {
        firstField(kind: .contentType).map { isEventStreamMediaType($0.value(in: text)) } ?? false
    }
}
