import Configuration
import Journal
import JournalThreads
import Rollout
import StorePostgres
import StoreSQLite
import Synchronization

/// The store of a gateway: the embedded one, which is this gateway's alone, or a PostgreSQL database that several share.
struct Storage: Sendable {
    let journal: ThreadedJournal
    /// The other gateways of a shared store.
    let cluster: (any JournalCluster)?
    /// Held for its lock, where the store itself does not hold it.
    private let directory: DataDirectory?
    let kind: String
    /// This gateway's name among those of the store.
    let instance: String

    /// The store that a test has opened.
    init(journal: ThreadedJournal, cluster: (any JournalCluster)? = nil, kind: String = "sqlite") {
        self.journal = journal
        self.cluster = cluster
        self.kind = kind
        instance = "test"
        directory = nil
    }

    /// Opens the store that the settings name. Blocks.
    /// - Throws: what cannot be used, in words for an operator.
    init(
        _ settings: Settings, onGroup: @escaping @Sendable (GroupReport) -> Void
    ) throws(JournalError) {
        let retention = Retention(settings)
        switch settings.store {
        case .sqlite:
            directory = nil
            cluster = nil
            kind = "sqlite"
            journal = try ThreadedJournal(
                sqlite: settings.dataDirectory, retention: retention, onGroup: onGroup)
            // It only tells rows of the history apart after a move to a shared store: a full disk must not stop the start.
            instance = (try? DataDirectory.instanceName(in: settings.dataDirectory)) ?? "embedded"
        case .postgresql(let url):
            let directory = try DataDirectory(settings.dataDirectory)
            let address = try PostgresAddress(url)
            let membership = Membership()
            journal = try ThreadedJournal(
                postgres: address, membership: membership, retention: retention, onGroup: onGroup)
            instance = try directory.instanceName()
            cluster = try PostgresCluster(address, name: instance, membership: membership)
            self.directory = directory
            kind = "postgresql"
        }
    }
}

extension Retention {
    /// How long the settings want facts to be kept.
    init(_ settings: Settings) {
        self.init(
            rollbackWindowMilliseconds: (settings.plan?.rollbackWindowSeconds ?? 86_400) * 1000,
            idempotencyMilliseconds: settings.writes.idempotencyRetentionMilliseconds)
    }
}

/// Whether the journal took its last group. Set on the journal thread, read anywhere.
final class JournalHealth: Sendable {
    let isWritable = Atomic<Bool>(true)
}
