import Testing

@testable import ContentCoding

@Suite struct ContentCodingTests {
    private func decode(_ bytes: [UInt8], _ codings: String, limit: Int = 1 << 20) -> DecodeOutcome {
        bytes.withUnsafeBufferPointer { decodeContent($0, codings: codings, limit: limit) }
    }

    @Test(arguments: [
        (Fixtures.gzip, "gzip"), (Fixtures.gzip, "x-gzip"), (Fixtures.gzip, "GZip"), (Fixtures.gzip, " gzip\t"),
        (Fixtures.gzip, "identity, gzip"), (Fixtures.gzip, "gzip, identity"), (Fixtures.gzip, ", gzip ,,"),
        (Fixtures.gzipWithAllHeaderFields, "gzip"), (Fixtures.zlib, "deflate"), (Fixtures.bareDeflate, "deflate"),
        (Fixtures.brotli, "br"), (Fixtures.brotli, "BR"), (Fixtures.gzipOfBrotli, "br, gzip"),
        (Fixtures.gzipOfBrotli, "br,gzip"), (Fixtures.brotliOfGzip, "gzip, br"), (Fixtures.text, "identity"),
        (Fixtures.text, ""), (Fixtures.text, " , "),
    ])
    func codingsAreTakenOffInReverseOrder(_ body: [UInt8], _ codings: String) {
        #expect(decode(body, codings) == .decoded(Fixtures.text))
    }

    @Test func membersOfOneGzipBodyAreJoined() {
        #expect(decode(Fixtures.gzip + Fixtures.gzip, "gzip") == .decoded(Fixtures.text + Fixtures.text))
        #expect(decode(Fixtures.gzipOfNothing + Fixtures.gzip, "gzip") == .decoded(Fixtures.text))
        #expect(decode(Fixtures.gzip + Fixtures.gzipOfNothing, "gzip") == .decoded(Fixtures.text))
    }

    @Test func bareDeflateThatBeginsLikeZlibIsDecoded() {
        #expect(decode(Fixtures.bareDeflateThatLooksWrapped, "deflate") == .decoded([UInt8(ascii: "A")]))
    }

    @Test func nothingDecodesToNothing() {
        for codings in ["gzip", "deflate", "br", "identity", "", "br, gzip"] {
            #expect(decode([], codings) == .decoded([]))
        }
        #expect(decode(Fixtures.gzipOfNothing, "gzip") == .decoded([]))
        #expect(decode(Fixtures.brotliOfNothing, "br") == .decoded([]))
        // A layer of no bytes in between is no brotli stream.
        #expect(decode(Fixtures.gzipOfNothing, "br, gzip") == .undecodable)
    }

    @Test(arguments: ["zstd", "compress", "gzip;q=1", "gzip br", "br, zstd", "aws-chunked", "gzip\u{0}"])
    func unknownCodingsAreUndecodable(_ codings: String) {
        #expect(decode(Fixtures.gzip, codings) == .undecodable)
        #expect(decode([], codings) == .undecodable)
    }

    @Test func moreCodingsThanTheLimitAreUndecodable() {
        let eight = Array(repeating: "identity", count: 8).joined(separator: ",")
        #expect(decode(Fixtures.text, eight) == .decoded(Fixtures.text))
        #expect(decode(Fixtures.text, eight + ",identity") == .undecodable)
    }

    @Test(arguments: [
        (Fixtures.gzip, "gzip"), (Fixtures.gzipWithAllHeaderFields, "gzip"), (Fixtures.zlib, "deflate"),
        (Fixtures.bareDeflate, "deflate"), (Fixtures.brotli, "br"), (Fixtures.gzipOfBrotli, "br, gzip"),
    ])
    func everyProperPrefixIsUndecodable(_ body: [UInt8], _ codings: String) {
        for length in 1..<body.count {
            #expect(decode(Array(body.prefix(length)), codings) == .undecodable, "\(length) bytes")
        }
    }

    @Test(arguments: [
        (Fixtures.gzip, "gzip"), (Fixtures.zlib, "deflate"), (Fixtures.bareDeflate, "deflate"), (Fixtures.brotli, "br"),
    ])
    func whatFollowsTheBodyMakesItUndecodable(_ body: [UInt8], _ codings: String) {
        #expect(decode(body + [0], codings) == .undecodable)
        #expect(decode(body + Array("garbage".utf8), codings) == .undecodable)
        #expect(decode(body + [0x1F, 0x8B], codings) == .undecodable)
    }

