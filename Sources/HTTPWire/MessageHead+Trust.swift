extension MessageHead {
    /// Makes what the sender says of who asks, and from where, mean this hop only: `X-Forwarded-…`, `X-Real-IP`, `Forwarded`
    /// (RFC 7239) and the fields of some names. They are then removed with the other fields of the hop.
    ///
    /// An underscore counts as a hyphen here: behind CGI's environment variables (RFC 3875 §4.1.18) `X_User_Id` and
    /// `X-User-Id` are one. A field that this parser gives a meaning (`Host`, `Authorization`, …) keeps it, whoever names it.
    ///
    /// - Parameters:
    ///   - names: in lower case.
    ///   - p: the buffer that the head was parsed from.
    package func withdraw(_ names: [[UInt8]], in p: UnsafePointer<UInt8>) {
        var kinds: UInt64 = 0
        for index in 0..<state.pointee.fieldCount {
            var field = state.pointee.fields[index]
            if isOfSender(field, names, p) {
                field.kind = .hopByHop
                state.pointee.fields[index] = field
            }
            kinds |= field.kind.bit
        }
        state.pointee.kinds = kinds
    }

    private func isOfSender(_ field: Field, _ names: [[UInt8]], _ p: UnsafePointer<UInt8>) -> Bool {
        switch field.kind {
        case .forwardedFor, .forwardedProto, .forwardedHost: return true
        case .other: break
        default: return false
        }
        let name = p + Int(field.lineStart)
        let count = Int(field.nameEnd &- field.lineStart)
        if MessageHead.begins(name, count, with: "x-forwarded-") { return true }
        if count == 9, MessageHead.begins(name, count, with: "forwarded") { return true }
        if count == 9, MessageHead.begins(name, count, with: "x-real-ip") { return true }
        return names.contains { wanted in
            count == wanted.count
                && (0..<count).allSatisfy { MessageHead.plain(name[$0]) == MessageHead.plain(wanted[$0]) }
        }
    }

    private static func begins(_ name: UnsafePointer<UInt8>, _ count: Int, with prefix: StaticString) -> Bool {
        let width = prefix.utf8CodeUnitCount
        return count >= width && (0..<width).allSatisfy { plain(name[$0]) == prefix.utf8Start[$0] }
    }

    private static func plain(_ byte: UInt8) -> UInt8 { byte == 0x5f ? 0x2d : Bytes.lowercased(byte) }
}
