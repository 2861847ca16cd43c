internal import Journal

/// What the database file looks like, and how an older one becomes the present one.
enum Schema {
    /// Marks a file as Cutover's (`PRAGMA application_id`): "CutO".
    static let applicationID: Int64 = 0x4375_744F
    /// `PRAGMA user_version` of a file that this code writes.
    static var version: Int64 { Int64(migrations.count) }

    /// The rows of the two partial indexes. A query must say the very same words for SQLite to use the index.
    static let outstanding =
        "(legacy_state IN ('pending', 'awaiting-copy') OR new_state IN ('pending', 'awaiting-copy'))"
    static let parked = "(legacy_state = 'parked' OR new_state = 'parked')"
    /// The rows of the partial index over what legacy was not told of; side 1 is new.
    static let unshared = "(dual_write = 0 AND side = 1)"
    /// Those of them that were not put back.
    static let skipped = "(dual_write = 0 AND side = 1 AND legacy_state = 'skipped')"

    /// Each step takes the file from version `index` to `index + 1`. Steps are never edited once released.
    static let migrations: [String] = [first, second, unsharedIndexes, historyTable, recordIndexes]

    // Both are empty as long as legacy is written.
    private static let unsharedIndexes = """
        CREATE INDEX change_unshared ON change (sequence) WHERE \(unshared);
        CREATE INDEX change_skipped ON change (sequence) WHERE \(skipped);
        """

    // Spans of time and what was counted in them (`HistoryRow`), a column a figure. A row is about 150 bytes; with 90 days of
    // ten minutes, 3 days of minutes and 3 hours of ten seconds the table comes to some 3 MB.
    private static let historyTable = """
        CREATE TABLE history (
            resolution INTEGER NOT NULL,        -- length of the span, in seconds
            at INTEGER NOT NULL,
            instance TEXT NOT NULL,
            covered_milliseconds INTEGER NOT NULL,
            load_milliseconds INTEGER NOT NULL,
            reads_legacy INTEGER NOT NULL,
            reads_new INTEGER NOT NULL,
            read_errors_legacy INTEGER NOT NULL,
            read_errors_new INTEGER NOT NULL,
            client_errors INTEGER NOT NULL,
            writes_legacy INTEGER NOT NULL,
            writes_new INTEGER NOT NULL,
            writes_received INTEGER NOT NULL,
            conflicts INTEGER NOT NULL,
            new_requests INTEGER NOT NULL,
            fallbacks INTEGER NOT NULL,
            compared INTEGER NOT NULL,
            mismatched INTEGER NOT NULL,
            percent_hundredths INTEGER NOT NULL,
            generation INTEGER NOT NULL,
            pending_legacy INTEGER NOT NULL,
            pending_new INTEGER NOT NULL,
            parked INTEGER NOT NULL,
            write_p95_legacy_microseconds INTEGER,         -- NULL: no write
            write_p95_new_microseconds INTEGER,
            stage TEXT NOT NULL,
            state TEXT NOT NULL,
            PRIMARY KEY (resolution, at, instance)
        ) STRICT, WITHOUT ROWID;
        """

    /// The rows of the indexes over records. What has a revision is found by that (`record_revision`), so that it costs nothing here.
    static let unversioned = "(record IS NOT NULL AND revision IS NULL)"

    // Before a parked leg is sent again: was the record written since?
    private static let recordIndexes = """
        CREATE INDEX change_record ON change (user, record, sequence) WHERE \(unversioned);
        CREATE INDEX batch_record_record ON batch_record (record, sequence) WHERE revision IS NULL;
        """

