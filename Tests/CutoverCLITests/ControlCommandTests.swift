import HTTPClient
import Testing

@testable import CutoverCLI

private let changed = """
    {"seq":9,"before":{"percent":1.0,"stage":"canary","state":"running","generation":3},
     "after":{"percent":10,"stage":"early","state":"running","generation":4},"warnings":["gate write_p95 is warming_up"]}
    """

struct ControlCommandTests {
    @Test func promotePrintsBeforeAndAfterAndWarnings() {
        let played = PlayedSurroundings(environment: ["CUTOVER_TOKEN": "s3cret"], answers: [answer(changed)])
        #expect(played.run("promote", "--to", "early", "--force", "--reason", "quiet") == 0)
        #expect(played.output == "percent 1 → 10, stage canary → early\nwarning: gate write_p95 is warming_up\n")
        #expect(played.requests[0].method == "POST")
        #expect(played.requests[0].url == "http://127.0.0.1:9900/api/v1/rollout/promote")
        #expect(played.sentBody == #"{"to":"early","force":true,"reason":"quiet"}"#)
        #expect(played.requests[0].headers.contains { $0 == (name: "Authorization", value: "Bearer s3cret") })
        #expect(!played.requests[0].headers.contains { $0.name == "If-Match" })
    }

    @Test func aDryRunSaysThatNothingChanged() {
        let played = PlayedSurroundings(answers: [answer(changed)])
        #expect(played.run("rollback", "--dry-run", "--if-generation", "3") == 0)
        #expect(played.output.hasSuffix("warning: gate write_p95 is warming_up\ndry run: nothing was changed\n"))
        #expect(played.sentBody == #"{"dry_run":true}"#)
        #expect(played.requests[0].headers.contains { $0 == (name: "If-Match", value: "\"3\"") })
    }

    @Test(arguments: [
        ["pause"], ["resume"], ["set-percent", "5"], ["stop-legacy"], ["resume-legacy"], ["promote"],
        ["rollback", "--to", "early"],
    ])
    func everyStepCanBeTriedFirst(_ arguments: [String]) {
        let played = PlayedSurroundings(answers: [answer(changed)])
        #expect(played.run(arguments: arguments + ["--dry-run", "--reason", "why not"]) == 0)
        #expect(played.sentBody?.contains(#""dry_run":true,"reason":"why not"}"#) == true)
        #expect(played.output.hasPrefix("percent 1 → 10, stage canary → early\n"))
        #expect(played.output.hasSuffix("dry run: nothing was changed\n"))
    }

    @Test func aPinCanBeTriedFirst() {
        let body = #"{"before":{"pin":"new"},"after":{"pin":null},"warnings":[]}"#
        let played = PlayedSurroundings(answers: [answer(body), answer(body)])
        #expect(played.run("unpin", "42", "--dry-run") == 0)
        #expect(played.sentBody == #"{"dry_run":true}"#, "also where a body is unusual")
        #expect(played.output == "user 42: pin new → none\ndry run: nothing was changed\n")
        #expect(played.run("pin", "42", "new", "--dry-run") == 0)
        #expect(played.sentBody == #"{"side":"new","dry_run":true}"#)
    }

    @Test func theReasonIsPrintedAsItWasRecorded() {
        let body = """
            {"before":{"percent":1,"state_reason":null},"after":{"percent":0,"state_reason":"by admin: x"},
             "warnings":["w"],"reason":"support\\u001b calls"}
            """
        let played = PlayedSurroundings(answers: [answer(body)])
        #expect(played.run("promote") == 0)
        #expect(played.output == "percent 1 → 0\nreason: support\\u{1b} calls\nwarning: w\n")
    }

    @Test func nothingChangedIsSaidAsWell() {
        let same = #"{"before":{"percent":10,"stage":"early"},"after":{"percent":10.0,"stage":"early"}}"#
        let played = PlayedSurroundings(answers: [answer(same)])
        #expect(played.run("set-percent", "10") == 0)
        #expect(played.output == "unchanged: percent 10, stage early\n")
    }

