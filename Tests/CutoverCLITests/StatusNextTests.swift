import Testing

@testable import CutoverCLI

/// A gateway in the middle of a night.
private let busy = """
    {"rollout":{"plan":"my-migration","stage":"canary","percent":1.0,"shadow_percent":100.0,"dual_write":true,
      "state":"rolled_back","since":"2026-11-30T12:30:00Z","generation":12,
      "state_reason":"gate read_error_rate fails: 3.1 % of 412 reads of new failed, limit 0.5 %, and 2.9 points above legacy"},
     "metrics":{"read_error_rate":{"value":0.031,"samples":412,"threshold":0.005,"over_legacy":0.002,"verdict":"fail",
        "by_backend":{"legacy":{"value":0.001,"samples":40000},"new":{"value":0.031,"samples":412}},
        "client":{"value":0.0001,"samples":40412}},
      "write_p95_seconds":{"value":0.042,"threshold":0.3,"over_legacy":1.5,"samples":310,"verdict":"insufficient",
        "by_backend":{"legacy":{"value":0.04,"samples":9000},"new":{"value":0.042,"samples":310}}},
      "conflict_rate":{"value":0.0004,"samples":9310,"threshold":0.01,"verdict":"pass",
        "by_source":{"gateway":0,"legacy":1,"new":3}},
      "fallback_rate":{"value":0.03,"threshold":0.005,"samples":722,"verdict":"fail",
        "by_reason":{"connect":0,"timeout":2,"5xx":19,"404":1},"by_kind":{"read":20,"write":2}}},
     "gates":[{"name":"read_error_rate","verdict":"fail","reason":"3.1 % of 412"},
      {"name":"write_p95","threshold":0.3,"verdict":"insufficient","reason":"310 samples"},
      {"name":"conflict_rate","verdict":"pass"},{"name":"fallback_rate","verdict":"fail","reason":"3 % of 722"},
      {"name":"mismatch_rate","threshold":0.001,"value":0.0,"samples":5000,"verdict":"pass"},
      {"name":"journal_lag","threshold":30,"value":1.4,"samples":1,"verdict":"pass"}],
     "next":{"stage":"early","percent":10,"mode":"automatic","hold_seconds":7200,"held_seconds":1320,"idle_seconds":600,
      "waiting_seconds":0,"ready":false,"blocked_by":["the rollout is rolled back: promote it to start again",
      "gate read_error_rate fails: 3.1 % of 412 reads of new failed, limit 0.5 %",
      "gate fallback_rate fails: 3 % of 722 requests of users on new, limit 0.5 %","gate write_p95 has too few samples",
      "held for 22 min of 2 h"]},
     "window_seconds":300,"covered_seconds":120,
     "shadow":{"compared":12345,"matched":12340,"mismatched":5,"transient":2,"dropped":0},
     "journal":{"pending":{"legacy":0,"new":3},"oldest_pending_seconds":{"legacy":0,"new":1.43},"parked":0},
     "alerts":{"receiver":"https://hooks.slack.com","format":"slack","waiting":2,"raised":[]},
     "backends":{"legacy":{"healthy":true},"new":{"healthy":false}}}
    """

private func output(_ json: String) -> String {
    let played = PlayedSurroundings(answers: [answer(json)])
    #expect(played.run("status") == 0)
    return played.output
}

private func next(_ members: String) -> String {
    output("{\"next\":{\"stage\":\"early\",\"percent\":10,\(members)}}").split(separator: "\n")
        .first { $0.hasPrefix("next ") }.map(String.init) ?? ""
}