    // Legs are columns of their change, so that an answer or a settled leg is one row update. Bodies have a table of their own:
    // SQLite writes a row anew with every update, and a body may be megabytes. No foreign keys: each would look its parent up
    // once more for every write; the rows of a change are added and removed in one place each.
    private static let first = """
        CREATE TABLE change (
            sequence INTEGER PRIMARY KEY,
            accepted_at INTEGER NOT NULL,
            user TEXT NOT NULL,                 -- '' is anonymous
            record TEXT,                        -- the first record; the others are in batch_record
            revision INTEGER,
            payload_hash TEXT,
            record_count INTEGER NOT NULL,
            has_revision INTEGER NOT NULL,
            idempotency_key TEXT,               -- the client's
            outgoing_key TEXT NOT NULL,
            holds_key INTEGER NOT NULL,         -- 0: no key, or a repeat is a new attempt
            fingerprint TEXT NOT NULL,
            method TEXT NOT NULL,
            target TEXT NOT NULL,
            side INTEGER NOT NULL,
            dual_write INTEGER NOT NULL,
            is_answered INTEGER NOT NULL DEFAULT 0,
            answered_status INTEGER,
            served_by INTEGER,
            answer_header_lines BLOB,           -- NULL: no answer is kept
            answer_body BLOB,                   -- NULL: it was too long
            legacy_state TEXT NOT NULL,
            legacy_attempts INTEGER NOT NULL DEFAULT 0,
            legacy_refusals INTEGER NOT NULL DEFAULT 0,
            legacy_last_status INTEGER,
            legacy_next_attempt_at INTEGER,
            new_state TEXT NOT NULL,
            new_attempts INTEGER NOT NULL DEFAULT 0,
            new_refusals INTEGER NOT NULL DEFAULT 0,
            new_last_status INTEGER,
            new_next_attempt_at INTEGER
        ) STRICT;
        CREATE UNIQUE INDEX change_key ON change (user, idempotency_key) WHERE holds_key = 1;
        CREATE INDEX change_outstanding ON change (sequence) WHERE \(outstanding);
        CREATE INDEX change_parked ON change (sequence) WHERE \(parked);
        CREATE TABLE batch_record (
            sequence INTEGER NOT NULL,
            ordinal INTEGER NOT NULL,
            record TEXT NOT NULL,
            revision INTEGER,
            payload_hash TEXT NOT NULL,
            PRIMARY KEY (sequence, ordinal)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE change_body (
            sequence INTEGER PRIMARY KEY,
            header_lines BLOB NOT NULL,
            conditional_lines BLOB NOT NULL,
            body BLOB NOT NULL
        ) STRICT;
        CREATE TABLE record_revision (
            user TEXT NOT NULL,
            record TEXT NOT NULL,
            revision INTEGER NOT NULL,
            sequence INTEGER NOT NULL,          -- outlives its change
            payload_hash TEXT NOT NULL,
            idempotency_key TEXT,
            PRIMARY KEY (user, record, revision)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE rollout (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            generation INTEGER NOT NULL,
            plan TEXT NOT NULL,
            stage TEXT NOT NULL,
            percent_hundredths INTEGER NOT NULL,
            state TEXT NOT NULL,
            since INTEGER NOT NULL,
            details TEXT NOT NULL
        ) STRICT;
        CREATE TABLE event (
            sequence INTEGER PRIMARY KEY AUTOINCREMENT,
            at INTEGER NOT NULL,
            actor TEXT NOT NULL,
            action TEXT NOT NULL,
            before TEXT NOT NULL,
            after TEXT NOT NULL,
            reason TEXT NOT NULL
        ) STRICT;
        CREATE TABLE pin (
            user TEXT PRIMARY KEY,
            side INTEGER NOT NULL,
            since INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE counter (
            name TEXT PRIMARY KEY,
            value INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    // The index of outstanding changes now holds all that a start counts and that a page filters by, so that neither reads rows in
    // vain: among a million rows those of 100,000 outstanding changes may lie on as many pages.
    private static let second = """
        DROP INDEX change_outstanding;
        CREATE INDEX change_outstanding
            ON change (sequence, accepted_at, user, answered_status, legacy_state, new_state) WHERE \(outstanding);
        """

    /// WAL: readers do not stop the writer. FULL: a commit returns after the fsync of its frames.
    static let file = SQLiteSchema(
        applicationID: applicationID, migrations: migrations,
        settings: """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
            PRAGMA wal_autocheckpoint = 1000; PRAGMA journal_size_limit = 4194304; PRAGMA cache_size = -8192;
            PRAGMA temp_store = MEMORY;
            """)

    static func prepare(_ connection: SQLiteConnection) throws(JournalError) { try file.prepare(connection) }
}
