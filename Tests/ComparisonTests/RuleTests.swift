import Comparison
import Testing

@Suite struct RuleTests {
    @Test func ignoredMemberDoesNotCount() {
        let first = #"{"serverTime":"2024-01-01","a":1}"#
        #expect(hash(first, ignore: ["/serverTime"]) == hash(#"{"a":1,"serverTime":17}"#, ignore: ["/serverTime"]))
        #expect(hash(first, ignore: ["/serverTime"]) != hash(#"{"a":2,"serverTime":17}"#, ignore: ["/serverTime"]))
        #expect(hash(first) != hash(#"{"a":1,"serverTime":17}"#))
    }

    @Test func ignoredPointerThatOnlyOneSideHasIsEqual() {
        #expect(hash(#"{"t":1,"a":1}"#, ignore: ["/t"]) == hash(#"{"a":1}"#, ignore: ["/t"]))
        #expect(hash(#"{"t":1}"#, ignore: ["/t"]) == hash("{}", ignore: ["/t"]))
        #expect(hash(#"{"t":1}"#, ignore: ["/t"]) == hash("{}"))
        #expect(paths(#"{"t":1,"a":1}"#, #"{"a":1}"#, ignore: ["/t"]) == [])
    }

    @Test func starMatchesAnyMemberAndAnyElement() {
        let ignore = ["/items/*/at"]
        #expect(
            hash(#"{"items":[{"id":1,"at":5},{"id":2,"at":6}]}"#, ignore: ignore)
                == hash(#"{"items":[{"id":1},{"at":0,"id":2}]}"#, ignore: ignore))
        #expect(
            hash(#"{"items":{"x":{"at":1},"y":{"at":2}}}"#, ignore: ignore)
                == hash(#"{"items":{"y":{},"x":{}}}"#, ignore: ignore))
        #expect(hash(#"{"items":[{"id":1}]}"#, ignore: ignore) != hash(#"{"items":[{"id":2}]}"#, ignore: ignore))
        #expect(hash(#"{"at":1}"#, ignore: ignore) != hash(#"{"at":2}"#, ignore: ignore))
        #expect(hash(#"{"items":[[{"at":1}]]}"#, ignore: ignore) != hash(#"{"items":[[{"at":2}]]}"#, ignore: ignore))
        #expect(hash(#"{"a":1,"b":2}"#, ignore: ["/*"]) == hash("{}"))
        #expect(hash(#"[{"a":[1,{"b":2}]}]"#, ignore: ["/*/*/*/*"]) == hash(#"[{"a":[1,{}]}]"#))
    }

    @Test func elementsAreIgnoredByIndexAndSkipped() {
        #expect(hash("[1,2,3]", ignore: ["/1"]) == hash("[1,9,3]", ignore: ["/1"]))
        #expect(hash("[1,2,3]", ignore: ["/1"]) == hash("[1,3]"))
        #expect(hash("[1,2,3]", ignore: ["/01"]) == hash("[1,2,3]"))
        #expect(hash("[1,2,3]", ignore: ["/-"]) == hash("[1,2,3]"))
        let long = (0..<120).map(String.init)
        var other = long
        other[110] = "true"
        #expect(
            hash("[\(long.joined(separator: ","))]", ignore: ["/110"])
                == hash("[\(other.joined(separator: ","))]", ignore: ["/110"]))
        #expect(
            hash("[\(long.joined(separator: ","))]", ignore: ["/11"])
                != hash("[\(other.joined(separator: ","))]", ignore: ["/11"]))
        #expect(hash(#"{"1":2}"#, ignore: ["/1"]) == hash("{}"))
    }

    @Test func pointerTokensAreUnescapedAndCompareWithTheKeysValue() {
        #expect(hash(#"{"a/b":1}"#, ignore: ["/a~1b"]) == hash("{}"))
        #expect(hash(#"{"a~b":1}"#, ignore: ["/a~0b"]) == hash("{}"))
        #expect(hash(#"{"\u0061":1}"#, ignore: ["/a"]) == hash("{}"))
        #expect(hash(#"{"é":1}"#, ignore: ["/é"]) == hash("{}"))
        #expect(hash(#"{"\u00e9":1}"#, ignore: ["/é"]) == hash("{}"))
        #expect(hash(#"{"":1}"#, ignore: ["/"]) == hash("{}"))
        #expect(hash(#"{"":{"":1}}"#, ignore: ["//"]) == hash(#"{"":{}}"#))
    }

    @Test func wholeDocumentIgnoredMakesAllJSONEqual() {
        #expect(hash("1", ignore: [""]) == hash(#"{"a":2}"#, ignore: [""]))
        #expect(hash("1", ignore: [""]) != hash("not json", ignore: [""]))
        #expect(paths("1", "[]", ignore: [""]) == [])
    }

    @Test func ignoredValueMustStillBeJSON() {
        #expect(hash(#"{"t":bad}"#, ignore: ["/t"]) == byteHash(#"{"t":bad}"#))
    }

    @Test func ignoredKeyThatOccursTwiceIsIgnoredTwice() {
        #expect(hash(#"{"t":1,"a":1,"t":2}"#, ignore: ["/t"]) == hash(#"{"a":1}"#))
    }

    @Test func unorderedArrayIsAMultiset() {
        let unordered = ["/items"]
        #expect(hash(#"{"items":[1,2,3]}"#, unordered: unordered) == hash(#"{"items":[3,1,2]}"#, unordered: unordered))
        #expect(hash(#"{"items":[1,1,2]}"#, unordered: unordered) != hash(#"{"items":[1,2,2]}"#, unordered: unordered))
        #expect(hash(#"{"items":[1,2]}"#, unordered: unordered) != hash(#"{"items":[1,2,2]}"#, unordered: unordered))
        #expect(hash(#"{"items":[[1,2]]}"#, unordered: unordered) != hash(#"{"items":[[2,1]]}"#, unordered: unordered))
        #expect(hash(#"{"other":[1,2]}"#, unordered: unordered) != hash(#"{"other":[2,1]}"#, unordered: unordered))
        #expect(hash("[1,2]", unordered: [""]) == hash("[2,1]", unordered: [""]))
        #expect(hash("[[1,2],[3,4]]", unordered: ["/*"]) == hash("[[2,1],[4,3]]", unordered: ["/*"]))
        #expect(hash("[[1,2],[3,4]]", unordered: ["/*"]) != hash("[[3,4],[1,2]]", unordered: ["/*"]))
        #expect(hash("[[1,2],[3,4]]", unordered: ["", "/*"]) == hash("[[4,3],[1,2]]", unordered: ["", "/*"]))
        #expect(hash(#"{"items":[]}"#, unordered: unordered) != hash(#"{"items":{}}"#, unordered: unordered))
    }

    @Test func unorderedElementsLoseTheirIgnoredMembersFirst() {
        #expect(
            hash(#"[{"id":1,"at":7},{"id":2,"at":8}]"#, ignore: ["/*/at"], unordered: [""])
                == hash(#"[{"id":2},{"id":1,"at":9}]"#, ignore: ["/*/at"], unordered: [""]))
    }

    @Test func manyRulesWork() {
        let ignore = (0..<200).map { "/k\($0)" }
        let members = (0..<200).map { #""k\#($0)":\#($0)"# }.joined(separator: ",")
        #expect(hash("{\(members),\"kept\":1}", ignore: ignore) == hash(#"{"kept":1}"#))
    }

    @Test func rulesOfOneCallDoNotReachTheNext() {
        let hasher = ContentHasher()
        let body = Array(#"{"a":[1,2],"b":[{"c":1}]}"#.utf8)
        let plain = hasher.hash(body, isJSON: true)
        let ruled = hasher.hash(body, isJSON: true, rules: rules(ignore: ["/b/0/c", "/a"]))
        _ = hasher.hash(Array("{\"a\":[1,".utf8), isJSON: true, rules: rules(ignore: ["/a/0/c", "/*/*/*"]))
        #expect(plain != ruled)
        #expect(hasher.hash(body, isJSON: true) == plain)
        #expect(hasher.hash(body, isJSON: true, rules: rules(ignore: ["/b/0/c", "/a"])) == ruled)
    }
}
