/// Reads a chunked body (RFC 9112 §7.1) strictly, however its bytes are cut.
@usableFromInline
struct ChunkReader {
    private enum State: UInt8 {
        /// In the hex digits of a size.
        case size
        /// White space after the size: only a semicolon may follow.
        case extensionStart
        case extensions
        case sizeLineFeed
        case data, dataCarriageReturn, dataLineFeed
        /// At the start of a trailer line or of the closing empty line.
        case trailerStart
        case trailerName, trailerValue, trailerLineFeed
        case finalLineFeed
        case done
        case malformed
    }

    private let limits: WireLimits
    private var state = State.size
    private var sizeDigits = 0
    /// The size being read, then what is left of the chunk.
    private var remaining = 0
    /// Bytes of extensions so far, in the whole body.
    private var extensionBytes = 0
    /// Bytes of the trailer section so far: as in a head its CRLFs and the closing empty line count.
    private var trailerBytes = 2
    private var trailerLines = 0
    private var trailerLineBytes = 0
    /// The name of the trailer being read, as far as it has at most 24 bytes, in lower case.
    private var name: (UInt64, UInt64, UInt64) = (0, 0, 0)
    private var nameLength = 0

    init(limits: WireLimits) { self.limits = limits }

    var isDone: Bool { state == .done }

    /// See `BodyScanner.scan`.
    mutating func scan(_ p: UnsafePointer<UInt8>, _ n: Int, payload: (UnsafePointer<UInt8>, Int) -> Void) -> Int? {
        var i = 0
        while i < n {
            if state == .data {
                let taken = min(n - i, remaining)
                payload(p + i, taken)
                i += taken
                remaining -= taken
                if remaining == 0 { state = .dataCarriageReturn }
            } else if state == .done {
                return i
            } else if step(p[i]) {
                i += 1
            } else {
                state = .malformed
                return nil
            }
        }
        return state == .malformed ? nil : i
    }

    /// One byte outside of the data; false if it may not stand there.
    private mutating func step(_ byte: UInt8) -> Bool {
        switch state {
        case .size: return stepSize(byte)
        case .extensionStart:
            if byte == UInt8(ascii: ";") { state = .extensions } else if !Bytes.isWhiteSpace(byte) { return false }
            return countExtension()
        case .extensions:
            if byte == Bytes.carriageReturn {
                state = .sizeLineFeed
                return true
            }
            return !Self.isControl(byte) && countExtension()
        case .sizeLineFeed: return byte == Bytes.lineFeed && endSizeLine()
        case .dataCarriageReturn: return advance(byte == Bytes.carriageReturn, to: .dataLineFeed)
        case .dataLineFeed: return advance(byte == Bytes.lineFeed, to: .size)
        case .trailerStart:
            if byte == Bytes.carriageReturn { return advance(true, to: .finalLineFeed) }
            return beginTrailer() && stepTrailerName(byte)
        case .trailerName: return stepTrailerName(byte)
        case .trailerValue:
            if byte == Bytes.carriageReturn { return advance(true, to: .trailerLineFeed) }
            return !Self.isControl(byte) && countTrailer()
        case .trailerLineFeed: return advance(byte == Bytes.lineFeed, to: .trailerStart)
        case .finalLineFeed: return advance(byte == Bytes.lineFeed, to: .done)
        case .data, .done, .malformed: return false
        }
    }

    private mutating func advance(_ isRight: Bool, to next: State) -> Bool {
        if isRight { state = next }
        return isRight
    }

    // MARK: Size lines

    private mutating func stepSize(_ byte: UInt8) -> Bool {
        let digit: UInt8
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - 48
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - 55
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - 87
        case Bytes.carriageReturn: return advance(sizeDigits > 0, to: .sizeLineFeed)
        case UInt8(ascii: ";"): return advance(sizeDigits > 0, to: .extensions) && countExtension()
        case Bytes.space, Bytes.tab: return advance(sizeDigits > 0, to: .extensionStart) && countExtension()
        default: return false
        }
        sizeDigits += 1
        // Sixteen digits would fill 64 bits; one bit less is what an Int holds.
        guard sizeDigits <= 16, remaining <= Int.max >> 4 else { return false }
        remaining = remaining << 4 | Int(digit)
        return true
    }

    private mutating func countExtension() -> Bool {
        extensionBytes += 1
        return extensionBytes <= WireLimits.chunkExtensionBytes
    }

    private mutating func endSizeLine() -> Bool {
        state = remaining == 0 ? .trailerStart : .data
        sizeDigits = 0
        return true
    }

    // MARK: Trailers

    private mutating func beginTrailer() -> Bool {
        trailerLines += 1
        trailerBytes += 2
        trailerLineBytes = 0
        name = (0, 0, 0)
        nameLength = 0
        state = .trailerName
        return trailerLines <= limits.headerLines
    }

    private mutating func stepTrailerName(_ byte: UInt8) -> Bool {
        guard countTrailer() else { return false }
        if byte == Bytes.colon {
            state = .trailerValue
            return nameLength > 0 && mayBeTrailer
        }
        guard Bytes.isToken(byte) else { return false }
        let shifted = UInt64(Bytes.lowercased(byte)) << UInt64((nameLength & 7) * 8)
        switch nameLength >> 3 {
        case 0: name.0 |= shifted
        case 1: name.1 |= shifted
        case 2: name.2 |= shifted
        default: break
        }
        nameLength += 1
        return true
    }

    /// Framing, routing and what concerns this hop must stand in the head (RFC 9110 §6.5.1): a recipient that merges
    /// trailers into its headers would be misled.
    private var mayBeTrailer: Bool {
        switch FieldKind.of(name.0, name.1, name.2, nameLength) {
        case .host, .contentLength, .transferEncoding, .connection: false
        default: true
        }
    }

    private mutating func countTrailer() -> Bool {
        trailerBytes += 1
        trailerLineBytes += 1
        return trailerBytes <= limits.headerBytes && trailerLineBytes <= limits.headerLineBytes
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != Bytes.tab || byte == 0x7f }
}