    @Test(arguments: [("10", "10"), ("12.5", "12.5"), ("0.01", "0.01"), ("100%", "100"), ("0", "0"), ("6.180", "6.18")])
    func aPercentIsSentAsItIs(_ written: String, _ sent: String) {
        let played = PlayedSurroundings(answers: [answer(changed)])
        #expect(played.run("set-percent", written) == 0)
        #expect(played.sentBody == "{\"percent\":\(sent)}")
    }

    @Test(arguments: ["101", "-5", "1.234", "ten", "", "1e1", "100.01", ".5", "5.", "+5", "١"])
    func whatIsNoPercentIsNotSent(_ written: String) {
        let played = PlayedSurroundings()
        #expect(played.run("set-percent", written) == 2)
        #expect(played.requests.isEmpty)
    }

    @Test func aUserIdIsEncodedInThePath() {
        let played = PlayedSurroundings(answers: [answer(#"{"before":{"pin":null},"after":{"pin":"new"}}"#)])
        #expect(played.run("pin", "a/b ü?", "new") == 0)
        #expect(played.requests[0].url.hasSuffix("/api/v1/users/a%2Fb%20%C3%BC%3F/pin"))
        #expect(played.requests[0].method == "PUT")
        #expect(played.output == "user a/b ü?: pin none → new\n")
    }

    @Test func unpinDeletesWithoutABody() {
        let played = PlayedSurroundings(answers: [answer(#"{"before":{"pin":"new"},"after":{"pin":null}}"#)])
        #expect(played.run("unpin", "42") == 0)
        #expect(played.requests[0].method == "DELETE")
        #expect(played.requests[0].body == nil)
        #expect(played.output == "user 42: pin new → none\n")
    }

    @Test func pinKnowsTwoBackendsOnly() {
        let played = PlayedSurroundings()
        #expect(played.run("pin", "42", "nwe") == 2)
        #expect(played.errors.contains("accepted: legacy, new; did you mean new?"))
        #expect(PlayedSurroundings().run("unpin", " ") == 2)
    }

    @Test func aRefusalNamesItsReasons() {
        let problem = """
            {"title":"Conflict","status":409,"detail":"a gate says fail","reasons":["fallback_rate is 20 %, over 0.5 %"]}
            """
        let played = PlayedSurroundings(answers: [answer(problem, status: 409)])
        #expect(played.run("promote") == 1)
        #expect(played.errors == "cutover promote: refused: fallback_rate is 20 %, over 0.5 %\n")
        #expect(played.output == "", "nothing that could be taken for a result")
        let machine = PlayedSurroundings(answers: [answer(problem, status: 409)])
        #expect(machine.run("promote", "--json") == 1)
        #expect(machine.output == problem + "\n")
    }

    @Test(arguments: [
        (["promote"], "gate write_p95 fails", "--force goes on all the same, `cutover rollback` goes back"),
        (["promote", "--force"], "gate write_p95 fails", "refused: gate write_p95 fails\n"),
        (["promote"], "the way back is behind: a leg", "mend that first; `cutover status` shows legacy"),
        (["promote"], "there is no plan to promote along", "`cutover set-percent N` does"),
        (["promote"], "stage full is the last one of the plan", "the last one of the plan\n"),
        (["promote", "--dry-run"], "gate write_p95 fails", "goes back (dry run: nothing was changed)\n"),
        (["resume"], "the rollout is rolled back: promote it to start again", "`cutover promote` does"),
        (["resume"], "the rollout is rolled back: set a percent to start again", "`cutover set-percent N` does"),
        (["journal", "replay", "7"], "change 7 has no parked leg", "`cutover journal --parked` lists"),
        (["resume-legacy"], "legacy lacks 5,000 changes", "`cutover reverse-sync` brings it there"),
    ])
    func aRefusalSaysWhatHelps(_ arguments: [String], _ reason: String, _ help: String) {
        let played = PlayedSurroundings(answers: [answer(#"{"status":409,"reasons":["\#(reason)"]}"#, status: 409)])
        #expect(played.run(arguments: arguments) == 1)
        #expect(played.errors.contains("refused: \(reason)") && played.errors.contains(help), "\(played.errors)")
    }

    @Test func anOldGenerationIsExplained() {
        let played = PlayedSurroundings(answers: [answer(#"{"title":"Precondition Failed"}"#, status: 412)])
        #expect(played.run("pause", "--if-generation", "7") == 1)
        #expect(played.errors.contains("no longer at generation 7; look at `cutover status`"))
    }

    @Test func aGatewayThatIsAwayIsExplained() {
        let played = PlayedSurroundings()
        #expect(played.run("status", "--admin", "http://gateway:9900/") == 1)
        #expect(played.errors.contains("no gateway answers at http://gateway:9900; is it running?"))
        let machine = PlayedSurroundings()
        #expect(machine.run("status", "--json") == 1)
        #expect(machine.output.hasPrefix(#"{"title":"failed","detail":"no gateway answers at"#))
    }

    @Test func anAnswerOfSomethingElseIsExplained() {
        let page = PlayedSurroundings(answers: [answer("<html>", status: 404)])
        #expect(page.run("status") == 1)
        #expect(page.errors.contains("answered 404, but not as Cutover's admin API does"))
        let list = PlayedSurroundings(answers: [answer("[]")])
        #expect(list.run("events") == 1)
        #expect(list.errors.contains("does not understand"))
    }

    @Test func replayNeedsItsChanges() {
        let played = PlayedSurroundings(answers: [answer(#"{"replayed":2}"#)])
        #expect(played.run("journal", "replay", "17", "18") == 0)
        #expect(played.sentBody == #"{"seqs":[17,18]}"#)
        #expect(played.output == "parked → pending: 2 changes are sent again\n")
        let all = PlayedSurroundings(answers: [answer(#"{"replayed":0}"#)])
        #expect(all.run("journal", "replay", "--all-parked") == 0)
        #expect(all.sentBody == #"{"all_parked":true}"#)
        #expect(all.output == "nothing was parked\n")
        #expect(PlayedSurroundings().run("journal", "replay") == 2)
        #expect(PlayedSurroundings().run("journal", "replay", "7", "--all-parked") == 2)
        #expect(PlayedSurroundings().run("journal", "replay", "x") == 2)
    }

    @Test func whatIsNotReplayedIsNamed() {
        let text = #"""
            {"replayed":1,"seqs":[8],"held":[{"seq":7,"side":"new","behind":9,"reason":"change 7 is older than change 9"}]}
            """#
        let played = PlayedSurroundings(answers: [answer(text)])
        #expect(played.run("journal", "replay", "--all-parked") == 1)
        #expect(
            played.output == "parked → pending: 1 change is sent again\nstays parked: change 7 is older than change 9\n"
        )
        #expect(played.errors.contains("1 leg stays parked") && played.errors.contains("`cutover journal settle SEQ"))
        let json = PlayedSurroundings(answers: [answer(text)])
        #expect(json.run("journal", "replay", "7", "8", "--json") == 1 && json.output == text + "\n")
        let forced = PlayedSurroundings(answers: [answer(#"{"replayed":1,"held":[]}"#)])
        #expect(forced.run("journal", "replay", "7", "--force", "--reason", "r") == 0)
        #expect(forced.sentBody == #"{"seqs":[7],"force":true,"reason":"r"}"#)
        let dry = PlayedSurroundings(answers: [answer(#"{"replayed":2,"held":[],"dry_run":true}"#)])
        #expect(dry.run("journal", "replay", "--all-parked", "--dry-run") == 0)
        #expect(dry.output == "parked → pending: 2 changes would be sent again\n")
    }

    @Test func settlingNeedsItsChangesAndAReason() {
        let played = PlayedSurroundings(answers: [answer(#"{"settled":2,"seqs":[7,8]}"#)])
        #expect(played.run("journal", "settle", "7", "8", "--reason", "written again") == 0)
        #expect(played.requests.first?.url.hasSuffix("/api/v1/journal/settle") == true)
        #expect(played.sentBody == #"{"seqs":[7,8],"reason":"written again"}"#)
        #expect(played.output == "parked → superseded: 2 changes\n")
        for arguments in [["--reason", "r"], ["7"], ["7", "--reason", " "], ["x", "--reason", "r"]] {
            let refused = PlayedSurroundings()
            #expect(refused.run(arguments: ["journal", "settle"] + arguments) == 2 && refused.requests.isEmpty)
        }
    }
}
