import Routing
import Testing

private func decoded(_ text: String, plusIsSpace: Bool = false) -> [UInt8] {
    withBytes(text) { bytes, count in
        var output = [UInt8](repeating: 0xee, count: count + 1)
        let written = output.withUnsafeMutableBufferPointer {
            PercentCoding.decode(bytes, count, plusIsSpace: plusIsSpace, into: $0.baseAddress!)
        }
        #expect(output[count] == 0xee)
        return Array(output[..<written])
    }
}

@Test func escapesBecomeOctets() {
    #expect(decoded("a%20b%2Fc") == Array("a b/c".utf8))
    #expect(decoded("%C3%a9") == Array("é".utf8))
    #expect(decoded("%00%fF") == [0x00, 0xff])
    #expect(decoded("") == [])
}

@Test(arguments: ["%", "%4", "%zz", "%4g", "100%", "%%", "% 41"])
func brokenEscapesStandForThemselves(text: String) {
    #expect(decoded(text) == Array(text.utf8))
}

@Test func decodingHappensOnce() {
    #expect(decoded("%2541") == Array("%41".utf8))
    #expect(decoded("%%41") == Array("%A".utf8))
}

@Test func aPlusIsASpaceInFormsOnlyAndAnEncodedPlusNever() {
    #expect(decoded("a+b") == Array("a+b".utf8))
    #expect(decoded("a+b%2Bc%2bd", plusIsSpace: true) == Array("a b+c+d".utf8))
}

@Test func decodingInPlaceWorks() {
    var bytes = Array("a%20b%41".utf8)
    let written = bytes.withUnsafeMutableBufferPointer {
        PercentCoding.decode($0.baseAddress!, $0.count, into: $0.baseAddress!)
    }
    #expect(Array(bytes[..<written]) == Array("a bA".utf8))
}

@Test func whatNeedsDecodingIsKnown() {
    #expect(withBytes("a%20") { PercentCoding.isEncoded($0, $1) })
    #expect(!withBytes("a+b") { PercentCoding.isEncoded($0, $1) })
    #expect(withBytes("a+b") { PercentCoding.isEncoded($0, $1, plusIsSpace: true) })
    #expect(!withBytes("") { PercentCoding.isEncoded($0, $1, plusIsSpace: true) })
}

@Test(arguments: [("a%20b", "a b"), ("%C3%A9", "é"), ("100%", "100%"), ("%zz", "%zz"), ("plain", "plain")])
func percentEncodingIsUndone(text: String, decoded: String) {
    #expect(PercentCoding.decoded(text) == decoded)
}

@Test func whatIsNotUnreservedIsEncoded() {
    #expect(PercentCoding.encoded("a/b ü?") == "a%2Fb%20%C3%BC%3F")
    #expect(PercentCoding.encoded("AZaz09-._~") == "AZaz09-._~")
    #expect(PercentCoding.encoded(".") == "%2E" && PercentCoding.encoded("..") == "%2E%2E")
    #expect(PercentCoding.encoded("a.b") == "a.b" && PercentCoding.encoded("...") == "...")
}
