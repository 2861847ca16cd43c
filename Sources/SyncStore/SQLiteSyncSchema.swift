internal import StoreSQLite

/// What the service's SQLite file looks like.
///
/// Ids are texts as clients send them, times milliseconds since 1970 in UTC. Every row keeps the name and the container of the record that it came from in the
/// old service: what was copied wrongly can be looked up there years later. The two unique constraints are what a copy of history, a retry and two
/// devices cannot get past: a key counts once for a user, and a revision once for a record.
enum SQLiteSyncSchema {
    /// `PRAGMA application_id` of a file of the sync service: "CutS".
    static let applicationID: Int64 = 0x4375_7453

    /// Each step takes the file from version `index` to `index + 1`. Steps are never edited once released.
    private static let migrations = [first]

    private static let first = """
        CREATE TABLE users (
            user_id TEXT NOT NULL PRIMARY KEY,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            record_name TEXT NOT NULL,
            container TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE devices (
            user_id TEXT NOT NULL,
            device_id TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            record_name TEXT NOT NULL,
            container TEXT NOT NULL,
            PRIMARY KEY (user_id, device_id)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE documents (                    -- types document and progress
            place INTEGER PRIMARY KEY,
            user_id TEXT NOT NULL,
            record_id TEXT NOT NULL,
            type TEXT NOT NULL,
            revision INTEGER NOT NULL,
            device_id TEXT NOT NULL,
            deleted INTEGER NOT NULL,
            payload TEXT NOT NULL,                  -- empty: a tombstone
            progress_at INTEGER,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            record_name TEXT NOT NULL,
            container TEXT NOT NULL,
            UNIQUE (user_id, record_id)
        ) STRICT;
        CREATE TABLE highlights (                   -- types highlight and note
            place INTEGER PRIMARY KEY,
            user_id TEXT NOT NULL,
            record_id TEXT NOT NULL,
            type TEXT NOT NULL,
            revision INTEGER NOT NULL,
            device_id TEXT NOT NULL,
            deleted INTEGER NOT NULL,
            payload TEXT NOT NULL,
            field_revisions TEXT NOT NULL,          -- empty: every field has the record's revision
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            record_name TEXT NOT NULL,
            container TEXT NOT NULL,
            UNIQUE (user_id, record_id)
        ) STRICT;
        CREATE INDEX highlights_created ON highlights (created_at) WHERE type = 'highlight' AND deleted = 0;
        CREATE TABLE changes (
            sequence INTEGER PRIMARY KEY,           -- in the order of the commits
            change_id TEXT NOT NULL,
            user_id TEXT NOT NULL,
            record_id TEXT NOT NULL,
            device_id TEXT NOT NULL,
            revision INTEGER NOT NULL,
            type TEXT NOT NULL,
            deleted INTEGER NOT NULL,
            payload TEXT NOT NULL,                  -- empty: a delete, or deleted since
            content TEXT NOT NULL,                  -- content hash of the payload
            idempotency_key TEXT NOT NULL,
            accepted_at INTEGER NOT NULL,
            record_name TEXT NOT NULL,
            container TEXT NOT NULL,
            UNIQUE (user_id, idempotency_key),
            UNIQUE (record_id, revision)
        ) STRICT;
        CREATE INDEX changes_feed ON changes (user_id, sequence);
        """

    /// A commit is on the disk when it returns. Pages that a group touches are many and all over the indexes: a larger log is moved less
    /// often, and each page of it once.
    static let file = SQLiteSchema(
        applicationID: applicationID, migrations: migrations,
        settings: """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -\(cacheKiB);
            PRAGMA wal_autocheckpoint = \(checkpointPages); PRAGMA temp_store = MEMORY;
            """)

    /// Memory of the writer for pages.
    private static let cacheKiB = 64 << 10
    /// Pages of the log after which it is moved into the file: 32 MiB.
    private static let checkpointPages = 8_192
}
