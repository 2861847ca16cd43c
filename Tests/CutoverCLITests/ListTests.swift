import HTTPClient
import Testing

@testable import CutoverCLI

struct ListTests {
    @Test func theJournalShowsBothLegs() {
        let json = """
            {"items":[{"seq":17,"at":"2026-11-30T14:02:03.120Z","user":"42","record":"note\\u001b[31m","revision":3,
              "method":"POST","target":"/changes","legs":{"legacy":{"state":"applied","attempts":1,"last_status":200},
              "new":{"state":"parked","attempts":3,"last_status":422,"next_attempt_at":null}}},
              {"seq":9,"legs":{}}],"next":"c9"}
            """
        let played = PlayedSurroundings(answers: [answer(json)])
        #expect(played.run("journal", "--parked", "--limit", "2") == 0)
        #expect(played.requests[0].url.hasSuffix("/api/v1/journal?parked=true&limit=2"))
        #expect(
            played.output == """
                seq  at (UTC)             user  record          revision  legacy   new                        request
                 17  2026-11-30 14:02:03  42    note\\u{1b}[31m         3  applied  parked, 3 tries, last 422  POST /changes
                  9  –                    –     –                      –  –        –                          – –

                """)
        #expect(played.errors == "There are more: --cursor c9\n")
    }

    @Test func anEmptyListSaysSo() {
        for (command, said) in [
            ("journal", "the journal is empty\n"), ("events", "no events\n"), ("mismatches", "no mismatches\n"),
        ] {
            let played = PlayedSurroundings(answers: [answer(#"{"items":[],"next":null}"#)])
            #expect(played.run(command) == 0)
            #expect(played.output == said)
        }
    }

    @Test func eventsSayWhatChanged() {
        let json = """
            {"items":[{"seq":8,"at":"2026-11-30T14:02:03Z","actor":"admin","action":"promote","reason":"quiet",
              "before":{"percent":1.0,"stage":"canary"},"after":{"percent":10,"stage":"early"}},
              {"seq":7,"action":"pin","before":null,"after":"new"}]}
            """
        let played = PlayedSurroundings(answers: [answer(json)])
        #expect(played.run("events", "--cursor", "a b") == 0)
        #expect(played.requests[0].url.hasSuffix("events?limit=50&cursor=a%20b"))
        #expect(
            played.output == """
                seq  at (UTC)             who    action   change                                why
                  8  2026-11-30 14:02:03  admin  promote  percent 1 → 10, stage canary → early  quiet
                  7  –                    –      pin      none → new

                """)
    }

    @Test func theFirstStateIsSaidInAFewWords() {
        let json = """
            {"items":[{"seq":1,"actor":"gateway","action":"start","reason":"first start","before":null,
              "after":{"dual_write":true,"generation":1,"percent":0,"plan":"m","shadow_percent":0,
              "since":"2026-11-30T14:02:03Z","stage":"dual-write","state":"running"}},
              {"seq":3,"action":"start","before":null,"after":{"percent":0,"stage":null,"state":"running"}},
              {"seq":2,"action":"x","before":{"shadow_percent":0,"generation":1},
              "after":{"shadow_percent":100,"generation":2}}]}
            """
        let played = PlayedSurroundings(answers: [answer(json)])
        #expect(played.run("events") == 0)
        #expect(
            played.output == """
                seq  at (UTC)  who      action  change                                      why
                  1  –         gateway  start   percent 0, stage dual-write, state running  first start
                  3  –         –        start   percent 0, state running
                  2  –         –        x       shadow percent 0 → 100

                """)
    }

    @Test func allEventsArePrintedTheOldestFirst() {
        let lines = #"{"seq":7,"action":"pin","before":null,"after":"new"}"# + "\n" + #"{"seq":8,"action":"x"}"# + "\n"
        let played = PlayedSurroundings(answers: [answer(lines), answer(lines), answer("")])
        #expect(played.run("events", "--all") == 0)
        #expect(played.requests[0].url.hasSuffix("/api/v1/events?format=ndjson"))
        let shown = played.output.split(separator: "\n").map { $0.split(separator: " ").first }
        #expect(shown == ["seq", "7", "8"])
        #expect(played.run("events", "--all", "--json") == 0)
        #expect(played.output.hasSuffix("\n" + lines))
        #expect(played.run("events", "--all") == 0 && played.output.hasSuffix("no events\n"))
        for flag in ["--limit", "--cursor"] { #expect(PlayedSurroundings().run("events", "--all", flag, "5") == 2) }
    }

    private func mismatch(_ target: String) -> String {
        #"{"at":"2026-11-30T14:02:03Z","kind":"body","method":"GET","target":"\#(target)","paths":["/a","/b","/c","/d"],"#
            + #""legacy":{"status":200,"hash":"6f1ed002ff"},"new":{"status":200,"hash":"9a2c41b7ff"}}"#
    }

    @Test func followingPrintsNewMismatchesOnceAndTheOldestFirst() {
        let first = "{\"items\":[\(mismatch("/2")),\(mismatch("/1"))]}"
        let second = "{\"items\":[\(mismatch("/3")),\(mismatch("/2"))]}"
        let away = Result<HTTPAnswer, HTTPFailure>.failure(HTTPFailure(kind: .refused, detail: ""))
        let played = PlayedSurroundings(pauses: 3, answers: [answer(first), away, away, answer(second)])
        #expect(played.run("mismatches", "--follow") == 0)
        let lines = played.output.split(separator: "\n")
        #expect(
            lines.map { $0.split(separator: " ").first { $0.hasPrefix("/") && $0.count == 2 && $0 != "/" } } == [
                "/1", "/2", "/3",
            ])
        #expect(
            lines[0] == "2026-11-30 14:02:03  body      200 6f1ed002 / 200 9a2c41b7  GET /1  /a, /b, /c and 1 more")
        #expect(played.errors.split(separator: "\n").count == 1)
    }

    @Test func limitsAreChecked() {
        for limit in ["0", "x", "1001"] { #expect(PlayedSurroundings().run("events", "--limit", limit) == 2) }
    }
}
