/// A client's idempotency key (draft-ietf-httpapi-idempotency-key-header).
///
/// The draft makes the header's value a String of structured fields (RFC 9651 §3.3.3): `"8e03978e"`, in quotes. Most clients send
/// it without; both forms are taken, and mean the same key when they hold the same characters.
struct IdempotencyKey: Equatable {
    /// What repeats are known by.
    let value: String
    /// What goes out to the backends: as the client sent it.
    let text: String

    /// The header's name in lower case.
    static let fieldName = Array("idempotency-key".utf8)

    /// - Parameter field: the header's value without white space around it.
    /// - Throws: what is wrong with it, and what is accepted.
    init?(field: String) throws(SubmissionProblem) {
        guard !field.isEmpty else { return nil }
        try IdempotencyKey.check(field)
        text = field
        value = field.utf8.first == UInt8(ascii: "\"") ? try IdempotencyKey.unquoted(field) : field
    }

    /// A key from the body goes out in a header line: it must be one that a header could have brought, or a client could write
    /// lines of its own into the backends' requests (RFC 9110 §5.5).
    init?(body key: String) throws(SubmissionProblem) {
        guard !key.isEmpty else { return nil }
        try IdempotencyKey.check(key)
        text = key
        value = key
    }

    private static func check(_ key: String) throws(SubmissionProblem) {
        guard key.utf8.count <= LegMessage.keyBytesMax, key.utf8.allSatisfy(LegMessage.isKeyByte) else {
            throw .unusable(
                "idempotency key: accepted are 1 to \(LegMessage.keyBytesMax) printable ASCII characters without line breaks"
            )
        }
    }

    /// The characters of a String of structured fields; parameters behind it mean nothing here (RFC 9651 §4.2.5).
    private static func unquoted(_ field: String) throws(SubmissionProblem) -> String {
        var content: [UInt8] = []
        var bytes = field.utf8.dropFirst()
        while let byte = bytes.popFirst() {
            if byte == UInt8(ascii: "\"") {
                let rest = bytes.drop { $0 == UInt8(ascii: " ") }
                guard rest.isEmpty || rest.first == UInt8(ascii: ";"), !content.isEmpty else { break }
                return String(decoding: content, as: UTF8.self)
            }
            guard byte == UInt8(ascii: "\\") else {
                content.append(byte)
                continue
            }
            guard let escaped = bytes.popFirst(), escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\") else {
                break
            }
            content.append(escaped)
        }
        throw .unusable(
            "Idempotency-Key begins with a quote and is no string of structured fields; accepted: \"KEY\", with \\ before \" and \\"
        )
    }
}
