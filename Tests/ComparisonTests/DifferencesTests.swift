import Comparison
import Testing

@Suite struct DifferencesTests {
    @Test func pathsNameWhatDiffers() {
        #expect(
            paths(#"{"a":1,"b":{"c":[1,2,{"d":3}]}}"#, #"{"b":{"c":[1,5,{"d":4}]},"a":1.0}"#) == ["/b/c/1", "/b/c/2/d"])
        #expect(paths("1", "2") == [""])
        #expect(paths("1", "[1]") == [""])
        #expect(paths(#"{"a":[1]}"#, #"{"a":{"0":1}}"#) == ["/a"])
        #expect(paths(#"{"a/b":1,"m~n":1,"":1}"#, #"{"a/b":2,"m~n":2,"":2}"#) == ["/a~1b", "/m~0n", "/"])
    }

    @Test func whatOnlyOneSideHasIsNamedWithItsSide() {
        let members = found(#"{"a":1,"b":2}"#, #"{"b":2,"c":3}"#)
        #expect(members.map(\.path) == ["/a", "/c"])
        #expect(members.map(\.kind) == [.onlyInFirst, .onlyInSecond])
        #expect(found("[1,2,3]", "[1]").map(\.path) == ["/1", "/2"])
        #expect(found("[1]", "[1,2]").map(\.kind) == [.onlyInSecond])
        #expect(found(#"{"a":null}"#, "{}").map(\.kind) == [.onlyInFirst])
    }

    @Test func limitBoundsWhatIsReturned() {
        let first = "[\((0..<100).map(String.init).joined(separator: ","))]"
        let second = "[\((1..<101).map(String.init).joined(separator: ","))]"
        #expect(paths(first, second).count == 20)
        #expect(paths(first, second, limit: 3) == ["/0", "/1", "/2"])
        #expect(paths(first, second, limit: 0) == ["/0"])
        #expect(paths(first, "[]", limit: 200).count == 100)
    }

    @Test func valuesAreReturnedOnlyWhenAskedFor() {
        let first = #"{"name":"Ada","n":1, "list":[1, 2]}"#
        let second = #"{"name":"Bob","list":[1, 3],"x":{"y":true}}"#
        for difference in found(first, second) {
            #expect(difference.first == nil && difference.second == nil)
        }
        let shown = found(first, second, includeValues: true)
        #expect(shown.map(\.path) == ["/name", "/n", "/list/1", "/x"])
        #expect(shown.map(\.first) == [#""Ada""#, "1", "2", nil])
        #expect(shown.map(\.second) == [#""Bob""#, nil, "3", #"{"y":true}"#])
    }

    @Test func longValuesAreCutBetweenCharacters() throws {
        let long = "\"" + String(repeating: "é", count: 1000) + "\""
        let shown = try #require(found(long, "1", includeValues: true).first?.first)
        #expect(shown == "\"" + String(repeating: "é", count: 127) + "…")
    }

    @Test func ignoredPlacesAreNotNamedAndIndexesAreTheDocuments() {
        #expect(paths(#"{"t":1,"a":1}"#, #"{"t":2,"a":2}"#, ignore: ["/t"]) == ["/a"])
        #expect(paths("[0,1,2]", "[9,1,3]", ignore: ["/0"]) == ["/2"])
    }

    @Test func unorderedArraysPairWhatHasNoEqual() {
        let unordered = [""]
        #expect(paths("[1,2,3]", "[3,2,1]", unordered: unordered) == [])
        #expect(paths("[1,2,3]", "[3,1]", unordered: unordered) == ["/1"])
        #expect(paths("[1,2]", "[2,1,1]", unordered: unordered) == ["/2"])
        #expect(
            paths(#"[{"id":1,"v":1},{"id":2,"v":2}]"#, #"[{"id":2,"v":3},{"id":1,"v":1}]"#, unordered: unordered)
                == ["/1/v"])
    }

    @Test func bytesDifferAtAnOffset() {
        #expect(paths("not json", "not jsom") == [""])
        #expect(found("not json", "not jsom").map(\.kind) == [.bytes(offset: 7)])
        #expect(found("abc", "abcd").map(\.kind) == [.bytes(offset: 3)])
        #expect(found("same text", "same text").isEmpty)
        #expect(found("{}", "{} x").map(\.kind) == [.bytes(offset: 2)])
        #expect(found("{}", "").map(\.kind) == [.bytes(offset: 0)])
    }

    @Test func lastDuplicateIsTheOneCompared() {
        #expect(paths(#"{"a":1,"a":2}"#, #"{"a":2}"#) == [])
        #expect(found(#"{"a":1,"a":2}"#, #"{"a":3}"#, includeValues: true).map(\.first) == ["2"])
    }
}
