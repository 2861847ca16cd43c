import HTTPClient
import Testing

@testable import CutoverCLI

private let rolledBack = answer(
    #"{"before":{"percent":100,"stage":"full"},"after":{"percent":0,"stage":"dual-write"},"warnings":[],"generation":9}"#
)

private func status(
    pending: Int, missing: Int = 0, at: String? = nil, legs: Int = 0, catchingUp: Bool = true
) -> Result<HTTPAnswer, HTTPFailure> {
    let instant = at.map { "\"\($0)\"" } ?? "null"
    return answer(
        """
        {"journal":{"pending":{"legacy":\(pending),"new":7},"missing":{"legacy":\(missing)},
          "caught_up_at":{"legacy":\(instant)},"caught_up_legs":{"legacy":\(legs)},"catching_up":{"legacy":\(catchingUp)}}}
        """)
}

struct RollbackReportTests {
    @Test func itTellsEveryChangeOfTheNumberAndTheEnd() {
        let played = PlayedSurroundings(
            pauses: 9,
            answers: [
                rolledBack, status(pending: 3, missing: 9), status(pending: 3), status(pending: 3), status(pending: 1),
                status(pending: 0, at: "2026-11-30T14:02:05Z", legs: 12, catchingUp: false),
            ])
        #expect(played.run("rollback") == 0)
        #expect(
            played.output == """
                percent 100 → 0, stage full → dual-write
                12 legs to legacy outstanding
                3 legs to legacy outstanding
                1 leg to legacy outstanding
                legacy is caught up at 14:02:05 (12 legs)

                """)
        #expect(played.requests.map(\.method) == ["POST", "GET", "GET", "GET", "GET", "GET"])
    }

    @Test func noWaitLooksOnceAndIsDone() {
        let played = PlayedSurroundings(pauses: 9, answers: [rolledBack, status(pending: 3)])
        #expect(played.run("rollback", "--no-wait") == 0)
        #expect(played.output == "percent 100 → 0, stage full → dual-write\n")
    }

    @Test func forMachinesThereIsOneObject() {
        let played = PlayedSurroundings(
            pauses: 9,
            answers: [
                rolledBack, status(pending: 3),
                status(pending: 0, at: "2026-11-30T14:02:05Z", legs: 3, catchingUp: false),
            ])
        #expect(played.run("rollback", "--json") == 0)
        #expect(played.output.split(separator: "\n").count == 1)
        #expect(
            played.output.hasSuffix(#""generation":9,"caught_up_at":"2026-11-30T14:02:05Z","outstanding":0}"# + "\n"))
    }

    @Test func aGatewayThatIsAwayForAMomentIsWaitedFor() {
        let away = Result<HTTPAnswer, HTTPFailure>.failure(HTTPFailure(kind: .refused, detail: ""))
        let played = PlayedSurroundings(
            pauses: 9, answers: [rolledBack, away, away, status(pending: 0, at: "2026-11-30T14:02:05Z", legs: 1)])
        #expect(played.run("rollback") == 0)
        #expect(played.output.hasSuffix("legacy is caught up at 14:02:05 (1 leg)\n"))
        #expect(played.errors.split(separator: "\n").count == 1)
    }

    @Test func whoeverIsOvertakenIsNotKeptWaiting() {
        let played = PlayedSurroundings(pauses: 9, answers: [rolledBack, status(pending: 3, catchingUp: false)])
        #expect(played.run("rollback") == 0)
        #expect(played.output.hasSuffix("the rollout has gone on; see cutover status\n"))
        // A gateway of an earlier version knows nothing of it.
        let earlier = PlayedSurroundings(pauses: 9, answers: [rolledBack, answer(#"{"journal":{"pending":{}}}"#)])
        #expect(earlier.run("rollback") == 0)
    }

    @Test func onATerminalTheNumberIsRedrawnInPlace() {
        let played = PlayedSurroundings(
            isTerminal: true, pauses: 9,
            answers: [rolledBack, status(pending: 3), status(pending: 0, at: "2026-11-30T14:02:05Z", legs: 3)])
        #expect(played.run("rollback") == 0)
        #expect(played.output.contains("\u{1B}[1A") && played.output.contains("3 legs to legacy outstanding"))
    }
}

private func report(
    _ phase: String, run: Int = 1, automatic: Bool = false, done: Int = 0, _ more: String = ""
) -> Result<HTTPAnswer, HTTPFailure> {
    answer(
        "{\"run\":\(run),\"phase\":\"\(phase)\",\"automatic\":\(automatic),\"total\":40,\"done\":\(done),\"rate\":20.0\(more)}"
    )
}

private let equal =
    #","clean":true,"verification":{"records":3,"equal":3,"different":0,"unverifiable":0,"in_flight":0}"#

struct ReverseSyncTests {
    @Test func itFollowsARunToItsEnd() {
        let played = PlayedSurroundings(
            pauses: 9,
            answers: [
                report("idle", run: 0), report("counting"), report("counting"),
                report("sending", done: 10, ",\"seconds_left\":1.5"), report("verifying", done: 40, equal),
                report("done", done: 40, equal),
            ])
        #expect(played.run("reverse-sync", "--since", "24h", "--include-parked", "--reason", "why") == 0)
        #expect(
            played.output == """
                counting what legacy lacks
                sending 10 of 40 changes (25 %), 20 a second, 1.5 s left
                comparing: 3 records, 3 equal
                40 changes brought to legacy in 2 s
                3 records compared: 3 equal, 0 different, 0 unverifiable

                """)
        let sent = played.requests[1].body.map { String(decoding: $0, as: UTF8.self) }
        #expect(sent == #"{"since":"24h","include_parked":true,"reason":"why"}"#)
    }

    @Test func whatDiffersAndWhatIsParkedEndsWithOne() {
        let found =
            #","clean":false,"parked":2,"parked_seqs":[5,9],"#
            + #""verification":{"records":2,"equal":1,"different":1,"unverifiable":0,"in_flight":4},"#
            + #""differences":[{"seq":7,"target":"/records/a\u001b[0m","paths":["/x","/y"],"legacy":{"status":200},"new":{"status":200}}]"#
        let played = PlayedSurroundings(answers: [
            report("idle", run: 0), report("counting"), report("done", done: 40, found),
        ])
        #expect(played.run("reverse-sync") == 1)
        #expect(played.output.contains("legacy refused 2 changes: 5, 9 (cutover journal --parked)"))
        #expect(played.output.contains("1 different, 0 unverifiable, 4 in flight"))
        #expect(played.output.contains("/x /y") && !played.output.contains("\u{1B}"))
        let machine = PlayedSurroundings(answers: [
            report("idle", run: 0), report("counting"), report("done", done: 40, found),
        ])
        #expect(machine.run("reverse-sync", "--json") == 1)
        #expect(
            machine.output.hasPrefix("{\"run\":1,\"phase\":\"done\"")
                && machine.output.split(separator: "\n").count == 1)
    }

    @Test func oneThatRunsIsFollowedAndItsOwnComparisonComesAfterwards() {
        let own = PlayedSurroundings(
            pauses: 9,
            answers: [report("sending", run: 4), report("sending", run: 4), report("done", run: 4, done: 40, equal)])
        #expect(own.run("reverse-sync") == 0)
        #expect(own.requests.allSatisfy { $0.method == "GET" })
        let automatic = PlayedSurroundings(
            pauses: 9,
            answers: [
                report("sending", run: 4, automatic: true), report("done", run: 4, automatic: true),
                report("counting", run: 5),
                report("done", run: 5, equal),
            ])
        #expect(automatic.run("reverse-sync") == 0)
        #expect(
            automatic.output == """
                a reverse sync is under way
                legacy lacked nothing
                3 records compared: 3 equal, 0 different, 0 unverifiable

                """)
    }

    @Test func aGatewayThatWasStartedAnewIsToldFromTheOneThatWasAsked() {
        let played = PlayedSurroundings(
            pauses: 9, answers: [report("idle", run: 0), report("counting"), report("idle", run: 0)])
        #expect(played.run("reverse-sync") == 1)
        #expect(played.errors.contains("started anew meanwhile; run reverse-sync again, it does the rest"))
    }

    @Test func aRunThatFailedSaysWhy() {
        let failed = report("failed", done: 0, ",\"failure\":\"the journal is closed\"")
        let played = PlayedSurroundings(answers: [report("idle", run: 0), report("counting"), failed])
        #expect(played.run("reverse-sync") == 1)
        #expect(played.errors.contains("did not come to its end: the journal is closed"))
    }

    @Test func aDryRunTellsWhatIsMissing() {
        let missing =
            #"{"dry_run":true,"missing":12345,"complete":true,"older":2,"oldest":"2026-11-29T10:00:00Z","newest":"2026-11-30T14:00:00Z","parked":1}"#
        let played = PlayedSurroundings(answers: [answer(missing)])
        #expect(played.run("reverse-sync", "--dry-run") == 0)
        #expect(
            played.output
                == "legacy lacks 12,345 changes, accepted from 2026-11-29 10:00:00 to 2026-11-30 14:00:00 (UTC), and 2 older; "
                + "1 leg to legacy parked  (dry run: nothing was changed)\n")
        #expect(played.sentBody == #"{"dry_run":true}"#)
    }

    @Test func stopAndResumeSayWhatChanged() {
        let stopped = answer(
            #"{"before":{"legacy_writes":true},"after":{"legacy_writes":false,"legacy_unwritten_since":"x"}}"#)
        let played = PlayedSurroundings(answers: [stopped])
        #expect(played.run("stop-legacy", "--reason", "done") == 0)
        #expect(played.output == "legacy writes yes → no\n")
        #expect(played.requests[0].url.hasSuffix("/api/v1/rollout/stop-legacy"))
        let resumed = PlayedSurroundings(answers: [stopped])
        #expect(resumed.run("resume-legacy", "--force") == 0)
        #expect(resumed.sentBody == #"{"force":true}"#)
    }

    @Test func statusSaysThatLegacyIsNotWritten() {
        let ended =
            #"{"rollout":{"legacy_writes":false,"legacy_unwritten_since":"2026-11-30T14:00:00Z","dual_write":true}}"#
        let played = PlayedSurroundings(answers: [answer(ended)])
        #expect(played.run("status") == 0)
        #expect(played.output.contains("writes   to new only: legacy is not written since 14:00 UTC\n"))
        let kept = PlayedSurroundings(answers: [answer(#"{"rollout":{"keep_ends_at":"2027-02-28T14:00:00Z"}}"#)])
        #expect(kept.run("status") == 0)
        #expect(kept.output.contains("writes   to both backends, legacy until 2027-02-28 14:00 UTC\n"))
        let late = #"{"rollout":{"keep_ends_at":"2026-11-30T14:00:00Z","keep_waits":["gate read_error_rate fails"]}}"#
        let waiting = PlayedSurroundings(answers: [answer(late)])
        #expect(waiting.run("status") == 0)
        #expect(waiting.output.contains("has ended, legacy is still written: gate read_error_rate fails"))
    }
}
