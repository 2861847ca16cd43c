import Comparison
import Testing

@Suite struct EqualContentTests {
    @Test(arguments: [
        (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#),
        (#"{"a":{"x":1,"y":2},"b":[]}"#, #"{"b":[],"a":{"y":2,"x":1}}"#),
        ("{}", " {\n\t} \r\n"),
        ("[1,2]", "\t[ 1 ,\r\n 2 ]\n"),
        ("[ ]", "[]"),
        (#"{"a":1}"#, "{          \"a\"         :\n                              1       }"),
        (#""é""#, #""\u00e9""#), (#""é""#, #""\u00E9""#),
        (#""😀""#, #""\ud83d\ude00""#), (#""😀""#, #""\uD83D\uDE00""#),
        (#""a/b""#, #""a\/b""#), (#""a\"b""#, #""a\u0022b""#), (#""\\""#, #""\u005c""#),
        (#""\b\f\n\r\t""#, #""\u0008\u000c\u000a\u000d\u0009""#),
        (#""plain and quite long text""#, #""\u0070lain and quite long text""#),
        (#"{"\u006bey":1}"#, #"{"key":1}"#),
        (#""\ud800""#, #""\uD800""#), (#""\udc00\ud800""#, #""\uDC00\uD800""#),
        (#"{"a":1,"a":2}"#, #"{"a":2}"#),
        (#"{"a":{"large":[1,2,3,4,5,6,7,8,9,{"deep":"value"}]},"b":0,"a":2}"#, #"{"b":0,"a":2}"#),
        (#"{"a":1,"\u0061":2}"#, #"{"a":2}"#),
        (#"{"a":1,"b":1,"a":2,"b":3,"a":4}"#, #"{"a":4,"b":3}"#),
    ])
    func countsAsEqual(_ first: String, _ second: String) {
        #expect(isJSON(first) && isJSON(second))
        #expect(hash(first) == hash(second))
        #expect(paths(first, second) == [])
    }

    @Test(arguments: [
        ("[1,2]", "[2,1]"), ("[1]", "[1,1]"), ("[]", "[null]"), ("[]", "{}"), ("[[]]", "[]"), ("[[],[]]", "[[[]]]"),
        ("[[1],2]", "[1,[2]]"), ("[[1,2]]", "[[1],[2]]"), (#""1""#, "1"), (#""""#, "1"), (#""""#, "0"),
        ("0", "false"), (#"{"a":"a"}"#, #"{"b":"b"}"#), (#""true""#, "true"), (#""null""#, "null"),
        ("null", "false"), ("false", "true"), (#""""#, "null"), (#""""#, "[]"), ("{}", "null"),
        (#"{"a":null}"#, "{}"), (#"{"a":1}"#, #"{"a":"1"}"#), (#"{"a":1}"#, #"{"A":1}"#), (#"{"a":1}"#, #"{"b":1}"#),
        (#"{"a":"b"}"#, #"{"b":"a"}"#), (#"{"a":1,"b":2}"#, #"{"a":2,"b":1}"#), (#"{"":1}"#, "{}"),
        (#"{"a":{"b":1},"c":{}}"#, #"{"a":{},"c":{"b":1}}"#), (#"["a","b"]"#, #"["ab",""]"#),
        (#"["a"]"#, #"{"a":"a"}"#),
        (#"{"a":1,"a":2}"#, #"{"a":1}"#), (#"{"a":2,"a":1}"#, #"{"a":1,"a":2}"#),
        (#""a""#, #""a\u0000""#), (#""""#, #""\u0000""#), (#""a ""#, #""a""#),
        (#""\ud800""#, #""\ud801""#), (#""\ud800""#, #""\ufffd""#), (#""\ud83d\ude00""#, #""\ude00\ud83d""#),
        // The precomposed and the decomposed é are different strings in JSON.
        (#""\u00e9""#, #""e\u0301""#),
        (#""0123456789abcdef""#, #""0123456789abcdeg""#), (#""0123456789abcdef""#, #""0123456789abcdef0""#),
        ("1e6", "1e7"), ("1", "-1"), ("0.1", "0.10000000000000000001"), ("1", "1.0000000000000000000000000001"),
        ("9007199254740993", "9007199254740992"), ("18446744073709551616", "18446744073709551617"),
        ("123456789012345678901234567890", "123456789012345678901234567891"), ("1e400", "1e401"), ("1e-400", "0"),
        ("1e99999999999999999999", "1e99999999999999999998"),
    ])
    func countsAsDifferent(_ first: String, _ second: String) {
        #expect(isJSON(first) && isJSON(second))
        #expect(hash(first) != hash(second))
        #expect(!paths(first, second).isEmpty)
        #expect(hash("[0,\(first),\"x\"]                    ") != hash("[0,\(second),\"x\"]                    "))
    }

    @Test(arguments: [
        ["0", "-0", "0.0", "0e0", "-0.000", "0e99999999999999999999", "0.000000000000000000000000000"],
        ["1", "1.0", "1e0", "1E0", "1e+0", "1e-0", "10e-1", "0.1e1", "0.001e+3", "1.000000000000000000000000000000"],
        ["1e6", "1000000.0", "1000000", "1E+6", "0.1e7", "10000000000000000000000000e-19"],
        ["-12.5", "-12.50", "-125e-1", "-0.125e2"],
        ["9007199254740993", "9007199254740993.0", "9.007199254740993e15"],
        ["123456789012345678901234567890", "1.2345678901234567890123456789e29", "12345678901234567890123456789e1"],
        ["1e400", "10e399", "0.1e401"],
        ["1e1000000000000000000000", "10e999999999999999999999", "0.01e1000000000000000000002"],
        ["1e-1000000000000000000000", "10e-1000000000000000000001", "1e-001000000000000000000000"],
    ])
    func spellingsOfANumberAreEqual(_ spellings: [String]) {
        for spelling in spellings {
            #expect(isJSON(spelling))
            #expect(hash(spelling) == hash(spellings[0]), "\(spelling)")
            // Also in the middle of a document, where eight digits are read at once.
            #expect(hash("[\(spelling),        true]") == hash("[\(spellings[0]),true]"), "\(spelling)")
        }
    }

    @Test func aThousandNumbersOfOneDocumentAreAllDifferent() {
        var seen: Set<ContentHash> = []
        for digits in 0..<500 {
            for exponent in -2...2 {
                guard digits % 10 != 0 else { continue }
                #expect(seen.insert(hash("\(digits)e\(exponent)")).inserted)
                #expect(seen.insert(hash("-\(digits)e\(exponent)")).inserted)
            }
        }
    }

    @Test func lastOfManyDuplicateKeysCounts() {
        for size in [2, 23, 24, 25, 26, 100, 3000] {
            let last = (0..<size).map { #""key\#($0)":\#($0)"# }
            let doubled = (0..<size).map { #""key\#($0)":[\#($0),"first"]"# } + last
            #expect(hash("{\(doubled.joined(separator: ","))}") == hash("{\(last.reversed().joined(separator: ","))}"))
            let other = doubled.dropLast() + [#""key\#(size - 1)":-1"#]
            #expect(hash("{\(other.joined(separator: ","))}") != hash("{\(last.joined(separator: ","))}"))
        }
    }

    @Test func repeatedKeyIsNotHeldAgainstTheSameKeyOfAnotherObject() {
        #expect(hash(#"{"a":{"a":1},"b":{"a":1}}"#) != hash(#"{"a":{"a":1},"b":{}}"#))
        #expect(hash(#"[{"a":1},{"a":1}]"#) != hash(#"[{"a":1},{}]"#))
        #expect(hash(#"{"a":{"b":1},"b":2}"#) != hash(#"{"a":{},"b":2}"#))
    }

    @Test func equalMembersDoNotCancelEachOther() {
        #expect(hash(#"{"a":0,"b":0}"#) != hash(#"{"c":0,"d":0}"#))
        #expect(hash(#"[{"a":1},{"a":1}]"#) != hash(#"[{"a":2},{"a":2}]"#))
        #expect(hash("[1,1]", unordered: [""]) != hash("[2,2]", unordered: [""]))
        #expect(hash("[1,1]", unordered: [""]) != hash("[]", unordered: [""]))
    }

    @Test func jsonAndBytesNeverShareAHash() {
        for text in ["1", "{}", "[]", #""a""#, "null"] {
            #expect(hash(text) != byteHash(text))
        }
        #expect(byteHash("1.0") != byteHash("1"))
    }
}
