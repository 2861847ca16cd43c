extension HeadState {
    /// Notes what a field of a known kind says, its value being `start..<end`. Called before the kind is in `kinds`.
    @inline(__always)
    mutating func takeUp(_ kind: FieldKind, _ p: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> HeadFault? {
        switch kind {
        case .contentLength: return takeContentLength(p, start, end)
        case .transferEncoding: return takeTransferEncoding(p, start, end)
        case .connection:
            takeConnection(p, start, end)
            return nil
        case .host:
            // In a response it means nothing.
            if status != 0 { return nil }
            if kinds & kind.bit != 0 { return .repeatedHost }
            return Self.isHost(p, start, end) ? nil : .badHost
        case .expect:
            if Bytes.equals(p + start, end - start, "100-continue") { expectsContinue = true }
            return nil
        default: return nil
        }
    }

    /// Content-Length is one number. RFC 9110 §8.6 lets a recipient take `5, 5` or a second equal line for one; a gateway
    /// in front of two backends that may differ in just this refuses them.
    private mutating func takeContentLength(_ p: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> HeadFault? {
        if contentLength >= 0 { return .repeatedContentLength }
        guard start < end else { return .badContentLength }
        var total = 0
        for k in start..<end {
            guard Self.isDigit(p[k]) else {
                return p[k] == UInt8(ascii: ",") && k > start ? .repeatedContentLength : .badContentLength
            }
            let (shifted, overflow) = total.multipliedReportingOverflow(by: 10)
            let (sum, carry) = shifted.addingReportingOverflow(Int(p[k] &- 48))
            if overflow || carry { return .badContentLength }
            total = sum
        }
        contentLength = total
        return nil
    }

    /// Exactly one `chunked` (RFC 9112 §6.1). Another coding is 501, what is no list of codings, or has an empty
    /// element, or says chunked and more, is 400.
    private mutating func takeTransferEncoding(_ p: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> HeadFault? {
        if kinds & FieldKind.transferEncoding.bit != 0 { return .repeatedTransferEncoding }
        if Bytes.equals(p + start, end - start, "chunked") {
            isChunked = true
            return nil
        }
        var i = start
        while i < end, Bytes.isToken(p[i]) { i &+= 1 }
        if i == start || Bytes.equals(p + start, i - start, "chunked") { return .badTransferEncoding }
        return .unsupportedTransferCoding
    }

    private mutating func takeConnection(_ p: UnsafePointer<UInt8>, _ start: Int, _ end: Int) {
        var options = ListOfTokens(p, start, end)
        while let (from, to) = options.next() {
            if Bytes.equals(p + from, to - from, "close") {
                saysClose = true
            } else if Bytes.equals(p + from, to - from, "keep-alive") {
                saysKeepAlive = true
            } else if Bytes.equals(p + from, to - from, "upgrade") {
                saysUpgrade = true
            } else {
                nominates = true
            }
        }
    }

    /// `uri-host [ ":" port ]` (RFC 9110 §7.2, RFC 3986 §3.2.2), or nothing: a client whose target has no authority
    /// must send an empty Host (RFC 9112 §3.2).
    static func isHost(_ p: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Bool {
        var i = start
        if i < end, p[i] == UInt8(ascii: "[") {
            i &+= 1
            while i < end, p[i] == Bytes.colon || p[i] != UInt8(ascii: "%") && isHostByte(p[i]) { i &+= 1 }
            guard i > start + 1, i < end, p[i] == UInt8(ascii: "]") else { return false }
            i &+= 1
        } else {
            while i < end, isHostByte(p[i]) { i &+= 1 }
            if i == start { return i == end }
        }
        if i == end { return true }
        guard p[i] == Bytes.colon else { return false }
        i &+= 1
        // More digits than a port has would read as different ports to different backends.
        guard end - i <= 5 else { return false }
        while i < end, isDigit(p[i]) { i &+= 1 }
        return i == end
    }

    /// `unreserved`, `sub-delims` and `%` of RFC 3986.
    @inline(__always)
    private static func isHostByte(_ byte: UInt8) -> Bool {
        // 0-9 a-z A-Z - . _ ~ ! $ & ' ( ) * + , ; = %
        let low: UInt64 = 0x2bff_7ff2_0000_0000
        let high: UInt64 = 0x47ff_fffe_87ff_fffe
        if byte >= 128 { return false }
        return ((byte < 64 ? low : high) >> UInt64(byte & 63)) & 1 != 0
    }

    // MARK: The whole

    /// Judges the fields together once all are there.
    @inline(__always)
    mutating func concludeFields(_ p: UnsafePointer<UInt8>, asRequest: Bool) -> HeadFault? {
        if isChunked {
            // RFC 9112 §6.1: whoever sends both wants two recipients to disagree; in HTTP/1.0 it is no framing at all.
            if contentLength >= 0 { return .lengthAndTransferEncoding }
            if minorVersion == 0 { return .transferEncodingInHTTP10 }
        }
        let isModern = minorVersion == 1
        keepAlive = !saysClose && (isModern || saysKeepAlive)
        expectsContinue = expectsContinue && isModern && asRequest
        wantsUpgrade = saysUpgrade && isModern && kinds & FieldKind.upgrade.bit != 0
        if asRequest {
            if kinds & FieldKind.host.bit == 0 {
                if isModern { return .missingHost }
            } else if authorityEnd > 0, !hostIsAuthority(p) {
                return .hostDiffersFromTarget
            }
        }
        return nominates ? markNominated(p) : nil
    }

    /// RFC 9112 §3.2: a client sends the same in both. The gateway passes Host on and the target without authority, so
    /// a difference would be lost.
    private func hostIsAuthority(_ p: UnsafePointer<UInt8>) -> Bool {
        for k in 0..<fieldCount where fields[k].kind == .host {
            let start = Int(fields[k].valueStart)
            let count = Int(fields[k].valueEnd) - start
            return count == authorityEnd - authorityStart
                && Bytes.equalIgnoringCase(p + start, p + authorityStart, count)
        }
        return true
    }

    /// Second pass: fields that a `Connection` option names mean this hop only (RFC 9110 §7.6.1).
    private mutating func markNominated(_ p: UnsafePointer<UInt8>) -> HeadFault? {
        var nominations = 0
        for k in 0..<fieldCount where fields[k].kind == .connection {
            var options = ListOfTokens(p, Int(fields[k].valueStart), Int(fields[k].valueEnd))
            while let (from, to) = options.next() {
                nominations += 1
                if nominations > WireLimits.connectionNominations { return .tooManyConnectionOptions }
                mark(p, from, to - from)
            }
        }
        kinds = 0
        for k in 0..<fieldCount { kinds |= fields[k].kind.bit }
        return nil
    }

    private mutating func mark(_ p: UnsafePointer<UInt8>, _ name: Int, _ count: Int) {
        for k in 0..<fieldCount where fields[k].kind.mayBeNamedByConnection {
            let start = Int(fields[k].lineStart)
            guard Int(fields[k].nameEnd) - start == count else { continue }
            if Bytes.equalIgnoringCase(p + start, p + name, count) { fields[k].kind = .namedByConnection }
        }
    }
}

/// The elements of a comma-separated list, empty ones left out (RFC 9110 §5.6.1).
struct ListOfTokens {
    private let p: UnsafePointer<UInt8>
    private var position: Int
    private let end: Int

    init(_ p: UnsafePointer<UInt8>, _ start: Int, _ end: Int) {
        self.p = p
        position = start
        self.end = end
    }

    /// The next element without the white space around it.
    mutating func next() -> (Int, Int)? {
        while position < end {
            let comma = Bytes.first(UInt8(ascii: ","), p, position, end)
            var from = position
            var to = comma
            position = comma + 1
            while from < to, Bytes.isWhiteSpace(p[from]) { from &+= 1 }
            while to > from, Bytes.isWhiteSpace(p[to &- 1]) { to &-= 1 }
            if to > from { return (from, to) }
        }
        return nil
    }
}
