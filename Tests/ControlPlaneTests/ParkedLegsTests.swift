import Journal
import JournalThreads
import Rollout
import Testing

@testable import ControlPlane
@testable import Gateway
import Values

/// What an operator does with parked legs, through the API.
struct ParkedLegsTests {
    @Test func aReplayOfWhatIsNotParkedIsRefusedAndReplaysNothing() async throws {
        let office = try await Office()
        let answer = await office.ask("POST", "/api/v1/journal/replay", "{\"seqs\":[17,18]}")
        #expect(
            answer.status == 409
                && answer.json?["reasons"]?.text == "[\"there is no change 17\",\"there is no change 18\"]")
        let none = await office.ask("POST", "/api/v1/journal/replay", "{\"all_parked\":true}")
        #expect(none.status == 200 && none.json?["replayed"]?.text == "0")
        office.house.close()
    }

    /// Changes 1 to 3 of record a, without a revision; new has refused the first two.
    private func makeParked(_ office: Office) async throws {
        try await office.house.journal.write { store throws(JournalError) in
            for state in [LegState.parked, .parked, .applied] {
                let submission = Submission(
                    user: "anna", records: [RecordRevision(record: "a", revision: nil, payloadHash: "")],
                    idempotencyKey: nil, outgoingKey: "key", fingerprint: "", method: "PUT", target: "/a",
                    headerLines: [], conditionalLines: [], body: [], side: .legacy, dualWrite: true)
                guard case .accepted(let sequence)? = try store.accept([submission], now: 1_000).first else { return }
                let legs = Legs(legacy: LegStatus(.applied), new: LegStatus(state, attempts: 4, lastStatus: 422))
                let answer = StoredAnswer(status: 200, headerLines: [], body: [], servedBy: .legacy)
                try store.apply(
                    [.answered(sequence, servedBy: .legacy, legs: legs, answer: answer, revisionAccepted: true)],
                    now: 1_000)
            }
        }
    }

    private func legs(_ office: Office) async throws -> [LegState] {
        try await office.house.journal.read { reader throws(JournalError) in
            try reader.rows(parkedOnly: false, before: nil, limit: 9).reversed().map(\.legs.new.state)
        }
    }

    @Test(arguments: ["{\"all_parked\":true}", "{\"seqs\":[2,1]}"])
    func whatIsOlderThanWhatTheBackendHasIsNotReplayedUnlessForced(body: String) async throws {
        let office = try await Office()
        try await makeParked(office)
        let held = try #require(await office.ask("POST", "/api/v1/journal/replay", body).json)
        #expect(held["replayed"]?.text == "0" && held["seqs"]?.text == "[]")
        #expect(undescribed(held, by: Shape.reference("Replay")) == [])
        #expect(
            held["held"]?.elements.map { $0["seq"]?.text } == ["1", "2"]
                && held["held"]?.elements.allSatisfy { $0["behind"]?.text == "3" && $0["side"]?.text == "\"new\"" }
                    == true
        )
        #expect(held["held"]?.text.contains("change 1 is older than change 3 of the same record") == true)
        #expect(try await legs(office) == [.parked, .parked, .applied])
        #expect(try await office.house.events.map(\.action).contains("journal replay") == false)
        let forced = try #require(
            await office.ask("POST", "/api/v1/journal/replay", body.dropLast() + ",\"force\":true}").json)
        #expect(forced["replayed"]?.text == "2" && forced["seqs"]?.text == "[1,2]" && forced["held"]?.text == "[]")
        #expect(try await legs(office) == [.pending, .pending, .applied])
        office.house.close()
    }

    @Test func settlingIsTheEndOfAParkedLeg() async throws {
        let office = try await Office()
        try await makeParked(office)
        let body = "{\"seqs\":[1],\"reason\":\"written again since\""
        let dry = await office.ask("POST", "/api/v1/journal/settle", body + ",\"dry_run\":true}")
        #expect(dry.status == 200 && dry.json?["settled"]?.text == "1" && dry.json?["dry_run"]?.text == "true")
        #expect(try await legs(office) == [.parked, .parked, .applied])
        #expect(await office.ask("POST", "/api/v1/journal/settle", body + "}", ifMatch: "\"7\"").status == 412)
        let done = try #require(await office.ask("POST", "/api/v1/journal/settle", body + "}").json)
        #expect(done["settled"]?.text == "1" && done["seqs"]?.text == "[1]")
        #expect(undescribed(done, by: Shape.reference("Settlement")) == [])
        #expect(try await legs(office) == [.superseded, .parked, .applied])
        let event = try #require(try await office.house.events.first)
        #expect(event.action == "journal settle" && event.reason == "written again since")
        #expect(event.before == "{\"state\":\"parked\"}" && event.after == "{\"state\":\"superseded\",\"seqs\":[1]}")
        let again = await office.ask("POST", "/api/v1/journal/settle", body + "}")
        #expect(again.status == 409 && again.text.contains("change 1 has no parked leg"))
        #expect(await office.ask("POST", "/api/v1/journal/settle", "{\"seqs\":[2,9],\"reason\":\"r\"}").status == 409)
        #expect(try await legs(office) == [.superseded, .parked, .applied])
        office.house.close()
    }
}
