import Rollout
import Testing

private func pieces<T>(_ bytes: [UInt8], cutAt cut: Int, _ body: (UnsafePointer<UInt8>, Int, Int) -> T) -> T {
    bytes.withUnsafeBufferPointer { body($0.baseAddress!, cut, bytes.count) }
}

@Test func murmur3HashesTheSameHoweverItsBytesAreCut() {
    for count in 1...40 {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
        var whole = Murmur3()
        bytes.withUnsafeBufferPointer { whole.update($0.baseAddress!, count) }
        for cut in 0...count {
            let cutHash = pieces(bytes, cutAt: cut) { base, cut, count in
                var hash = Murmur3()
                hash.update(base, cut)
                hash.update(base + cut, count - cut)
                return hash.finished()
            }
            #expect(cutHash == whole.finished(), "\(count) bytes cut at \(cut)")
        }
        var bytewise = Murmur3()
        for byte in bytes { bytewise.update(byte: byte) }
        #expect(bytewise.finished() == whole.finished())
    }
}

@Test func murmur3TakesASeed() {
    // Published by the algorithm's author for the empty input.
    #expect(Murmur3(seed: 1).finished() == 0x514e_28b7)
    #expect(Murmur3(seed: 0xffff_ffff).finished() == 0x81f1_6f39)
}

@Test func murmur2HashesTheSameHoweverItsBytesAreCut() {
    let bytes = Array("user-1".utf8)
    for cut in 0...bytes.count {
        let hash = pieces(bytes, cutAt: cut) { base, cut, count in
            var hash = Murmur2(totalLength: count)
            hash.update(base, cut)
            hash.update(base + cut, count - cut)
            return hash.finished()
        }
        #expect(hash == 21_187_135)
    }
}

@Test(
    arguments: [
        ("", [0xda39_a3ee, 0x5e6b_4b0d, 0x3255_bfef, 0x9560_1890, 0xafd8_0709]),
        ("abc", [0xa999_3e36, 0x4706_816a, 0xba3e_2571, 0x7850_c26c, 0x9cd0_d89d]),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            [0x8498_3e44, 0x1c3b_d26e, 0xbaae_4aa1, 0xf951_29e5, 0xe546_70f1]
        ),
        (
            String(repeating: "a", count: 1_000_000),
            [0x34aa_973c, 0xd4c4_daa4, 0xf61e_eb2b, 0xdbad_2731, 0x6534_016f]
        ),
    ] as [(String, [UInt32])])
func sha1AgreesWithTheStandardsExamples(input: String, digest: [UInt32]) {
    var hash = SHA1()
    Array(input.utf8).withUnsafeBufferPointer { if let base = $0.baseAddress { hash.update(base, $0.count) } }
    let (a, b, c, d, e) = hash.finished()
    #expect([a, b, c, d, e] == digest)
    #expect(hash.finishedPrefix() == UInt64(digest[0]) << 32 | UInt64(digest[1]))
}

@Test func sha1PadsEveryLengthAroundABlock() {
    // From an independent implementation (Python's hashlib) over so many letters `x`.
    let prefixes: [(Int, UInt64)] = [
        (1, 0x11f6_ad8e_c52a_2984), (55, 0xcef7_34ba_81a0_2447), (56, 0x9013_0536_7c25_9952),
        (57, 0x025e_cbd5_d70f_8fb3), (63, 0x0ddc_4e0c_ccd9_a128), (64, 0xbb2f_a3ee_7afb_9f54),
        (65, 0x78c7_41dd_c482_e4cd), (119, 0x4300_3203_94f7_ee23), (120, 0xceb2_8216_39c4_b6dc),
        (128, 0x150f_a3fb_dc89_9bd0),
    ]
    for (count, prefix) in prefixes {
        var hash = SHA1()
        for _ in 0..<count { hash.update(byte: 0x78) }
        #expect(hash.finishedPrefix() == prefix, "\(count) bytes")
    }
}

@Test(arguments: [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] as [(String, UInt32)])
func fnv1aAgreesWithItsPublishedValues(input: String, value: UInt32) {
    var hash = FNV1a()
    for byte in input.utf8 { hash.update(byte: byte) }
    #expect(hash.value == value)
}

@Test(arguments: [0, 7, 10, 99, 100, 1_000_000_000, 4_294_967_295] as [UInt32])
func fnv1aAddsTheDigitsOfANumber(number: UInt32) {
    var digits = FNV1a()
    digits.update(decimal: number)
    var text = FNV1a()
    for byte in String(number).utf8 { text.update(byte: byte) }
    #expect(digits.value == text.value)
}
