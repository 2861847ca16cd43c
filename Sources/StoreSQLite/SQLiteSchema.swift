package import Journal

/// What a program's SQLite file looks like, and how an older one becomes like it.
package struct SQLiteSchema: Sendable {
    /// Marks a file as the program's (`PRAGMA application_id`).
    package let applicationID: Int64
    /// Each step takes the file from version `index` to `index + 1`. Steps are never edited once released.
    package let migrations: [String]
    /// Pragmas of the connection that writes; they make the journal a WAL.
    package let settings: String

    package init(applicationID: Int64, migrations: [String], settings: String) {
        self.applicationID = applicationID
        self.migrations = migrations
        self.settings = settings
    }

    /// `PRAGMA user_version` of a file that is up to date.
    package var version: Int64 { Int64(migrations.count) }

    /// Makes a file ready: a new one gets the schema, an older one its migrations. Anything else is refused untouched.
    /// - Throws: `foreign`, `newerSchema`, `cannotOpen`, or what the connection throws.
    package func prepare(_ connection: SQLiteConnection) throws(JournalError) {
        let application = try connection.integer("PRAGMA application_id")
        var version = try connection.integer("PRAGMA user_version")
        let objects = try connection.integer("SELECT count(*) FROM sqlite_schema")
        guard application == applicationID || (application == 0 && version == 0 && objects == 0) else {
            throw JournalError(.foreign, "\(connection.path) is a database of another program; it is left as it is")
        }
        guard version <= self.version else {
            throw JournalError(
                .newerSchema,
                "\(connection.path) has schema version \(version), this program knows versions up to \(self.version)")
        }
        try connection.execute(settings)
        guard try connection.integer("SELECT journal_mode = 'wal' FROM pragma_journal_mode") == 1 else {
            throw JournalError(
                .cannotOpen, "\(connection.path) is on a file system without shared memory (a network drive?)")
        }
        while version < self.version {
            let step = migrations[Int(version)]
            try connection.transaction { () throws(JournalError) in
                try connection.execute(step)
                try connection.execute(
                    "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version + 1)")
            }
            version += 1
        }
    }
}
