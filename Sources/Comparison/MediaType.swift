/// Whether a `Content-Type` value names JSON: `application/json`, `text/json`, or any type with the suffix `+json`
/// (RFC 6839 §3.1), parameters disregarded. Reads bytes, allocates nothing.
package func isJSONMediaType(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
    var end = value.firstIndex(of: UInt8(ascii: ";")) ?? value.count
    var start = 0
    while start < end, isOptionalWhitespace(value[start]) { start += 1 }
    while end > start, isOptionalWhitespace(value[end - 1]) { end -= 1 }
    let type = UnsafeBufferPointer(rebasing: value[start..<end])
    return equalsIgnoringCase(type, "application/json") || equalsIgnoringCase(type, "text/json")
        || (type.count > 5 && type.contains(UInt8(ascii: "/"))
            && equalsIgnoringCase(UnsafeBufferPointer(rebasing: type[(type.count - 5)...]), "+json"))
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
