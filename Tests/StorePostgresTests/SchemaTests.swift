import Journal
import JournalThreads
import JournalRules
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
