import Journal
import JournalThreads
import Testing

@testable import StorePostgres

/// What fails at one gateway, as the others of the store see it; on a real server.
@Suite struct ClusterGates {
    @Test func whatFailsAtOneIsSeenByTheOthersUntilItRecovers() async throws {
        let database = try ClusterDatabase()
        let (a, b) = (try database.member("a"), try database.member("b"))
        try await until("both see two") { a.cluster.state.members == 2 && b.cluster.state.members == 2 }
        #expect(b.cluster.state.failing == [])
        let failing = FailingGates(gateway: "a:9900", gates: ["read_error_rate", "journal_lag"])
        a.cluster.tell(failing)
        try await until("b sees it") { b.cluster.state.failing == [failing] }
        #expect(a.cluster.state.failing == [], "nobody is held by another's word about itself")
        a.cluster.tell(FailingGates(gateway: "a:9900"))
        try await until("b sees the recovery") { b.cluster.state.failing == [] }
        for member in [a, b] { member.cluster.leave() }
    }

    @Test func whatIsSaidAgainIsNotWrittenAgain() async throws {
        let database = try ClusterDatabase()
        let (a, b) = (try database.member("a"), try database.member("b"))
        // One version of the row for each write of it; renewals write it, too.
        let writes = """
            CREATE TABLE said (gates text);
            CREATE FUNCTION note_said() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN INSERT INTO cutover.said VALUES (NEW.failing); RETURN NULL; END $$;
            CREATE TRIGGER note_said AFTER UPDATE OF failing ON gateway FOR EACH ROW EXECUTE FUNCTION note_said();
            """
        try database.connection.script(writes)
        let failing = FailingGates(gateway: "a:9900", gates: ["read_error_rate"])
        for _ in 0..<50 {
            a.cluster.tell(failing)
            try await Task.sleep(nanoseconds: 10_000_000)
        }
        try await until("b sees it") { b.cluster.state.failing == [failing] }
        a.cluster.tell(FailingGates(gateway: "a:9900"))
        try await until("b sees the recovery") { b.cluster.state.failing == [] }
        #expect(try database.integer("SELECT count(*) FROM said") == 2)
        for member in [a, b] { member.cluster.leave() }
    }

    @Test func aGatewayWhoseLeaseIsGoneDoesNotCountAndSaysItAnewWhenItIsBack() async throws {
        let database = try ClusterDatabase()
        let (a, b) = (try database.member("a"), try database.member("b"))
        let failing = FailingGates(gateway: "a:9900", gates: ["read_error_rate"])
        a.cluster.tell(failing)
        try await until("b sees it") { b.cluster.state.failing == [failing] }
        let lost = a.id
        a.gate.close()
        try await until("its lease is over") { b.cluster.state.failing == [] }
        // Whoever is replaced has another row by then.
        try await until("it is replaced") {
            try database.integer("SELECT count(*) FROM gateway WHERE id = \(lost) AND ended_at IS NOT NULL") == 1
        }
        a.gate.open()
        try await until("it is back and says so") { a.id != lost && b.cluster.state.failing == [failing] }
        for member in [a, b] { member.cluster.leave() }
    }
}
