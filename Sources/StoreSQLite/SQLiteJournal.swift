package import Journal
package import JournalThreads

extension ThreadedJournal {
    /// The embedded journal: the SQLite file of a data directory, which it opens and locks.
    /// - Throws: what `SQLiteStore.init` throws.
    package convenience init(
        sqlite directory: String, limits: JournalLimits = JournalLimits(), retention: Retention? = nil,
        onGroup: @escaping @Sendable (GroupReport) -> Void = { _ in }
    ) throws(JournalError) {
        let store = try SQLiteStore(directory: directory)
        let reader = try SQLiteReader(path: store.databasePath)
        self.init(store: store, reader: reader, limits: limits, retention: retention, onGroup: onGroup)
    }
}
