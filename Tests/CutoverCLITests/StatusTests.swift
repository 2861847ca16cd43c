import HTTPClient
import Testing

@testable import CutoverCLI

private let status = """
    {"rollout":{"plan":"my-migration","stage":"canary","percent":1.0,"shadow_percent":100.0,"dual_write":true,
      "state":"running","since":"2026-11-30T12:30:00Z","generation":12},
     "metrics":{"read_error_rate":{"value":0.0002,"samples":1234,"threshold":0.005,"verdict":"pass"},
      "write_p95_seconds":{"value":0.042,"threshold":0.3,"samples":310,"verdict":"warming_up"},
      "conflict_rate":{},"fallback_rate":{"value":0.2,"threshold":0.005,"samples":400,"verdict":"fail"}},
     "shadow":{"compared":12345,"matched":12340,"mismatched":5,"transient":0,"dropped":0},
     "journal":{"pending":{"legacy":0,"new":3},"oldest_pending_seconds":{"legacy":0,"new":1.43},"parked":1},
     "backends":{"legacy":{"healthy":true},"new":{"healthy":false}},"later":"more"}
    """

struct StatusTests {
    @Test func theDashboardIsAligned() {
        let played = PlayedSurroundings(answers: [answer(status)])
        #expect(played.run("status") == 0)
        #expect(
            played.output == """
                Cutover http://127.0.0.1:9900  running  generation 12

                stage    canary of plan my-migration, since 12:30 UTC (2 h)
                percent  █░░░░░░░░░░░░░░░░░░░ 1 % of users on new
                writes   to both backends
                shadow   100 % of users: 12,345 compared, 5 mismatched
                journal  1 parked leg waits for you: cutover journal --parked

                metric            value    gate  samples  verdict
                read error rate  0.02 %   0.5 %    1,234  pass
                write p95         42 ms  300 ms      310  warming up
                conflict rate         –       –        –  –
                fallback rate      20 %   0.5 %      400  fail

                backend  health  writes pending  oldest
                legacy   up                   0       –
                new      down                 3   1.4 s

                """)
    }

    @Test func aBackendThatCatchesUpSaysHowLongItTakes() {
        let json = """
            {"journal":{"pending":{"legacy":12000,"new":7},"catch_up":{"legacy":{"rate":1499.6,"seconds":480},
             "new":{"rate":0,"seconds":null}}}}
            """
        let played = PlayedSurroundings(answers: [answer(json)])
        #expect(played.run("status") == 0)
        #expect(played.output.contains("legacy catches up: 1,500 writes a second, done in about 8 min\n"))
        #expect(played.output.contains("new catches up: 0 writes a second, not becoming fewer\n"))
    }

    @Test func bothBackendsAreShownWhereTheGatewayTellsThem() {
        let json = """
            {"metrics":{"read_error_rate":{"value":0.01,"by_backend":{"legacy":{"value":0.01,"samples":9},"new":null}},
             "write_p95_seconds":{"by_backend":{"legacy":0.5}},"mismatch_rate":{"value":0.000001}}}
            """
        let played = PlayedSurroundings(answers: [answer(json)])
        #expect(played.run("status") == 0)
        #expect(played.output.contains("metric             value  legacy  new  gate  samples  verdict\n"))
        #expect(played.output.contains("read error rate      1 %     1 %    –     –        –  –\n"))
        #expect(played.output.contains("write p95              –  500 ms    –     –        –  –\n"))
        #expect(played.output.contains("mismatch rate    <0.01 %       –    –     –        –  –\n"))
    }

    @Test func withoutAPlanThereIsNoStageAndNoVerdict() {
        let json = """
            {"rollout":{"percent":0,"state":"running","since":"2026-11-30T15:00:00Z"},
             "metrics":{"read_error_rate":{"value":0,"samples":3,"verdict":"warming_up"}}}
            """
        let played = PlayedSurroundings(answers: [answer(json)])
        #expect(played.run("status") == 0)
        #expect(played.output.contains("stage    none (there is no plan), since 15:00 UTC\n"))
        #expect(played.output.contains("read error rate    0 %     –        3  –\n"))
    }

    @Test func jsonIsTheAPIsOwn() {
        let played = PlayedSurroundings(answers: [answer(status)])
        #expect(played.run("status", "--json") == 0)
        #expect(played.output == status + "\n")
    }

    @Test func colourIsForTerminalsOnly() {
        let plain = PlayedSurroundings(answers: [answer(status)])
        let coloured = PlayedSurroundings(hasColour: true, answers: [answer(status)])
        #expect(plain.run("status") == 0)
        #expect(coloured.run("status") == 0)
        #expect(!plain.output.contains("\u{1B}"))
        #expect(coloured.output.contains("\u{1B}[31mfail\u{1B}[0m"))
        #expect(coloured.output.contains("\u{1B}[32mpass\u{1B}[0m"))
    }

    @Test func watchingRedrawsInPlaceOnATerminal() {
        let played = PlayedSurroundings(isTerminal: true, pauses: 2, answers: [answer(status), answer(status)])
        #expect(played.run("status", "--watch") == 0)
        // The third answer does not come: the last state stays, with the reason under it.
        #expect(played.requests.count == 3)
        #expect(played.output.components(of: "\u{1B}[17A") == 2)
        #expect(played.output.contains("15:00:00 UTC: no gateway answers"))
    }

    @Test func watchingPrintsOneAfterTheOtherElsewhere() {
        let played = PlayedSurroundings(pauses: 1, answers: [answer(status), answer(status)])
        #expect(played.run("status", "--watch", "--interval", "1") == 0)
        #expect(!played.output.contains("\u{1B}"))
        #expect(played.output.components(of: "generation 12") == 2)
    }

    @Test func watchingAGatewayThatWasNeverThereFails() {
        let played = PlayedSurroundings(pauses: 5)
        #expect(played.run("status", "--watch") == 1)
        #expect(played.requests.count == 1)
        #expect(PlayedSurroundings().run("status", "--watch", "--interval", "0") == 2)
    }
}

extension String {
    /// How often a text occurs.
    fileprivate func components(of part: String) -> Int { ranges(of: part).count }
}
