/// Whether a `Content-Type` value names JSON: `application/json`, `text/json`, or any type with the suffix `+json`
/// (RFC 6839 §3.1), parameters disregarded. Reads bytes, allocates nothing.
package func isJSONMediaType(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
    let type = mediaType(value)
    return equalsIgnoringCase(type, "application/json") || equalsIgnoringCase(type, "text/json")
        || (type.count > 5 && type.contains(UInt8(ascii: "/"))
            && equalsIgnoringCase(UnsafeBufferPointer(rebasing: type[(type.count - 5)...]), "+json"))
}

/// Whether a `Content-Type` value names server-sent events, parameters disregarded. Reads bytes, allocates nothing.
package func isEventStreamMediaType(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
    // Most types are shorter, and are looked at no further.
    value.count >= eventStream.utf8CodeUnitCount && equalsIgnoringCase(mediaType(value), eventStream)
}

private var eventStream: StaticString { "text/event-stream" }

/// The type in front of the parameters.
private func mediaType(_ value: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    var end = value.firstIndex(of: UInt8(ascii: ";")) ?? value.count
    var start = 0
    while start < end, isOptionalWhitespace(value[start]) { start += 1 }
    while end > start, isOptionalWhitespace(value[end - 1]) { end -= 1 }
    return UnsafeBufferPointer(rebasing: value[start..<end])
}

/// Whether a `Content-Type` value in a string names JSON.
package func isJSONMediaType(_ value: String) -> Bool {
    Array(value.utf8).withUnsafeBufferPointer { isJSONMediaType($0) }
}

private func equalsIgnoringCase(_ bytes: UnsafeBufferPointer<UInt8>, _ text: StaticString) -> Bool {
    guard bytes.count == text.utf8CodeUnitCount else { return false }
    for index in 0..<bytes.count where asciiLowercased(bytes[index]) != text.utf8Start[index] {
        return false
    }
    return true
}
