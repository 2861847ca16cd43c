import PostgresTestServer
import Journal
import JournalThreads

@testable import StorePostgres

/// A database for one test, with gateways that have no cluster: their rows never expire.
final class SharedDatabase {
    let server: PostgresServer
    let name: String
    let address: PostgresAddress
    /// For looking behind the store's back.
    let connection: PostgresConnection

    init(_ server: PostgresServer = .shared) throws {
        self.server = server
        name = try server.makeDatabase()
        address = try PostgresAddress(server.url(name))
        connection = PostgresConnection(address)
        try PostgresSchema.prepare(connection)
    }

    func integer(_ sql: String) throws(JournalError) -> Int64 {
        let rows = try connection.query(PostgresStatement("test: " + sql, sql))
        return rows.count == 0 ? 0 : rows.integer(0, 0)
    }

    /// A new gateway.
    func join(_ name: String = "test") throws -> Membership {
        let membership = Membership()
        try connection.script("INSERT INTO gateway (name, expires_at) VALUES ('\(name)', now() + interval '1 day')")
        membership.join(as: try integer("SELECT max(id) FROM gateway"))
        return membership
    }

    func store(_ membership: Membership) throws(JournalError) -> PostgresStore {
        try PostgresStore(address, membership: membership)
    }

    /// A store of a new gateway.
    func gateway(_ name: String = "test") throws -> PostgresStore { try store(try join(name)) }

    /// What a takeover does to the gateway that is gone.
    func end(_ store: PostgresStore) throws {
        guard let owner = store.membership.owner else { return }
        try connection.script("UPDATE gateway SET ended_at = now() WHERE id = \(owner)")
    }

    /// Breaks every connection to this database but the test's own, and waits until they are gone.
    func cutConnections() throws {
        let others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        _ = try integer("SELECT count(pg_terminate_backend(pid)) \(others)")
        while try integer("SELECT count(*) \(others) AND state IS NOT NULL") > 0 {}
    }
}

/// What kind of failure a body throws; nil: none.
func failure(_ body: () throws(JournalError) -> Void) -> JournalError.Kind? {
    do throws(JournalError) {
        try body()
        return nil
    } catch {
        return error.kind
    }
}
