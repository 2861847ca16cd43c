package import Journal
internal import JournalThreads
internal import Rollout

/// The journal in one SQLite file of the data directory. Belongs to one thread; one store per directory and machine.
///
/// WAL with `synchronous = FULL`: when `commit` returns, the group is on the disk.
package final class SQLiteStore: JournalStore, SQLiteReading {
    package let queries: SQLiteQueries
    /// For a `SQLiteReader` on another thread.
    package let databasePath: String

    let connection: SQLiteConnection
    let statements: WriteStatements
    /// Holds the lock; nil where the file is in no directory of the machine.
    private let directory: DataDirectory?
    /// The next place to give out. Only moved on when the transaction that used it has been committed.
    var nextSequence: Sequence64
    /// Accepted changes whose answer is to come: spares reading their rows again. Bounded by the writes in flight. What a
    /// failed group has left here is overwritten when its places are given out again; what it has taken out is read anew.
    var unanswered: [Sequence64: Unanswered] = [:]
    /// Where the next `prune` goes on.
    var pruneCursor: Sequence64 = 0
    /// The newest stamp of the rows before that place, in milliseconds since 1970.
    var pruneNewestStamp: Int64 = .min

    /// Opens, or creates, the journal in a data directory.
    /// - Throws: `inUse`, `damaged`, `foreign`, `newerSchema` or `cannotOpen`. A file that is not ours is not touched.
    package convenience init(directory path: String) throws(JournalError) {
        let directory = try DataDirectory(path)
        try directory.createDatabaseFile()
        try self.init(path: directory.databasePath, vfs: nil, directory: directory)
    }

    /// Opens, or creates, the journal in a file system of a test's own, where nothing is locked.
    /// - Parameter vfs: the name under which the file system is registered with SQLite.
    package convenience init(path: String, vfs: String) throws(JournalError) {
        try self.init(path: path, vfs: vfs, directory: nil)
    }

    private init(path: String, vfs: String?, directory: DataDirectory?) throws(JournalError) {
        self.directory = directory
        databasePath = path
        connection = try SQLiteConnection(path: databasePath, readOnly: false, vfs: vfs)
        try Schema.prepare(connection)
        try directory?.restrictDatabaseFile()
        queries = try SQLiteQueries(connection)
        statements = try WriteStatements(connection)
        let last = try connection.integer("SELECT \(SQLiteQueries.lastSequence)")
        guard last < .max else { throw JournalError(.damaged, "\(path): no place is left after \(last)") }
        nextSequence = last + 1
        makeRoom()
    }

    /// Moves what the write-ahead log holds into the database and gives its room back. On a full disk this is what makes room:
    /// many versions of a page in the log are one page in the database.
    package func makeRoom() {
        _ = try? connection.integer("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// Caps the size of the database file; beyond it, writes throw `full`. nil lifts the cap.
    package func limitSize(toBytes bytes: Int64?) throws(JournalError) {
        let pageSize = try connection.integer("PRAGMA page_size")
        let pages = bytes.map { max(1, $0 / max(1, pageSize)) } ?? 4_294_967_294
        _ = try connection.integer("PRAGMA max_page_count = \(pages)")
    }

    package func commit(
        _ submissions: [Submission], updates: [JournalUpdate], now: Int64
    ) throws(JournalError) -> CommittedGroup {
        // What is kept in a file that has lost its name is lost with the process.
        if let directory, !directory.holdsDatabase { throw directory.isGone }
        var next = nextSequence
        var admissions: [Admission] = []
        admissions.reserveCapacity(submissions.count)
        try connection.transaction { () throws(JournalError) in
            for update in updates { try keep(update) }
            for submission in submissions {
                var admission = try judge(submission)
                if case .accepted = admission {
                    try insert(submission, as: next, now: now)
                    admission = .accepted(next)
                    next += 1
                }
                admissions.append(admission)
            }
        }
        nextSequence = next
        return CommittedGroup(admissions: admissions)
    }
}

/// What the store has to know about an accepted change when its answer comes.
struct Unanswered {
    struct Revision {
        var record: String
        var revision: Int64
        /// Whether an older revision of this record may be stored.
        var hasOlder: Bool
    }

    var user: String
    /// Whether a repeat can ask for the answer.
    var keepsAnswer: Bool
    var revisions: [Revision] = []
}