struct StatusNextTests {
    @Test func aBadNightIsShownWithWhyAndWhatHoldsTheNextStep() {
        #expect(
            output(busy) == """
                Cutover http://127.0.0.1:9900  rolled back  generation 12

                stage    canary of plan my-migration, since 12:30 UTC (2 h)
                why      gate read_error_rate fails: 3.1 % of 412 reads of new failed, limit
                         0.5 %, and 2.9 points above legacy
                percent  █░░░░░░░░░░░░░░░░░░░ 1 % of users on new
                writes   to both backends
                shadow   100 % of users: 12,345 compared, 5 mismatched, 2 transient
                next     early (10 %), by `cutover promote`
                         waits: the rollout is rolled back: promote it to start again
                         waits: gate read_error_rate fails: 3.1 % of 412 reads of new failed,
                         limit 0.5 %
                         waits: gate fallback_rate fails: 3 % of 722 requests of users on new,
                         limit 0.5 %
                         and 2 more
                alerts   2 wait for https://hooks.slack.com

                metric            value  legacy    new           gate  samples  verdict
                read error rate   3.1 %   0.1 %  3.1 %  0.5 %, +0.2 %      412  fail
                client errors    0.01 %       –      –              –   40,412  –
                write p95         42 ms   40 ms  42 ms   300 ms, 1.5×      310  insufficient
                conflict rate    0.04 %       –      –            1 %    9,310  pass
                fallback rate       3 %       –      –          0.5 %      722  fail
                mismatch rate       0 %       –      –          0.1 %    5,000  pass
                journal lag       1.4 s       –      –           30 s        –  pass
                since 2 min only, of a window of 5 min
                conflicts: 3 by new, 1 by legacy; fallbacks: 19 for 5xx, 2 for timeout, 1 for 404

                backend  health  writes pending  oldest
                legacy   up                   0       –
                new      down                 3   1.4 s

                """)
    }

    @Test func twentyFourLinesHoldWhatAPersonDecidesBy() {
        let played = PlayedSurroundings(isTerminal: true, rows: 24, pauses: 1, answers: [answer(busy), answer(busy)])
        #expect(played.run("status", "--watch") == 0)
        // Drawn over: 23 lines, the last one for the cursor.
        #expect(played.output.contains("\u{1B}[23A"))
        let frame = played.output.split(separator: "\u{1B}[J")[0].split(separator: "\n")
        #expect(frame.count == 23)
        for essential in [
            "rolled back", "stage    canary", "why ", "1 % of users", "next ", "read error rate", "fallback",
            "backend  health  writes pending", "legacy   up", "new      down                 3",
        ] {
            #expect(frame.contains { $0.contains(essential) }, "\(essential)")
        }
        #expect(!frame.contains { $0.isEmpty || $0 == "\u{1B}[K" }, "white space goes first")
        #expect(frame.last?.contains("lines more: cutover status") == true)
    }

    @Test func aHighTerminalShowsAll() {
        let played = PlayedSurroundings(isTerminal: true, rows: 60, answers: [answer(busy)])
        #expect(played.run("status", "--watch") == 0)
        #expect(!played.output.contains("lines more"))
    }

    @Test func whatHoldsTheNextStepIsInWords() {
        #expect(
            next(#""mode":"manual","hold_seconds":7200,"held_seconds":9000,"waiting_seconds":600,"ready":true"#)
                == "next     ready for 10 min: early (10 %), by `cutover promote`; held 2 h of 2 h")
        #expect(
            next(#""mode":"automatic","hold_seconds":0,"ready":false"#) == "next     early (10 %), by itself")
        #expect(
            next(#""mode":"manual","hold_seconds":60,"held_seconds":5,"idle_seconds":30,"ready":false"#)
                == "next     early (10 %), by `cutover promote`; held 5 s of 1 min")
    }

    @Test func whoMakesTheNextStepIsSaidOfTheStateAsItIs() {
        func line(_ state: String) -> String {
            let text = output(
                """
                {"rollout":{"state":"\(state)","percent":10},"next":{"stage":"half","percent":50,"mode":"automatic",
                 "hold_seconds":60,"held_seconds":5,"ready":false,"blocked_by":["the rollout is \(state)",
                 "gate write_p95 cannot say yet: 0 of 40"]}}
                """)
            return text.split(separator: "\n").filter { $0.hasPrefix("next ") || $0.contains("waits: gate") }
                .joined(separator: "|")
        }
        let gate = "|         waits: gate write_p95 cannot say yet: 0 of 40"
        #expect(line("running") == "next     half (50 %), by itself; held 5 s of 1 min" + gate)
        #expect(line("paused") == "next     half (50 %), not by itself while paused; held 5 s of 1 min" + gate)
        // Nothing waits for that gate: somebody has to begin anew.
        #expect(line("rolled_back") == "next     half (50 %), by `cutover promote`")
    }

    @Test func aPauseIsToldWithItsOwnTimeAndNotThatOfItsStage() {
        let json = """
            {"rollout":{"plan":"p","stage":"full","percent":100,"state":"paused","since":"2026-11-28T22:10:00Z",
             "state_since":"2026-11-30T03:00:00Z","state_reason":"by admin@127.0.0.1: parked legs"}}
            """
        let text = output(json)
        #expect(text.contains("stage    full of plan p, since 2026-11-28 22:10 UTC (40 h)\n"))
        #expect(text.contains("why      at 03:00 UTC: by admin@127.0.0.1: parked legs\n"))
        let silent = output(json.replacing(#""state_reason":"by admin@127.0.0.1: parked legs""#, with: #""x":1"#))
        #expect(silent.contains("since    03:00 UTC\n"))
    }

    @Test func whatHoldsTheEndOfLegacyIsSaid() {
        let text = output(#"{"rollout":{"state":"complete","keep_waits":["gate write_p95 fails: 412 ms"]}}"#)
        #expect(text.contains("keep     has ended, legacy is still written: gate write_p95 fails: 412 ms\n"))
    }

    @Test func shadowReadsThatNewFailedAreCounted() {
        let text = output(
            #"{"rollout":{"shadow_percent":100},"shadow":{"compared":76,"mismatched":0,"errors":2100,"dropped":0}}"#)
        #expect(text.contains("shadow   100 % of users: 76 compared, 0 mismatched, 2,100 failed on new\n"))
    }

    @Test func aGateThatFailsIsSaidAlsoWhereThereIsNoNextStep() {
        let text = output(#"{"gates":[{"name":"write_p95","verdict":"fail","reason":"412 ms"}],"next":null}"#)
        #expect(text.contains("gate     write_p95 fails: 412 ms\n"))
    }

    @Test func anOlderGatewaysStatusHasNoneOfIt() {
        let text = output(#"{"rollout":{"percent":0,"state":"running"},"metrics":{"read_error_rate":{"value":0.1}}}"#)
        for word in ["next", "why", "client errors", "alerts", "since"] { #expect(!text.contains(word), "\(word)") }
    }

    @Test func whatAGatewaySaysCannotMoveTheCursor() {
        let text = output(
            """
            {"rollout":{"state_reason":"a\\u001b[2Jb\\nc"},"next":{"stage":"s\\u001bx","blocked_by":["b\\u009bx"]},
             "gates":[{"name":"g\\u001b","verdict":"fail"}],"alerts":{"receiver":"r\\u001b","waiting":1},
             "metrics":{"fallback_rate":{"by_reason":{"x\\u001b":1}}}}
            """)
        #expect(!text.contains("\u{1B}") && !text.contains("\u{9B}"))
    }

    @Test func sentencesAreBrokenBetweenWords() {
        #expect(wrapped("a bb ccc", width: 4, lines: 3) == ["a bb", "ccc"])
        #expect(wrapped("a bb ccc dddd", width: 4, lines: 2) == ["a bb", "cc …"])
        #expect(wrapped("abcdefgh i", width: 4, lines: 2) == ["abcdefgh", "i"])
        #expect(wrapped("a 5 %, b", width: 4, lines: 3) == ["a", "5 %,", "b"])
        #expect(wrapped("", width: 4, lines: 2) == [""])
    }
}
