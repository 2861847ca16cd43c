import Journal
import JournalThreads
import JournalRules
import PostgresTestServer
import Testing

@testable import StorePostgres

@Suite struct TheSchema {
    private let server = PostgresServer.shared

    private func kind(_ body: () throws(JournalError) -> Void) -> JournalError.Kind? {
        do throws(JournalError) {
            try body()
            return nil
        } catch {
            return error.kind
        }
    }

    @Test func aFreshDatabaseGetsItOnceAndASecondStartFindsIt() throws {
        let connection = try server.connection(to: try server.makeDatabase())
        try PostgresSchema.prepare(connection)
        let seeds = PostgresStatement("seeds", "SELECT version, lane_seed_low, lane_seed_high FROM cutover_schema")
        let first = try connection.query(seeds)
        #expect(first.integer(0, 0) == PostgresSchema.version)
        #expect(first.integer(0, 1) != 0 && first.integer(0, 1) != first.integer(0, 2))
        try PostgresSchema.prepare(connection)
        #expect(try connection.query(seeds).integer(0, 1) == first.integer(0, 1))
    }

    @Test func gatewaysThatStartAtOnceMakeItTogether() throws {
        let database = try server.makeDatabase()
        let failures = Collector<String>()
        let threads = try (0..<4).map { index in
            let address = try PostgresAddress(server.url(database))
            return Thread(name: "start \(index)") {
                do throws(JournalError) {
                    try PostgresSchema.prepare(PostgresConnection(address))
                } catch {
                    failures.add(error.message)
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(failures.all == [])
    }

    @Test(arguments: 1..<PostgresSchema.version) func everyEarlierOneIsTakenOver(earlier: Int64) throws {
        let database = try server.makeDatabase()
        let connection = try server.connection(to: database)
        try connection.script(
            """
            CREATE SCHEMA cutover;
            CREATE TABLE cutover_schema (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
                version bigint NOT NULL, lane_seed_low bigint NOT NULL, lane_seed_high bigint NOT NULL);
            INSERT INTO cutover_schema (version, lane_seed_low, lane_seed_high) VALUES (\(earlier), 11, 12);
            """)
        for step in PostgresSchema.migrations.prefix(Int(earlier)) {
            try connection.script(step, timeoutMilliseconds: 60_000)
        }
        try connection.script(
            """
            INSERT INTO event (at, actor, action, before, after, reason) VALUES (1, 'a', 'start', '', '', '');
            INSERT INTO gateway (name, expires_at) VALUES ('g', now() + interval '1 day');
            """)
        // What holds something is refused before it is brought up to date, by its own version.
        #expect(kind { () throws(JournalError) in try PostgresImport(connection.address).inspect() } == .inUse)
        let version = PostgresStatement("v", "SELECT version, lane_seed_low FROM cutover_schema")
        #expect(try connection.query(version).integer(0, 0) == earlier)
        let membership = Membership()
        membership.join(as: 1)
        for _ in 0..<2 {
            let store = try PostgresStore(connection.address, membership: membership)
            #expect(try connection.query(version).integer(0, 0) == PostgresSchema.version)
            #expect(try connection.query(version).integer(0, 1) == 11)
            #expect(try store.events(before: nil, limit: 9).map(\.action) == ["start"])
            #expect(try store.said(submission()).first?.hasPrefix("accepted") == true)
            try store.appendHistory([HistoryRow(.minute, atMilliseconds: 60_000, instance: "a")], now: 60_000)
            #expect(try store.history(.minute, from: 0, before: nil, limit: 9).count == 1)
            let said = PostgresStatement("said", "SELECT count(*) FROM gateway WHERE label = '' AND failing = ''")
            #expect(try connection.query(said).integer(0, 0) == 1, "a gateway from before says nothing of its gates")
        }
    }

    @Test func aLaterOneIsRefusedAndLeftAsItIs() throws {
        let connection = try server.connection(to: try server.makeDatabase())
        try PostgresSchema.prepare(connection)
        try connection.script("UPDATE cutover_schema SET version = 999")
        #expect(kind { () throws(JournalError) in try PostgresSchema.prepare(connection) } == .newerSchema)
        #expect(try connection.query(PostgresStatement("v", "SELECT version FROM cutover_schema")).integer(0, 0) == 999)
    }

    @Test func tablesOfAnotherProgramAreRefusedAndLeftAsTheyAre() throws {
        let connection = try server.connection(to: try server.makeDatabase())
        try connection.script("CREATE SCHEMA cutover; CREATE TABLE change (theirs text)")
        #expect(kind { () throws(JournalError) in try PostgresSchema.prepare(connection) } == .foreign)
        let tables = PostgresStatement("tables", "SELECT count(*) FROM pg_tables WHERE schemaname = 'cutover'")
        #expect(try connection.query(tables).integer(0, 0) == 1)
    }

    @Test func tablesOfOthersBesideItDoNoHarm() throws {
        let connection = try server.connection(to: try server.makeDatabase())
        try connection.script("CREATE TABLE public.change (theirs text); CREATE SCHEMA cutover")
        try PostgresSchema.prepare(connection)
    }

    @Test func anotherEncodingIsRefused() throws {
        try server.connection(to: "postgres").script(
            "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'", timeoutMilliseconds: 60_000)
        let connection = try server.connection(to: "latin")
        #expect(kind { () throws(JournalError) in try PostgresSchema.prepare(connection) } == .cannotOpen)
    }
}
