/// Bodies made by other implementations: Python's zlib and gzip modules, and libbrotlienc.
enum Fixtures {
    static let text = Array(String(repeating: "Cutover compares what both backends answered.\n", count: 3).utf8)

    static let gzip = bytes(
        """
        1f8b0800000000000203732e2dc92f4b2d5248cecf2d482c4a2d5628cf482c5148ca2fc950484a4cce4ecd4b295648cc
        2b2e4f2d4a4dd1e372a6a16a006522a3fb8a000000
        """)
    static let gzipWithAllHeaderFields = bytes(
        """
        1f8b081e0000000002030400657874726e616d652e747874006120636f6d6d656e7400e338732e2dc92f4b2d5248cecf
        2d482c4a2d5628cf482c5148ca2fc950484a4cce4ecd4b295648cc2b2e4f2d4a4dd1e372a6a16a006522a3fb8a000000
        """)
    static let gzipOfNothing = bytes(
        """
        1f8b080000000000020303000000000000000000
        """)
    static let zlib = bytes(
        """
        78da732e2dc92f4b2d5248cecf2d482c4a2d5628cf482c5148ca2fc950484a4cce4ecd4b295648cc2b2e4f2d4a4dd1e3
        72a6a16a00080b332e
        """)
    static let bareDeflate = bytes(
        """
        732e2dc92f4b2d5248cecf2d482c4a2d5628cf482c5148ca2fc950484a4cce4ecd4b295648cc2b2e4f2d4a4dd1e372a6
        a16a00
        """)
    static let brotli = bytes(
        """
        1b8900201ca9539f3b5e2b0cd1d509b204712903871cb01fbf02899cf2906169de4c340fa825b813f11385a828767b08
        00
        """)
    static let brotliOfNothing = bytes(
        """
        06
        """)
    static let gzipOfGzipOfAMebibyteOfZeros = bytes(
        """
        1f8b080000000000020393efe660000126e6b7070d19818c430bbefae772c42f601805a360148c3860c72cf3ca623903
        8300030023f0b4901b040000
        """)
    static let brotliOfAMebibyteOfZeros = bytes(
        """
        5bffff8f7f02201e0b0472ef1f00
        """)
    static let brotliOf32MebibytesOfZeros = bytes(
        """
        cfffff7f002400e2b14072effff3ffff1f8004401c1680eefd3f
        """)
    static let gzipOfBrotli = bytes(
        """
        1f8b0800000000000203013100ceff1b8900201ca9539f3b5e2b0cd1d509b204712903871cb01fbf02899cf2906169de
        4c340fa825b813f11385a828767b080014ca578131000000
        """)
    static let brotliOfGzip = bytes(
        """
        0b22801f8b0800000000000203732e2dc92f4b2d5248cecf2d482c4a2d5628cf482c5148ca2fc950484a4cce4ecd4b29
        5648cc2b2e4f2d4a4dd1e372a6a16a006522a3fb8a00000003
        """)
    static let bareDeflateThatLooksWrapped = bytes(
        """
        780100feff410300
        """)
    static let zlibOfZlibOfAMebibyteOfZeros = bytes(
        """
        78daabb8f5f6a021230303c3a1055ffd7339e217308c8251300a461cb06366f8c0c0080070f3087f
        """)

    /// Reads hex digits; white space between them does not count.
    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
