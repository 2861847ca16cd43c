import TestSupport
import Testing

@testable import SyncModel

struct MergingTests {
    private func highlight(_ revision: Int64, _ payload: String?) -> SyncChange {
        change("h", revision, payload, type: .highlight)
    }

    private func progress(_ revision: Int64, _ value: String, _ at: String?, key: String? = nil) -> SyncChange {
        let at = at.map { ",\"progressAt\":\"\($0)\"" } ?? ""
        return change("p", revision, "{\"progress\":\(value)\(at)}", type: .progress, key: key)
    }

    @Test func aHighlightKeepsTheFieldsThatAChangeDoesNotCarry() {
        var state = SyncState()
        state.put(highlight(1, #"{"text":"to be","color":"red"}"#))
        state.put(highlight(4, #"{"color":"blue","note":"act 3"}"#))
        #expect(state["h"]?.payload == #"{"text":"to be","color":"blue","note":"act 3"}"#)
        #expect(state["h"]?.fieldRevisions == #"{"text":1,"color":4,"note":4}"#)
        state.put(highlight(6, #"{"text":"or not"}"#))
        #expect(state["h"]?.fieldRevisions == #"{"text":6,"color":4,"note":4}"#)
    }

    @Test func nullTakesAFieldOut() {
        var state = SyncState()
        state.put(highlight(1, #"{"text":"a","color":null}"#))
        #expect(state["h"]?.payload == #"{"text":"a"}"#)
        state.put(highlight(2, #"{"text":null,"note":"n"}"#))
        #expect(state["h"]?.payload == #"{"note":"n"}"# && state["h"]?.fieldRevisions == #"{"note":2}"#)
    }

    @Test func aHighlightThatWasDeletedComesBackWithoutItsOldFields() {
        var state = SyncState()
        state.put(highlight(1, #"{"text":"a","color":"red"}"#))
        state.put(highlight(2, nil))
        state.put(highlight(3, #"{"text":"b"}"#))
        #expect(state["h"]?.payload == #"{"text":"b"}"# && state["h"]?.fieldRevisions == "")
    }

    @Test func theLaterProgressWinsWhateverTheOrderOfTheRevisions() {
        let early = progress(5, "0.2", "2026-01-01T00:00:00Z")
        let late = progress(3, "0.9", "2026-06-01T00:00:00Z")
        for order in [[early, late], [late, early]] {
            var state = SyncState()
            #expect(order.map { state.put($0) } == [.applied, .applied])
            #expect(state["p"]?.revision == 5)
            #expect(state["p"]?.payload == #"{"progress":0.9,"progressAt":"2026-06-01T00:00:00Z"}"#)
        }
    }

    @Test func anEarlierProgressOfALowerRevisionIsStale() {
        var state = SyncState()
        state.put(progress(5, "0.5", "2026-06-01T00:00:00Z"))
        #expect(state.put(progress(4, "0.1", "2026-05-01T00:00:00Z")) == .stale)
        #expect(state.put(progress(5, "0.7", "2026-07-01T00:00:00Z", key: "other")) == .stale)
    }

    @Test func progressFromTheFutureCountsAsNow() {
        var state = SyncState()
        let moment: Int64 = 1_780_000_000_000
        let fast = progress(1, "0.4", "2099-01-01T00:00:00Z")
        #expect(state.put(fast, now: moment) == .applied)
        #expect(state["p"]?.progressAt == moment)
        #expect(state["p"]?.payload == #"{"progress":0.4,"progressAt":"2026-05-28T20:26:40.000Z"}"#)
        // A minute later somebody with a right clock has read on.
        #expect(state.put(progress(2, "0.6", "2026-05-28T20:27:40Z"), now: moment + 60_000) == .applied)
        #expect(state["p"]?.payload.hasPrefix(#"{"progress":0.6"#) == true)
        // The same once more is a retry, though it was not kept as it was sent.
        #expect(state.put(fast, now: moment + 90_000) == .retry)
    }

    @Test func progressWithoutATimeYieldsToAnyThatHasOne() {
        var state = SyncState()
        state.put(progress(1, "0.3", "2020-01-01T00:00:00Z"))
        #expect(state.put(progress(2, "0.1", nil)) == .applied)
        #expect(state["p"]?.payload.hasPrefix(#"{"progress":0.3"#) == true && state["p"]?.revision == 2)
    }

    /// Every order in which changes of distinct times arrive ends with the same progress and revision.
    @Test func progressEndsTheSameInEveryOrder() {
        var generator = SeededGenerator(seed: 7)
        let changes = (1...6).map { number in
            progress(Int64(number), "0.\(number)", "2026-0\((number * 5) % 7 + 1)-01T00:00:00Z")
        }
        var ends: Set<String> = []
        for _ in 0..<200 {
            var state = SyncState()
            for change in changes.shuffled(using: &generator) { state.put(change) }
            ends.insert("\(state["p"]?.revision ?? 0) \(state["p"]?.payload ?? "")")
        }
        #expect(ends.count == 1)
    }
}
