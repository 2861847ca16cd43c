internal import Journal
internal import StorePostgres

/// What the service's tables in PostgreSQL look like: those of `SQLiteSyncSchema`, in a schema of their own. Ids sort as bytes, so that a page ends where it ends in
/// the embedded store.
enum PostgresSyncSchema {
    static let name = "cutover_sync"
    /// For every connection of the service.
    static let setup = "SET search_path TO \(name);"
    /// Held by whoever writes, until it has committed: so a place in the feed is given in the order of the commits, and nobody who reads the
    /// feed can miss one that commits later. "CutS" beside the gateway's own locks.
    static let writing = "SELECT pg_advisory_xact_lock(\(PostgresLocks.space), 101)"

    private static let common = """
        user_id text COLLATE "C" NOT NULL, record_id text COLLATE "C" NOT NULL, type text NOT NULL, revision bigint NOT NULL,
        device_id text NOT NULL, deleted boolean NOT NULL, payload text NOT NULL, created_at bigint NOT NULL,
        updated_at bigint NOT NULL, record_name text NOT NULL, container text NOT NULL
        """

    private static let tables = """
        CREATE TABLE IF NOT EXISTS users (
            user_id text COLLATE "C" PRIMARY KEY, created_at bigint NOT NULL, updated_at bigint NOT NULL,
            record_name text NOT NULL, container text NOT NULL);
        CREATE TABLE IF NOT EXISTS devices (
            user_id text COLLATE "C" NOT NULL, device_id text COLLATE "C" NOT NULL, created_at bigint NOT NULL,
            updated_at bigint NOT NULL, record_name text NOT NULL, container text NOT NULL,
            PRIMARY KEY (user_id, device_id));
        CREATE TABLE IF NOT EXISTS documents (\(common), progress_at bigint, UNIQUE (user_id, record_id));
        CREATE TABLE IF NOT EXISTS highlights (\(common), field_revisions text NOT NULL, UNIQUE (user_id, record_id));
        CREATE INDEX IF NOT EXISTS highlights_created ON highlights (created_at)
            WHERE type = 'highlight' AND NOT deleted;
        CREATE TABLE IF NOT EXISTS changes (
            sequence bigint PRIMARY KEY, change_id text NOT NULL, user_id text COLLATE "C" NOT NULL,
            record_id text COLLATE "C" NOT NULL, device_id text NOT NULL, revision bigint NOT NULL, type text NOT NULL,
            deleted boolean NOT NULL, payload text NOT NULL, content text NOT NULL,
            idempotency_key text COLLATE "C" NOT NULL, accepted_at bigint NOT NULL, record_name text NOT NULL,
            container text NOT NULL, UNIQUE (user_id, idempotency_key), UNIQUE (record_id, revision));
        CREATE INDEX IF NOT EXISTS changes_feed ON changes (user_id, sequence);
        """

    /// Makes what is not there. Two services that start at once wait for each other.
    static func prepare(_ connection: PostgresConnection) throws(JournalError) {
        try connection.transaction { () throws(JournalError) in
            try connection.script("\(writing); CREATE SCHEMA IF NOT EXISTS \(name); \(tables)")
        }
    }
}
