extension HeadState {
    // MARK: Requests

    /// Skips empty lines before the request (RFC 9112 §2.2; two at most, or a peer could keep us busy with nothing) and
    /// reads the method and the space after it.
    @inline(__always)
    mutating func parseMethod(_ p: UnsafePointer<UInt8>, _ n: Int) -> Step {
        while leading < n, p[leading] == Bytes.carriageReturn {
            guard leading < 4 else { return .refused(.badMethod) }
            guard leading + 1 < n else { return .incomplete }
            guard p[leading + 1] == Bytes.lineFeed else { return .refused(.bareCarriageReturn) }
            leading += 2
        }
        // A method is short, so reading it again from its start at each call costs a bounded amount.
        var i = leading
        let limit = leading + WireLimits.methodBytes
        while i < n, i <= limit, Bytes.isToken(p[i]) { i &+= 1 }
        if i > limit { return .refused(.methodTooLong) }
        if i == n { return .incomplete }
        guard i > leading, p[i] == Bytes.space else { return .refused(.badMethod) }
        method = Method.of(p + leading, i - leading)
        methodEnd = i
        lineStart = leading
        scanned = i + 1
        return .done
    }

    /// Reads target and version: `target SP "HTTP/1." DIGIT CRLF`.
    @inline(__always)
    mutating func parseRequestLine(_ p: UnsafePointer<UInt8>, _ n: Int) -> Step {
        let targetStart = methodEnd &+ 1
        let stop = Bytes.firstControl(p, scanned, n)
        // " HTTP/1.1" has nine bytes. Judged before the line is whole, with the same result as when it is.
        if stop - targetStart > limits.targetBytes + 9 { return .refused(.targetTooLong) }
        switch lineEnd(p, n, stop: stop) {
        case .at: break
        case .incomplete: return .incomplete
        case .refused(let fault): return .refused(fault)
        }
        targetEnd = stop - 9
        guard targetEnd > targetStart, p[targetEnd] == Bytes.space else { return .refused(.badRequestLine) }
        if let fault = parseVersion(p + targetEnd + 1) { return .refused(fault) }
        if method == .connect { return .refused(.connectUnsupported) }
        if let fault = parseTarget(p, targetStart) { return .refused(fault) }
        endFirstLine(stop)
        return .done
    }

    /// `HTTP/1.0` and `HTTP/1.1` are served. Other versions of that form are told so.
    @inline(__always)
    private mutating func parseVersion(_ p: UnsafePointer<UInt8>) -> HeadFault? {
        let word = Bytes.word(at: p, 8)
        if word == Bytes.word("HTTP/1.1") { return nil }
        if word == Bytes.word("HTTP/1.0") {
            minorVersion = 0
            return nil
        }
        let isVersion =
            Bytes.word(at: p, 5) == Bytes.word("HTTP/") && Self.isDigit(p[5]) && p[6] == UInt8(ascii: ".")
            && Self.isDigit(p[7])
        return isVersion ? .unsupportedVersion : .badVersion
    }

    /// The forms of RFC 9112 §3.2. Bytes from 0x80 up are let through, as other proxies do: clients send raw UTF-8, and
    /// nothing can be smuggled in them. White space, controls and `#` are not, since two backends might cut there.
    @inline(__always)
    private mutating func parseTarget(_ p: UnsafePointer<UInt8>, _ start: Int) -> HeadFault? {
        pathStart = start
        if p[start] != UInt8(ascii: "/") {
            if p[start] == UInt8(ascii: "*"), targetEnd == start + 1, method == .options {
                pathEnd = targetEnd
                return nil
            }
            if let fault = parseAuthority(p, start) { return fault }
        }
        var i = Bytes.firstTargetDelimiter(p, pathStart, targetEnd)
        pathEnd = i
        while i < targetEnd {
            guard p[i] == UInt8(ascii: "?") else { return .badTarget }
            i = Bytes.firstTargetDelimiter(p, i + 1, targetEnd)
        }
        return nil
    }

    /// Absolute form: `http://authority[/path][?query]` (RFC 9112 §3.2.2). User information is an error
    /// (RFC 9110 §4.2.4), and so is an empty host (§4.2.1).
    private mutating func parseAuthority(_ p: UnsafePointer<UInt8>, _ start: Int) -> HeadFault? {
        let space = Bytes.first(Bytes.space, p, start, targetEnd)
        if space < targetEnd { return .badTarget }
        let scheme = Bytes.first(Bytes.colon, p, start, targetEnd)
        guard Bytes.equals(p + start, scheme - start, "http") || Bytes.equals(p + start, scheme - start, "https"),
            targetEnd - scheme >= 3, p[scheme + 1] == UInt8(ascii: "/"), p[scheme + 2] == UInt8(ascii: "/")
        else { return .badTargetForm }
        authorityStart = scheme + 3
        var i = authorityStart
        while i < targetEnd, p[i] != UInt8(ascii: "/"), p[i] != UInt8(ascii: "?"), p[i] != UInt8(ascii: "#") { i &+= 1 }
        authorityEnd = i
        pathStart = i
        guard authorityEnd > authorityStart, Self.isHost(p, authorityStart, authorityEnd) else { return .badAuthority }
        return nil
    }

    // MARK: Responses

    /// `HTTP/1.x SP 3DIGIT [SP reason]` (RFC 9112 §4). Some servers leave out the space before an empty reason.
    @inline(__always)
    mutating func parseStatusLine(_ p: UnsafePointer<UInt8>, _ n: Int) -> Step {
        let stop = Bytes.firstControl(p, scanned, n)
        if stop > limits.headerLineBytes { return .refused(.headerLineTooLong) }
        switch lineEnd(p, n, stop: stop) {
        case .at: break
        case .incomplete: return .incomplete
        case .refused(let fault): return .refused(fault)
        }
        guard stop >= 8 else { return .refused(.badStatusLine) }
        if let fault = parseVersion(p) { return .refused(fault) }
        guard stop >= 12, p[8] == Bytes.space, stop == 12 || p[12] == Bytes.space else {
            return .refused(.badStatusLine)
        }
        guard Self.isDigit(p[9]), Self.isDigit(p[10]), Self.isDigit(p[11]) else { return .refused(.badStatus) }
        status = Int(p[9] &- 48) &* 100 &+ Int(p[10] &- 48) &* 10 &+ Int(p[11] &- 48)
        guard status >= 100, status <= 599 else { return .refused(.badStatus) }
        endFirstLine(stop)
        return .done
    }

    @inline(__always)
    private mutating func endFirstLine(_ carriageReturn: Int) {
        firstLineEnd = carriageReturn &+ 2
        lineStart = firstLineEnd
        scanned = firstLineEnd
    }

    @inline(__always)
    static func isDigit(_ byte: UInt8) -> Bool { byte &- 48 < 10 }
}