    @Test func damageIsFoundByTheCheckSum() {
        var body = Fixtures.gzip
        body[body.count - 8] ^= 1
        #expect(decode(body, "gzip") == .undecodable)
        body = Fixtures.zlib
        body[body.count - 1] ^= 1
        #expect(decode(body, "deflate") == .undecodable)
    }

    @Test func wrongCodingIsUndecodable() {
        #expect(decode(Fixtures.text, "gzip") == .undecodable)
        #expect(decode(Fixtures.text, "br") == .undecodable)
        #expect(decode(Fixtures.text, "deflate") == .undecodable)
        #expect(decode(Fixtures.brotli, "gzip") == .undecodable)
        #expect(decode(Fixtures.zlib, "gzip") == .undecodable)
        #expect(decode(Fixtures.gzip, "deflate") == .undecodable)
        #expect(decode(Fixtures.gzipOfBrotli, "gzip, br") == .undecodable)
    }

    @Test func limitIsTheLargestBodyThatIsDecoded() {
        let size = Fixtures.text.count
        for (body, codings) in [
            (Fixtures.gzip, "gzip"), (Fixtures.zlib, "deflate"), (Fixtures.bareDeflate, "deflate"),
            (Fixtures.brotli, "br"), (Fixtures.text, ""), (Fixtures.text, "identity"),
        ] {
            #expect(decode(body, codings, limit: size) == .decoded(Fixtures.text))
            #expect(decode(body, codings, limit: size - 1) == .tooLarge)
            #expect(decode(body, codings, limit: 0) == .tooLarge)
        }
        #expect(decode(Fixtures.gzipOfNothing, "gzip", limit: 0) == .decoded([]))
    }

    @Test func bombsStopAtTheLimit() {
        let mebibyte = [UInt8](repeating: 0, count: 1 << 20)
        for (bomb, codings) in [
            (Fixtures.gzipOfGzipOfAMebibyteOfZeros, "gzip, gzip"), (Fixtures.brotliOfAMebibyteOfZeros, "br"),
            (Fixtures.zlibOfZlibOfAMebibyteOfZeros, "deflate, deflate"),
        ] {
            #expect(decode(bomb, codings, limit: 1 << 20) == .decoded(mebibyte))
            #expect(decode(bomb, codings, limit: (1 << 20) - 1) == .tooLarge)
            #expect(decode(bomb, codings, limit: 64 * 1024) == .tooLarge)
        }
        // The layer in between is bounded, too.
        #expect(decode(Fixtures.gzipOfGzipOfAMebibyteOfZeros, "gzip, gzip", limit: 100) == .tooLarge)
    }

    /// Brotli fills its window, which a bomb may want to be 16 MiB, before it gives anything out.
    @Test func aBrotliBombIsGivenUpBeforeItIsUnpacked() {
        func bytesGiven(for body: [UInt8], limit: Int, _ outcome: DecodeOutcome) -> Int {
            guard let decoder = BrotliDecoder(limit: limit) else { return .max }
            body.withUnsafeBufferPointer { bytes in
                #expect(decoder.run(bytes, limit: limit) == outcome)
            }
            return decoder.bytesGiven
        }
        let bomb = Fixtures.brotliOf32MebibytesOfZeros
        #expect(bytesGiven(for: bomb, limit: 1 << 20, .tooLarge) < 1 << 20)
        // It is the window that is refused: whoever allows as much pays for it.
        let whole = DecodeOutcome.decoded([UInt8](repeating: 0, count: 32 << 20))
        #expect(bytesGiven(for: bomb, limit: 32 << 20, whole) > 16 << 20)
        // A body within the limit is given the window that it needs.
        let mebibyte = DecodeOutcome.decoded([UInt8](repeating: 0, count: 1 << 20))
        #expect(bytesGiven(for: Fixtures.brotliOfAMebibyteOfZeros, limit: 1 << 20, mebibyte) > 1 << 20)
    }

    @Test func randomBytesNeverCrash() {
        var state = UInt64.random(in: 0 ... .max)
        func next() -> UInt8 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
        let bodies = [Fixtures.gzip, Fixtures.zlib, Fixtures.bareDeflate, Fixtures.brotli]
        for round in 0..<2000 {
            var body = round % 2 == 0 ? bodies[round / 2 % 4] : (0..<Int(next())).map { _ in next() }
            if !body.isEmpty { body[(Int(next()) << 8 | Int(next())) % body.count] = next() }
            for codings in ["gzip", "deflate", "br"] {
                if case .decoded(let bytes) = decode(body, codings, limit: 4096) {
                    #expect(bytes.count <= 4096)
                }
            }
        }
    }
}
