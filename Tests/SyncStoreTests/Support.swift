import Comparison
import Journal
import PostgresTestServer
import StorePostgres
import SyncModel
import SyncStore
import TestSupport

/// A moment after all others of these tests.
let now: Int64 = 1_800_000_000_000

/// The stores that have to do everything alike.
enum StoreKind: CaseIterable { case sqlite, postgres }

/// A store of one kind with nothing in it, gone with the object.
final class Place {
    let store: any SyncStoring
    let reader: any SyncReading
    private let directory = TemporaryDirectory()

    init(_ kind: StoreKind) throws {
        switch kind {
        case .sqlite:
            let path = directory.path + "/sync.sqlite"
            store = try SQLiteSyncStore(path: path)
            reader = try SQLiteSyncReader(path: path)
        case .postgres:
            let server = PostgresServer.shared
            let address = try PostgresAddress(server.url(try server.makeDatabase()))
            store = try PostgresSyncStore(address)
            reader = PostgresSyncReader(address)
        }
    }

    /// The file of an embedded store.
    var path: String { directory.path + "/sync.sqlite" }

    @discardableResult
    func put(_ changes: SyncChange...) throws -> [ChangeVerdict] {
        try store.apply([changes], now: now)[0].verdicts
    }
}

/// A change as a client would send it; nil deletes.
func change(
    _ record: String, _ revision: Int64, _ payload: String? = "{}", user: String = "u1", type: RecordType = .document,
    key: String? = nil
) -> SyncChange {
    let text = payload ?? ""
    var change = SyncChange(
        id: "c-\(record)-\(revision)", user: user, record: record, device: "d1", revision: revision, type: type,
        payload: text,
        content: payload == nil ? ContentHash(high: 0, low: 0) : ContentHasher().hash(Array(text.utf8), isJSON: true),
        deleted: payload == nil, key: key ?? "\(record)-\(revision)")
    change.createdAt = 1_700_000_000_123
    change.updatedAt = 1_750_000_000_456
    return change
}
