import HTTPWire

/// Chunked bodies: one verdict and one content however the bytes arrive, and the content is that of a chunked body which any
/// other reader finds in the bytes that were taken.
struct ChunkedFuzz {
    private struct Result: Equatable {
        var isMalformed = false
        var isDone = false
        var taken = 0
        var content: [UInt8] = []
    }

    func run(_ input: UnsafeBufferPointer<UInt8>) {
        let whole = scan(input) { _ in input.count }
        var cuts = Cuts(input)
        let parts = scan(input) { left in cuts.next(most: min(left, 16)) }
        require(whole.isMalformed == parts.isMalformed, "whole \(whole), in pieces \(parts)")
        if whole.isMalformed {
            require(!whole.isDone && !parts.isDone, "malformed and whole")
            return
        }
        require(whole == parts, "whole \(whole), in pieces \(parts)")
        require(whole.isDone || whole.taken == input.count, "bytes left in the middle of a body")
        if whole.isDone {
            let content = plainContent(of: Array(input[..<whole.taken]))
            require(content == whole.content, "a plain reader finds \(content as Any), not \(whole.content)")
        }
    }

    private func scan(_ input: UnsafeBufferPointer<UInt8>, piece: (Int) -> Int) -> Result {
        var scanner = BodyScanner(.chunked)
        var result = Result()
        while result.taken < input.count, !scanner.isDone {
            let count = min(input.count - result.taken, piece(input.count - result.taken))
            // Each piece alone in its memory: whoever looks behind it is found out.
            let used = withExactCopy(input[result.taken..<(result.taken + count)]) { base in
                scanner.scan(base, count) { result.content += UnsafeBufferPointer(start: $0, count: $1) }
            }
            guard let used else {
                result.isMalformed = true
                require(withExactCopy([0x30], { scanner.scan($0, 1) { _, _ in } }) == nil, "it has recovered")
                return result
            }
            require(used == count || scanner.isDone, "it stops at \(used) of \(count)")
            result.taken += used
        }
        result.isDone = scanner.isDone
        return result
    }

    /// The content as RFC 9112 §7.1.3 reads it, for a body that is whole: line by line, without any state kept.
    private func plainContent(of bytes: [UInt8]) -> [UInt8]? {
        var content: [UInt8] = []
        var at = 0
        func line() -> ArraySlice<UInt8>? {
            guard let end = bytes[at...].firstIndex(of: 0x0a), end > at, bytes[end - 1] == 0x0d else { return nil }
            defer { at = end + 1 }
            return bytes[at..<(end - 1)]
        }
        while let sizeLine = line() {
            let digits = sizeLine.prefix { (0x30...0x39).contains($0) || (0x41...0x46).contains($0 & 0xdf) }
            guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16) else { return nil }
            if size == 0 {
                while let trailer = line() { if trailer.isEmpty { return at == bytes.count ? content : nil } }
                return nil
            }
            guard size <= bytes.count - at - 2 else { return nil }
            content += bytes[at..<(at + size)]
            at += size
            guard bytes[at] == 0x0d, bytes[at + 1] == 0x0a else { return nil }
            at += 2
        }
        return nil
    }
}
