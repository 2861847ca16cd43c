package import Journal

/// What the shared store looks like, and how an older one becomes the present one.
///
/// Everything is in the schema `cutover` of the database that the address names. An operator who does not want to give the
/// role CREATE on the database creates that schema for it, empty.
package enum PostgresSchema {
    /// The schema (name space) of the database that holds all of it; the search path of every session.
    package static let name = "cutover"
    /// The version that this code writes.
    package static var version: Int64 { Int64(migrations.count) }

    /// The rows of the partial indexes. A query must say the very same words for PostgreSQL to use the index.
    package static let outstanding =
        "(legacy_state IN ('pending', 'awaiting-copy') OR new_state IN ('pending', 'awaiting-copy'))"
    package static let parked = "(legacy_state = 'parked' OR new_state = 'parked')"

    /// What legacy was not told of; side 1 is new.
    package static let unshared = "(NOT dual_write AND side = 1)"
    /// What of it was not put back.
    package static let skipped = "(NOT dual_write AND side = 1 AND legacy_state = 'skipped')"

    /// Each step takes the store from version `index` to `index + 1`. Steps are never edited once released.
    static let migrations: [String] = [
        tables + clusterTables + groupFunctions + rareFunctions + clusterFunctions, historyTable, gatewayGates,
        recordIndexes,
    ]
    /// The first version that has a history.
    static let historyVersion: Int64 = 2

    // Before a parked leg is sent again: was the record written since? By the hash of its lane, because an index entry must not be longer than
    // it may be. What has a revision is found by that (`record_revision`), so that it costs nothing here.
    private static let recordIndexes = """
        CREATE INDEX change_record ON change (lane, sequence) WHERE record IS NOT NULL AND revision IS NULL;
        CREATE INDEX batch_record_record ON batch_record (lane, sequence) WHERE revision IS NULL;

        """

    /// How long a migration may take: it may rewrite a large table.
    private static let migrationTimeoutMilliseconds: UInt64 = 120_000

    /// Makes a database ready: a new one gets the schema, an older one its migrations. Anything else is refused untouched. Two
    /// gateways that start at once wait for each other.
    /// - Throws: `foreign`, `newerSchema`, `cannotOpen`, or what the connection throws.
    package static func prepare(_ connection: PostgresConnection) throws(JournalError) {
        if try presentVersion(connection) == version { return }
        try connection.transaction { () throws(JournalError) in
            try connection.script(
                """
                SET LOCAL statement_timeout TO \(migrationTimeoutMilliseconds);
                SET LOCAL lock_timeout TO \(migrationTimeoutMilliseconds);
                SELECT pg_advisory_xact_lock(\(PostgresLocks.space), \(PostgresLocks.migration));
                """, timeoutMilliseconds: migrationTimeoutMilliseconds)
            // Asked again under the lock: another gateway may have done it all meanwhile.
            var present = try checkedVersion(connection)
            if present == 0 { try create(connection) }
            while present < version {
                try connection.script(
                    migrations[Int(present)] + "\nUPDATE cutover_schema SET version = \(present + 1);",
                    timeoutMilliseconds: migrationTimeoutMilliseconds)
                present += 1
            }
        }
    }

    /// The version of the schema that a database has; 0: none yet. Changes nothing.
    /// - Throws: `foreign`, `newerSchema`, `cannotOpen`, or what the connection throws.
    package static func presentVersion(_ connection: PostgresConnection) throws(JournalError) -> Int64 {
        let encoding = try connection.query(
            PostgresStatement(
                "encoding", "SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()"))
        guard encoding.count == 1, encoding.text(0, 0) == "UTF8" else {
            throw connection.failure(.cannotOpen, "has the encoding \(encoding.text(0, 0)); accepted: UTF8")
        }
        return try checkedVersion(connection)
    }

    private static func create(_ connection: PostgresConnection) throws(JournalError) {
        // Not IF NOT EXISTS where it exists: that too would ask for the right to create schemas.
        let exists = try connection.query(
            PostgresStatement("schema_exists", "SELECT 1 FROM pg_namespace WHERE nspname = '\(name)'"))
        if exists.count == 0 { try connection.script("CREATE SCHEMA \(name)") }
        try connection.script(versionTable)
    }

    /// The version of the store; 0 when there is none yet.
    private static func checkedVersion(_ connection: PostgresConnection) throws(JournalError) -> Int64 {
        let found = try connection.query(
            PostgresStatement(
                "schema_objects",
                """
                SELECT count(*), count(*) FILTER (WHERE c.relname = 'cutover_schema' AND EXISTS (
                    SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'lane_seed_low'))
                FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '\(name)'
                """))
        if found.integer(0, 0) == 0 { return 0 }
        guard found.integer(0, 1) == 1 else {
            throw connection.failure(
                .foreign, "has a schema \(name) with tables of another program; they are left as they are")
        }
        let stored = try connection.query(PostgresStatement("schema_version", "SELECT version FROM cutover_schema"))
            .integer(0, 0)
        guard stored <= version else {
            throw connection.failure(
                .newerSchema, "has schema version \(stored), this program knows versions up to \(version)")
        }
        return stored
    }

    /// The seeds of lane hashes are made once per store, so that nobody outside can choose two lanes that collide.
    private static let versionTable = """
        CREATE TABLE cutover_schema (
            only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
            version bigint NOT NULL,
            lane_seed_low bigint NOT NULL,
            lane_seed_high bigint NOT NULL
        );
        INSERT INTO cutover_schema (version, lane_seed_low, lane_seed_high) SELECT 0,
            ('x' || substr(md5(gen_random_uuid()::text), 1, 16))::bit(64)::bigint,
            ('x' || substr(md5(gen_random_uuid()::text), 1, 16))::bit(64)::bigint;
        """
}

/// Numbers of the advisory locks that are not about a lane or a key. Those use the other of PostgreSQL's two name spaces, the
/// one of 64-bit numbers.
package enum PostgresLocks {
    /// "Cuto", the first of both numbers.
    package static let space = 0x4375_746F
    /// Held while the schema is made or changed.
    static let migration = 1
    /// Held shared by groups that lock each lane, exclusively by a group that has too many lanes for that.
    static let allLanes = 2
    /// Held by the one gateway that prunes.
    static let prune = 3
    /// Held while the rollout or a pin is changed.
    static let state = 4
}
