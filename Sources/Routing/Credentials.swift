/// The `Authorization` header, as far as it says who the user is. Nothing is judged here: that is the backend's work
/// (Basic) or that of whoever verifies the token (Bearer).
package enum Credentials {
    /// The user name of Basic credentials (RFC 7617 §2: Base64 of `user:password`), decoded into `scratch`, which must
    /// have room for `count` bytes and afterwards holds the password too, behind the name: overwrite it.
    ///
    /// - Returns: length of the user name at the start of `scratch`, possibly 0; nil when these are no Basic
    ///   credentials, lack the colon or have a control character in the name.
    package static func basicUser(
        in value: UnsafePointer<UInt8>, _ count: Int, decodedInto scratch: UnsafeMutablePointer<UInt8>
    ) -> Int? {
        guard let token = token(in: value, count, scheme: "basic"),
            let decoded = Base64.decode(value + token.start, token.count, into: scratch)
        else { return nil }
        for offset in 0..<decoded {
            if scratch[offset] == 0x3a { return offset }
            if scratch[offset] < 0x20 || scratch[offset] == 0x7f { return nil }
        }
        return nil
    }

    /// The token of Bearer credentials (RFC 6750 §2.1); nil when these are none.
    package static func bearerToken(in value: UnsafePointer<UInt8>, _ count: Int) -> ByteRange? {
        token(in: value, count, scheme: "bearer")
    }

    /// Whether the scheme is Bearer, whatever stands behind it.
    package static func isBearer(_ value: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        let scheme: StaticString = "bearer"
        let width = scheme.utf8CodeUnitCount
        guard count >= width, count == width || isBlank(value[width]) else { return false }
        for offset in 0..<width where value[offset] | 0x20 != scheme.utf8Start[offset] { return false }
        return true
    }

    /// `scheme 1*SP token68`, the scheme in any case (RFC 9110 §11.4).
    private static func token(
        in value: UnsafePointer<UInt8>, _ count: Int, scheme: StaticString
    ) -> ByteRange? {
        let width = scheme.utf8CodeUnitCount
        guard count > width, value[width] == 0x20 else { return nil }
        // Only letters are compared, so that one bit makes any of them lower case.
        for offset in 0..<width where value[offset] | 0x20 != scheme.utf8Start[offset] { return nil }
        var start = width
        while start < count && value[start] == 0x20 { start += 1 }
        var end = count
        while end > start && isBlank(value[end - 1]) { end -= 1 }
        var offset = start
        while offset < end && isToken68Byte(value[offset]) { offset += 1 }
        guard offset > start else { return nil }
        while offset < end && value[offset] == 0x3d { offset += 1 }
        return offset == end ? ByteRange(start: start, end: end) : nil
    }

    /// `token68` of RFC 9110 §11.2, without its padding.
    private static func isToken68Byte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2b, 0x2d, 0x2e, 0x2f, 0x5f, 0x7e: true
        default: false
        }
    }
}
