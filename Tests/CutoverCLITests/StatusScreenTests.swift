import Testing

@testable import CutoverCLI

/// Right after a gate has rolled back; new's breaker is open.
private func rolledBack(since: String = "2026-11-30T14:59:50Z") -> String {
    """
    {"rollout":{"plan":"my-migration","stage":"dual-write","percent":0,"shadow_percent":0,"dual_write":true,
      "state":"rolled_back","since":"\(since)","state_since":"\(since)","generation":12,
      "state_reason":"gate read_error_rate fails: 7.55 % of 503 reads of new, limit 0.5 %, and some more words besides"},
     "metrics":{"read_error_rate":{"value":0.112,"samples":240,"threshold":0.005,"verdict":"warming_up","backend":"legacy",
        "by_backend":{"legacy":{"value":0,"samples":598},"new":{"value":0.112,"samples":240}},
        "client":{"value":0,"samples":840}},
      "write_p95_seconds":{"value":0.042,"threshold":0.3,"samples":310,"verdict":"warming_up","backend":"legacy",
        "by_backend":{"legacy":{"value":0.042,"samples":310},"new":{"value":0.05,"samples":31}}},
      "conflict_rate":{"value":0,"samples":341,"threshold":0.01,"verdict":"pass","by_source":{"new":1}},
      "fallback_rate":{"value":0.0797,"threshold":0.005,"samples":301,"verdict":"insufficient","by_reason":{"5xx":24}}},
     "gates":[{"name":"read_error_rate","verdict":"warming_up"},{"name":"journal_lag","threshold":30,"verdict":"pass"},
      {"name":"mismatch_rate","threshold":0.001,"verdict":"pass"}],
     "next":{"stage":"shadow","percent":0,"mode":"automatic","hold_seconds":60,"ready":false,
      "blocked_by":["the rollout is rolled back: promote it to start again","gate read_error_rate cannot say yet: 0"]},
     "window_seconds":15,"covered_seconds":15,
     "shadow":{"compared":12345,"mismatched":0},
     "journal":{"pending":{"legacy":0,"new":31},"oldest_pending_seconds":{"legacy":0,"new":9},"parked":2},
     "backends":{"legacy":{"healthy":true},"new":{"healthy":false}}}
    """
}

private func lines(_ json: String, columns: Int? = nil, hasColour: Bool = false) -> [String] {
    let played = PlayedSurroundings(hasColour: hasColour, columns: columns, answers: [answer(json)])
    #expect(played.run("status") == 0)
    return played.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
}

struct StatusScreenTests {
    @Test(arguments: [24, 20, 16])
    func theBackendsAreNeverCut(_ rows: Int) {
        let played = PlayedSurroundings(
            isTerminal: true, rows: rows, columns: 80, answers: [answer(rolledBack())])
        #expect(played.run("status", "--watch") == 0)
        let frame = played.output.split(separator: "\u{1B}[J")[0].split(separator: "\n")
        #expect(frame.count <= rows - 1)
        #expect(frame.contains { $0.contains("legacy   up                   0       –") }, "\(frame)")
        #expect(frame.contains { $0.contains("new      down                31     9 s") }, "\(frame)")
        #expect(frame[0].contains("rolled back") && frame.contains { $0.contains("why      at 14:59 UTC: gate") })
        #expect(!frame.contains { $0.contains("░") || $0.contains("shadow   0 %") }, "what is 0 goes first")
    }

    @Test func aGatewayThatIsAwayIsSaidUnderWhatFits() {
        let played = PlayedSurroundings(
            isTerminal: true, rows: 24, columns: 80, pauses: 1, answers: [answer(rolledBack())])
        #expect(played.run("status", "--watch") == 0)
        let frame = played.output.split(separator: "\u{1B}[J")[1].split(separator: "\n")
        #expect(frame.count <= 24)
        #expect(frame.contains { $0.contains("new      down") } && frame.contains { $0.contains("no gateway answers") })
    }

    @Test(arguments: [40, 50, 60, 72, 79])
    func noLineIsWiderThanTheTerminal(_ columns: Int) {
        let shown = lines(rolledBack(), columns: columns)
        for line in shown { #expect(line.count <= columns, "\(line)") }
        let text = shown.joined(separator: "\n")
        for essential in ["rolled back", "shadow (0 %)", "read error rate", "warming up", "down", "503 reads"] {
            #expect(text.contains(essential), "\(essential)")
        }
    }

    @Test func aWideTerminalDoesNotStretchSentences() {
        #expect(lines(rolledBack(), columns: 200) == lines(rolledBack()))
    }

    @Test func afterARollbackTheFiguresOfNewAreThoseFromBefore() {
        let words = "new's figures are of before the rollback at 14:59 UTC: nobody is on new"
        #expect(lines(rolledBack()).contains(words))
        let dim = "\u{1B}[2m11.2 %\u{1B}[0m"
        #expect(lines(rolledBack(), hasColour: true).contains { $0.contains("  \(dim)") && $0.contains("read error") })
        // Once the window has passed, what new shows is of users who are pinned to it.
        let later = lines(rolledBack(since: "2026-11-30T14:59:44Z"), hasColour: true)
        #expect(!later.contains(words) && !later.contains { $0.contains(dim) })
    }

    @Test func whileTheGateLooksAtLegacyNewIsSaidToo() {
        func canary(_ backend: String) -> String {
            """
            {"rollout":{"percent":5,"state":"running"},"metrics":{"read_error_rate":{"value":0,"samples":1240,
             "threshold":0.005,"verdict":"warming_up","backend":"\(backend)",
             "by_backend":{"legacy":{"value":0,"samples":1240},"new":{"value":0.5,"samples":10}}}}}
            """
        }
        let words = "read error rate of new: 50 % of 10 reads so far; the value is legacy's"
        #expect(lines(canary("legacy")).contains(words))
        #expect(!lines(canary("new")).contains(words))
    }

    @Test func directionsOfWritingCannotBeTurned() {
        #expect(printable("a\u{202E}b\u{2066}c\u{200B}d\u{2028}") == #"a\u{202e}b\u{2066}c\u{200b}d\u{2028}"#)
        #expect(printable("Grüße, 日本 – “ok” 👍") == "Grüße, 日本 – “ok” 👍")
    }
}
