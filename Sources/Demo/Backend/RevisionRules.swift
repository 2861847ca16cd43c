/// A record as a backend holds it. A deleted record stays as a tombstone, so that its revision is not taken again.
struct StoredRecord: Equatable, Sendable {
    var user: String
    var record: String
    var type: String
    var revision: Int64
    var device: String
    var deleted: Bool
    var payload: String
    /// Content hash of the payload.
    var content: String
    /// Idempotency key of the change that made this revision.
    var key: String

    init(_ change: Change) {
        self.init(
            user: change.user, record: change.record, type: change.type, revision: change.revision,
            device: change.device,
            deleted: change.deleted, payload: change.payload, content: change.content, key: change.key)
    }

    init(
        user: String, record: String, type: String, revision: Int64, device: String, deleted: Bool, payload: String,
        content: String, key: String
    ) {
        self.user = user
        self.record = record
        self.type = type
        self.revision = revision
        self.device = device
        self.deleted = deleted
        self.payload = payload
        self.content = content
        self.key = key
    }
}

/// What an idempotency key of this user was used for.
struct KeyUse: Equatable, Sendable {
    var record: String
    var revision: Int64
    var content: String
}

/// What becomes of a change.
enum RevisionVerdict: Equatable {
    /// It is newer than what is stored: store it.
    case accepted
    /// It is stored already: the client, or the gateway, asks a second time.
    case retry
    /// Its revision is not above the stored one: the client must refresh.
    case stale(current: Int64)
    /// Its key belongs to another change.
    case keyReused
}

/// The rule of the sample backends: a record only moves forward, and asking twice changes nothing.
///
/// - Parameters:
///   - current: the record as it is stored, tombstones included; nil when there is none.
///   - use: what the change's key was used for by this user before; nil when it is new.
func judge(_ change: Change, current: StoredRecord?, keyUse use: KeyUse?) -> RevisionVerdict {
    if let use {
        let isSame = use == KeyUse(record: change.record, revision: change.revision, content: change.content)
        return isSame ? .retry : .keyReused
    }
    guard let current else { return .accepted }
    if change.revision > current.revision { return .accepted }
    let isSame =
        change.revision == current.revision && change.content == current.content
        && change.type == current.type && change.deleted == current.deleted
    return isSame ? .retry : .stale(current: current.revision)
}
