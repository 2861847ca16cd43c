import HTTPClient
import Testing

@testable import CutoverCLI

struct LocalCommandTests {
    @Test func bucketPrintsOneObjectAUser() {
        let played = PlayedSurroundings()
        #expect(played.run("bucket", "42", "a\"b", "--salt", "my-migration", "--json") == 0)
        let lines = played.output.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines[0] == "{\"user\":\"42\",\"algorithm\":\"murmur3\",\"bucket\":2728,\"percent_needed\":27.29}")
        #expect(lines[1].hasPrefix("{\"user\":\"a\\\"b\",\"algorithm\":\"murmur3\",\"bucket\":"))
    }

    @Test func bucketPrintsWhatItsExampleSays() throws {
        let played = PlayedSurroundings()
        #expect(played.run("bucket", "42", "anna", "--salt", "my-migration") == 0)
        let example = try #require(allCommands.first { $0.name == "bucket" }).example
        #expect(played.output == example.split(separator: "\n").dropFirst().joined(separator: "\n") + "\n")
    }

    @Test func bucketTakesTheSaltCutoverWhenNothingIsSaid() {
        let silent = PlayedSurroundings()
        let explicit = PlayedSurroundings()
        #expect(silent.run("bucket", "42") == 0)
        #expect(explicit.run("bucket", "42", "--salt=cutover", "--algorithm", "murmur3") == 0)
        #expect(silent.output == explicit.output)
    }

    @Test func bucketRefusesUnknownAlgorithmsAndAnonymousIds() {
        let unknown = PlayedSurroundings()
        #expect(unknown.run("bucket", "42", "--algorithm", "murmur") == 2)
        #expect(unknown.errors.contains("did you mean murmur3?"))
        let blank = PlayedSurroundings()
        #expect(blank.run("bucket", " ") == 2)
        #expect(blank.errors.contains("anonymous"))
        #expect(PlayedSurroundings().run("bucket") == 2)
    }

    @Test func hashIsEqualForEqualJSONAndPrintsLikeASum() {
        let played = PlayedSurroundings(files: ["a": #"{"x":1,"y":[2]}"#, "b": #" {"y":[2.0], "x":1e0} "#, "c": "text"])
        #expect(played.run("hash", "a", "b", "c") == 0)
        let lines = played.output.split(separator: "\n").map { $0.split(separator: " ") }
        #expect(lines.count == 3)
        #expect(lines[0][0] == lines[1][0])
        #expect(lines[0][0] != lines[2][0])
        #expect(lines.allSatisfy { $0[0].count == 32 })
        #expect(lines.map { $0[1] } == ["a", "b", "c"])
    }

    @Test func hashByBytesTellsTheSameJSONApart() {
        let played = PlayedSurroundings(files: ["a": "{}", "b": "{ }"])
        #expect(played.run("hash", "--bytes", "--json", "a", "b") == 0)
        let lines = played.output.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines[0].dropFirst(11) != lines[1].dropFirst(11))
        #expect(lines.allSatisfy { $0.hasSuffix(",\"as\":\"bytes\"}") })
    }

    @Test func hashGoesOnAfterAFileThatIsNotThere() {
        let played = PlayedSurroundings(files: ["b": "x"])
        #expect(played.run("hash", "a", "b") == 1)
        #expect(played.errors == "cutover hash: cannot read a: No such file or directory\n")
        #expect(played.output.hasSuffix("  b\n"))
    }

    @Test func compareIsSilentAboutWhatDoesNotCount() {
        let played = PlayedSurroundings(files: ["a": #"{"t":1,"x":1}"#, "b": #"{"x":1.0,"t":2}"#])
        #expect(played.run("compare", "a", "b", "--ignore", "/t") == 0)
        #expect(played.output.hasPrefix("equal  "))
    }

    @Test func comparePrintsThePathsThatDiffer() {
        let files = ["a": #"{"a":[1,{"x/y":2}],"q":1}"#, "b": #"{"a":[1,{"x/y":3}],"z":1}"#]
        let played = PlayedSurroundings(files: files)
        #expect(played.run("compare", "a", "b") == 1)
        #expect(
            played.output == """
                /a/1/x~1y  changed
                /q         only in a
                /z         only in b

                """)
        let values = PlayedSurroundings(files: files)
        #expect(values.run("compare", "a", "b", "--values", "--limit", "1") == 1)
        #expect(values.output == "/a/1/x~1y  2 → 3\nand more: --limit N shows them\n")
        let machine = PlayedSurroundings(files: files)
        #expect(machine.run("compare", "a", "b", "--json") == 1)
        #expect(
            machine.output.contains(
                #""paths":["/a/1/x~1y","/q","/z"],"differences":[{"path":"/a/1/x~1y","kind":"changed"}"#))
        #expect(machine.output.contains(#"{"path":"/q","kind":"only-in-first"}"#))
    }

    @Test func compareTakesTheGatewaysRules() {
        let files = ["a": #"{"t":1,"l":[1,2]}"#, "b": #"{"t":2,"l":[2,1]}"#]
        #expect(PlayedSurroundings(files: files).run("compare", "a", "b", "--ignore=/t", "--unordered=/l") == 0)
        #expect(PlayedSurroundings(files: files).run("compare", "a", "b", "--unordered=/l") == 1)
    }

    @Test func compareExitsOneWhenBytesDiffer() {
        let played = PlayedSurroundings(files: ["a": "one", "b": "two"])
        #expect(played.run("compare", "a", "b") == 1)
        #expect(played.output.contains("(whole body)  differs from byte 0 on"))
        let json = PlayedSurroundings(files: ["a": "one", "b": "two"])
        #expect(json.run("compare", "a", "b", "--json") == 1)
        #expect(json.output.hasPrefix(#"{"equal":false,"first":{"name":"a","hash":""#))
    }

    @Test func compareOfURLsCountsStatusAndContentType() {
        let played = PlayedSurroundings(answers: [
            answer("{}", headers: [("Content-Type", "application/json")]),
            answer("{ }", status: 404, headers: [("content-type", "application/problem+json")]),
        ])
        #expect(played.run("compare", "http://a/x", "HTTP://b/x", "--header", "X-User-Id: 42") == 1)
        #expect(
            played.output == """
                status        200 → 404
                content-type  application/json → application/problem+json

                """)
        #expect(
            played.requests.allSatisfy { request in
                request.headers.contains { $0 == (name: "X-User-Id", value: "42") }
                    && request.headers.contains { $0 == (name: "Accept-Encoding", value: "gzip, deflate, br") }
            })
    }

    @Test func compareSaysWhatCannotBeFetchedOrDecoded() {
        let away = PlayedSurroundings(files: ["b": "{}"])
        #expect(away.run("compare", "http://a/", "b") == 1)
        #expect(away.errors == "cutover compare: cannot fetch http://a/: Couldn't connect to server\n")
        let garbled = PlayedSurroundings(
            files: ["b": "{}"], answers: [answer("not zipped", headers: [("Content-Encoding", "gzip")])])
        #expect(garbled.run("compare", "http://a/", "b") == 1)
        #expect(garbled.errors.contains("cannot be decoded: Content-Encoding gzip"))
    }

    @Test func compareRefusesWhatIsNoPointerAndNoHeader() {
        let pointer = PlayedSurroundings(files: ["a": "", "b": ""])
        #expect(pointer.run("compare", "a", "b", "--ignore", "x") == 2)
        #expect(pointer.errors.contains("is no JSON pointer"))
        #expect(PlayedSurroundings().run("compare", "http://a", "b", "--header", "x\r\ny: z") == 2)
        #expect(PlayedSurroundings().run("compare", "http://a", "b", "--header", ": z") == 2)
        #expect(PlayedSurroundings().run("compare", "a") == 2)
    }
}
