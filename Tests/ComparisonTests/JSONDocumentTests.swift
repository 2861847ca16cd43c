import Comparison
import Testing

@Suite struct JSONDocumentTests {
    /// Opens a document for the time of `body`.
    private func open<Result>(_ text: String, _ body: (JSONDocument) throws -> Result) throws -> Result {
        try Array(text.utf8).withUnsafeBufferPointer { bytes in
            let document = try #require(JSONDocument(bytes: bytes))
            return try body(document)
        }
    }

    private func text(_ document: String, _ pointer: String) throws -> String? {
        let pattern = try #require(PointerPattern(pointer))
        return try open(document) { opened in
            let found = opened.value(at: pattern)
            return found.map { String(decoding: Array(document.utf8)[$0.range], as: UTF8.self) }
        }
    }

    @Test func pointersFindTheValuesOfRFC6901() throws {
        let document = #"""
            { "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7,
              "m~n": 8 }
            """#
        #expect(try text(document, "") == document.trimmingSpaces())
        #expect(try text(document, "/foo") == #"["bar", "baz"]"#)
        #expect(try text(document, "/foo/0") == #""bar""#)
        #expect(try text(document, "/") == "0")
        #expect(try text(document, "/a~1b") == "1")
        #expect(try text(document, "/c%d") == "2")
        #expect(try text(document, "/e^f") == "3")
        #expect(try text(document, "/g|h") == "4")
        #expect(try text(document, #"/i\j"#) == "5")
        #expect(try text(document, #"/k"l"#) == "6")
        #expect(try text(document, "/ ") == "7")
        #expect(try text(document, "/m~0n") == "8")
    }

    @Test func whatIsNotThereIsNil() throws {
        let document = #"{"a":{"b":[10,20]},"n":null,"s":"x"}"#
        for pointer in [
            "/x", "/a/x", "/a/b/2", "/a/b/-", "/a/b/01", "/a/b/-1", "/a/b/", "/a/b/0/0", "/n/x", "/s/0", "/*", "/a/*",
        ] {
            #expect(try text(document, pointer) == nil, "\(pointer)")
        }
        #expect(try text(document, "/n") == "null")
        #expect(try text(document, "/a/b/99999999999999999999") == nil)
    }

    @Test func lastOfADuplicateKeyCounts() throws {
        #expect(try text(#"{"a":1,"b":2,"a":3}"#, "/a") == "3")
        #expect(try text(#"{"a":1,"\u0061":3}"#, "/a") == "3")
        #expect(try text(#"{"a":{"x":1},"a":{"y":2}}"#, "/a/x") == nil)
        #expect(try text(#"{"é":1}"#, "/é") == "1")
        #expect(try text(#"{"\u00e9":1}"#, "/é") == "1")
    }

    @Test func pointersMayBeRelativeToAnElement() throws {
        try open(#" {"changes": [ {"recordId":"r1","revision":3}, {"recordId":"r2"} ] }"#) { document in
            let pointer = try #require(PointerPattern("/changes"))
            let changes = try #require(document.value(at: pointer))
            let elements = document.elements(of: changes)
            #expect(elements.map(\.kind) == [.object, .object])
            let record = try #require(PointerPattern("/recordId"))
            #expect(elements.map { document.value(at: record, within: $0).flatMap(document.string) } == ["r1", "r2"])
            let revision = try #require(PointerPattern("/revision"))
            #expect(elements.map { document.value(at: revision, within: $0).flatMap(document.integer) } == [3, nil])
            #expect(document.elements(of: elements[0]).isEmpty)
        }
    }

    @Test(
        arguments: [
            ("8", 8), ("8.0", 8), ("80e-1", 8), ("8e0", 8), ("0", 0), ("-0", 0), ("-8", -8), ("1e3", 1000),
            ("9223372036854775807", .max), ("-9223372036854775808", .min), ("9223372036854775807.000", .max),
            ("0.00000000000000000000000000001e29", 1), ("1000000000000000000", 1_000_000_000_000_000_000),
            ("9223372036854775808", nil), ("-9223372036854775809", nil), ("1e19", nil), ("18446744073709551616", nil),
            ("8.5", nil), ("1e-1", nil), (#""8""#, nil), ("true", nil), ("null", nil), ("[8]", nil),
            ("1e999999999999999", nil),
        ] as [(String, Int64?)])
    func integersAreNumbersWithoutAFraction(_ text: String, _ expected: Int64?) throws {
        try open(text) { #expect($0.integer(of: $0.root) == expected) }
    }

    @Test(
        arguments: [
            (#""abc""#, "abc"), (#""""#, ""), (#""a\u00e9\n\"\ud83d\ude00""#, "aé\n\"😀"), ("42", "42"), ("42.0", "42"),
            ("-7", "-7"), ("4.2e1", "42"), ("0", "0"), ("9007199254740993", "9007199254740993"),
            ("123456789012345678901234567890", "123456789012345678901234567890"), ("1e5", "100000"),
            ("4.5", nil), ("1e41", nil), ("1e99999999999999999999999", nil), ("true", nil), ("null", nil), ("[]", nil),
            (#""\ud800""#, nil), (#""a\udfffb""#, nil), (#""\ud7ff""#, "\u{D7FF}"),
        ] as [(String, String?)])
    func identifiersAreStringsOrIntegers(_ text: String, _ expected: String?) throws {
        try open(text) { document in
            #expect(document.identifier(of: document.root) == expected)
            #expect(document.identifierBytes(of: document.root) == expected.map { Array($0.utf8) })
            if document.root.kind == .string {
                #expect(document.string(of: document.root) == expected)
            } else {
                #expect(document.string(of: document.root) == nil)
            }
        }
    }

    @Test func kindsAreNamed() throws {
        try open(#"[null,true,false,-1.5e3,"s",[],{}]"#) { document in
            #expect(
                document.elements(of: document.root).map(\.kind)
                    == [.null, .bool, .bool, .number, .string, .array, .object])
        }
    }

    @Test func whatIsNotOneWholeDocumentIsRefused() {
        for text in ["", "{", "{}x", #"{"a":1,}"#, "nul", String(repeating: "[", count: 100_000)] {
            #expect(Array(text.utf8).withUnsafeBufferPointer { JSONDocument(bytes: $0) == nil })
        }
    }
}

extension String {
    fileprivate func trimmingSpaces() -> String {
        String(drop { $0 == " " || $0 == "\n" })
    }
}
