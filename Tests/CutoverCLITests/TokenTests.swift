import HTTPClient
import Testing

@testable import CutoverCLI

struct TokenTests {
    private func authorization(_ played: PlayedSurroundings, _ arguments: String...) -> String? {
        switch arguments.count {
        case 0: _ = played.run("pause")
        case 2: _ = played.run("pause", arguments[0], arguments[1])
        default: _ = played.run("pause", arguments[0], arguments[1], arguments[2], arguments[3])
        }
        return played.requests.first?.headers.first { $0.name == "Authorization" }?.value
    }

    private let files = [
        "./cutover-data/admin.token": "found\n", "/d/admin.token": "named\n", "t": " file \n", "e": "\n",
    ]

    @Test func theFlagWinsOverTheEnvironmentAndThatOverTheDataDirectory() {
        let both = PlayedSurroundings(environment: ["CUTOVER_TOKEN": "variable"], files: files)
        #expect(authorization(both, "--token-file", "t") == "Bearer file")
        #expect(
            authorization(PlayedSurroundings(environment: ["CUTOVER_TOKEN": "variable"], files: files))
                == "Bearer variable")
        #expect(authorization(PlayedSurroundings(environment: ["CUTOVER_DATA": "/d"], files: files)) == "Bearer named")
        #expect(authorization(PlayedSurroundings(files: files), "--data", "/d") == "Bearer named")
        #expect(authorization(PlayedSurroundings(files: files)) == "Bearer found")
    }

    @Test func aTokenThatLiesAroundStaysOnThisMachine() {
        #expect(authorization(PlayedSurroundings(files: files), "--admin", "http://elsewhere:9900") == nil)
        #expect(authorization(PlayedSurroundings(files: files), "--admin", "http://127.0.0.1.evil:1") == nil)
        #expect(authorization(PlayedSurroundings(files: files), "--admin", "http://[::1]:1") == "Bearer found")
        #expect(authorization(PlayedSurroundings(files: files), "--admin", "localhost:1") == "Bearer found")
        #expect(
            authorization(PlayedSurroundings(files: files), "--admin", "http://far:1", "--data", "/d") == "Bearer named"
        )
    }

    @Test func aTokenFileThatHoldsNoneIsAFailure() {
        for file in ["missing", "e"] {
            let played = PlayedSurroundings(files: files)
            #expect(played.run("pause", "--token-file", file) == 1)
            #expect(played.errors.contains(file))
            #expect(played.requests.isEmpty)
        }
        #expect(PlayedSurroundings(environment: ["CUTOVER_TOKEN": "a\r\nX: y"]).run("pause") == 1)
    }

    @Test func theTokenIsNeverPrinted() {
        let problem = #"{"title":"Unauthorized","detail":"a token is needed"}"#
        let played = PlayedSurroundings(
            environment: ["CUTOVER_TOKEN": "s3cret"], answers: [answer(problem, status: 401)])
        #expect(played.run("pause", "--json") == 1)
        #expect(!(played.output + played.errors).contains("s3cret"))
        #expect(played.errors.contains("the token from CUTOVER_TOKEN does not do"))
        #expect(AdminToken("s3cret", source: "x").map { "\($0)" } == "token from x")
    }

    @Test func anOldTokenThatLiesAroundDoesNotSpoilWhatNeedsNone() {
        let (wrong, list) = (
            answer(#"{"detail":"the token is not one of this gateway's"}"#, status: 401), #"{"items":[],"next":null}"#
        )
        let played = PlayedSurroundings(files: files, answers: [wrong, answer(list)])
        #expect(played.run("events") == 0 && played.errors.isEmpty)
        let sent = played.requests.map { $0.headers.contains { $0.name == "Authorization" } }
        #expect(sent == [true, false])
        let many = PlayedSurroundings(files: files, answers: [answer("{}", status: 429), answer(list)])
        #expect(many.run("events", "--data", "/d") == 0)
        // A change needs a token, one that was given is meant, and elsewhere none is read without.
        for arguments in [
            ["pause"], ["events", "--token-file", "t"], ["events", "--admin", "http://far:1", "--data", "/d"],
        ] {
            let refused = PlayedSurroundings(files: files, answers: [wrong, answer(list)])
            #expect(refused.run(arguments: arguments) == 1 && refused.requests.count == 1, "\(arguments)")
            #expect(refused.errors.contains("does not do"), "\(refused.errors)")
        }
    }

    @Test func aMissingTokenSaysWhereWasLooked() {
        let played = PlayedSurroundings(answers: [answer(#"{"detail":"a token is needed"}"#, status: 401)])
        #expect(played.run("pause") == 1)
        #expect(played.errors.contains("cannot read ./cutover-data/admin.token: No such file or directory"))
    }

    @Test(arguments: ["ftp://x", "", "http://", "http://u:p@host", "http://a b", ":9900", "http://h/?x"])
    func whatIsNoAddressIsAUsageError(_ text: String) {
        let played = PlayedSurroundings()
        #expect(played.run("status", "--admin=\(text)") == 2)
        #expect(!played.errors.contains("u:p"))
    }

    @Test func addressesAreUnderstoodWithAndWithoutScheme() {
        #expect(AdminAddress("host:1")?.url == "http://host:1")
        #expect(AdminAddress("HTTPS://host:1/")?.url == "https://host:1")
        #expect(AdminAddress("http://host:1/api/v1/")?.url == "http://host:1")
        #expect(AdminAddress("127.0.0.1:1")?.isLoopback == true)
        #expect(AdminAddress("127.9.9.9")?.isLoopback == true)
        #expect(AdminAddress("10.0.0.1:1")?.isLoopback == false)
    }
}
