import Testing

@testable import SyncModel

struct RevisionTests {
    @Test func onlyAHigherRevisionIsAccepted() {
        var state = SyncState()
        #expect(state.put(change("r", 3, #"{"a":1}"#)) == .applied)
        #expect(state.put(change("r", 2, #"{"a":2}"#)) == .stale)
        #expect(state.put(change("r", 3, #"{"a":3}"#, key: "other")) == .stale)
        #expect(state.put(change("r", 7, #"{"a":4}"#)) == .applied)
        #expect(state["r"]?.revision == 7 && state["r"]?.payload == #"{"a":4}"#)
        #expect(state.accepted.map(\.change.revision) == [3, 7])
    }

    @Test func theSameRevisionWithTheSameKeyOrAnEqualPayloadIsARetry() {
        var state = SyncState()
        state.put(change("r", 3, #"{"a":1,"b":2}"#, key: "k"))
        #expect(state.put(change("r", 3, #"{"a":1,"b":2}"#, key: "k")) == .retry)
        #expect(state.put(change("r", 3, #"{ "b": 2.0, "a": 1 }"#, key: "another")) == .retry)
        #expect(state.accepted.count == 1)
    }

    @Test func aRetryIsToldAfterTheRecordHasMovedOn() {
        var state = SyncState()
        state.put(change("r", 1, #"{"a":1}"#, key: "k"))
        state.put(change("r", 2, #"{"a":2}"#))
        let outcome = state.decide([change("r", 1, #"{"a":1}"#, key: "k")], now: now)
        #expect(outcome.verdicts == [.retry] && outcome.records[0]?.revision == 2)
    }

    @Test func aKeyOfAnotherChangeIsRefusedAndAKeyOfAnotherUserIsNot() {
        var state = SyncState()
        state.put(change("r", 1, key: "k"))
        #expect(state.put(change("r", 2, key: "k")) == .keyReused)
        #expect(state.put(change("r", 1, #"{"x":1}"#, key: "k")) == .keyReused)
        #expect(state.put(change("r2", 1, user: "u2", key: "k")) == .applied)
    }

    @Test func aRecordOfAnotherUserIsNeitherWrittenNorShown() {
        var state = SyncState()
        state.put(change("r", 1))
        let outcome = state.decide([change("r", 2, user: "u2")], now: now)
        #expect(outcome.verdicts == [.foreign] && outcome.records == [nil])
    }

    @Test func aRecordKeepsItsType() {
        var state = SyncState()
        state.put(change("r", 1, type: .note))
        #expect(state.put(change("r", 2, type: .highlight)) == .typeChanged)
        #expect(state.put(change("r", 2, type: nil)) == .applied && state["r"]?.type == .note)
    }

    @Test func aDeleteLeavesATombstoneAndAHigherRevisionBringsTheRecordBack() {
        var state = SyncState()
        state.put(change("r", 1, #"{"secret":1}"#))
        #expect(state.put(change("r", 2, nil)) == .applied)
        #expect(state["r"]?.deleted == true && state["r"]?.payload == "" && state["r"]?.revision == 2)
        #expect(state.erased == [RecordVersion(record: "r", revision: 2)])
        #expect(state.put(change("r", 1, #"{"secret":1}"#, key: "backfill")) == .retry)
        #expect(state.put(change("r", 2, #"{"secret":1}"#, key: "late")) == .stale)
        #expect(state["r"]?.deleted == true)
        #expect(state.put(change("r", 3, #"{"a":2}"#)) == .applied)
        #expect(state["r"]?.deleted == false && state["r"]?.payload == #"{"a":2}"#)
    }

    @Test func aDeleteOfWhatNobodyKnowsIsKept() {
        var state = SyncState()
        #expect(state.put(change("r", 4, nil)) == .applied && state["r"]?.deleted == true)
        #expect(state.put(change("r", 3)) == .stale)
    }

    @Test func oneStaleChangeRefusesItsRequestAndLeavesNoTrace() {
        var state = SyncState()
        state.put(change("r", 5))
        let outcome = state.decide(
            [change("n", 1), change("r", 6), change("r", 4), change("m", 1), change("r", 3)], now: now)
        #expect(outcome.isRefused)
        #expect(outcome.verdicts == [.applied, .applied, .stale, .applied, .stale])
        #expect(state["r"]?.revision == 5 && state["n"] == nil && state["m"] == nil)
        #expect(state.accepted.count == 1 && state.written == ["r"] && state.erased.isEmpty)
        // Its keys and revisions are free again.
        #expect(state.put(change("n", 1, #"{"other":1}"#, key: "n-1")) == .applied)
        #expect(outcome.records[2]?.revision == 5)
    }

    @Test func aRequestMayHoldSeveralRevisionsOfARecord() {
        var state = SyncState()
        let outcome = state.decide([change("r", 1), change("r", 2, nil), change("r", 3, #"{"a":1}"#)], now: now)
        #expect(!outcome.isRefused && state["r"]?.payload == #"{"a":1}"#)
        #expect(state.written == ["r"] && state.accepted.count == 3)
    }

    @Test func timesNameAndContainerOfTheSourceStay() {
        var state = SyncState()
        var first = change("r", 1)
        (first.createdAt, first.updatedAt, first.recordName, first.container) = (10, 20, "CK-1", "iCloud.app")
        state.put(first)
        state.put(change("r", 2))
        let record = state["r"]
        #expect(record?.createdAt == 10 && record?.updatedAt == now)
        #expect(record?.recordName == "CK-1" && record?.container == "iCloud.app")
    }
}
