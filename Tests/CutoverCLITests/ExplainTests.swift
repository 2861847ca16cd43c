import HTTPClient
import Testing

@testable import CutoverCLI

struct ExplainTests {
    private func sentence(_ reason: String, side: String) -> String {
        let user = """
            {"user":"42","bucket":617,"percent_needed":6.18,"side":"\(side)","reason":"\(reason)","pin":null,
             "since":"2026-11-30T14:02:00Z"}
            """
        let played = PlayedSurroundings(answers: [
            answer(user), answer(#"{"rollout":{"stage":"early","percent":10.0}}"#),
        ])
        #expect(played.run("explain", "42") == 0)
        return played.output
    }

    @Test func everyReasonIsASentence() {
        #expect(
            sentence("in-percent", side: "new")
                == "user 42: bucket 617 of 10000, stage early (10 %) admits it; served by new since 14:02 UTC\n")
        #expect(
            sentence("outside-percent", side: "legacy")
                == "user 42: bucket 617 of 10000, stage early (10 %) does not admit it (it needs 6.18 %); "
                + "served by legacy since 14:02 UTC\n")
        #expect(sentence("pinned-new", side: "new").contains("pinned to new by an operator"))
        #expect(sentence("behind", side: "legacy").contains("still on their way to new; served by legacy"))
        #expect(sentence("breaker-open", side: "legacy").contains("its breaker is open"))
        #expect(sentence("draining", side: "new").contains("moves to legacy"))
        #expect(sentence("not-backfilled", side: "legacy").contains("not copied to new yet"))
        #expect(sentence("anonymous", side: "legacy").contains("nothing to split by"))
        #expect(sentence("some-later-reason", side: "legacy").contains("(some-later-reason)"))
    }

    @Test func jsonAsksForTheUserOnly() {
        let played = PlayedSurroundings(answers: [answer(#"{"user":"42"}"#)])
        #expect(played.run("explain", "42", "--json") == 0)
        #expect(played.output == "{\"user\":\"42\"}\n")
        #expect(played.requests.count == 1)
    }
}
