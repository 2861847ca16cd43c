package import Comparison

/// A change to one record, as a client, the gateway or a copy of history sends it (contract §13).
package struct SyncChange: Sendable, Equatable {
    package var id: String
    package var user: String
    package var record: String
    /// Empty where nobody says which.
    package var device: String
    package var revision: Int64
    /// nil: that of the record, or a document.
    package var type: RecordType?
    /// The payload's JSON text as it was sent, on one line; empty for a delete.
    package var payload: String
    /// Content hash of the payload: equal for equal content, however it is spelled.
    package var content: ContentHash
    package var deleted: Bool
    package var key: String
    /// A highlight's payload has members that are null: they are taken out, not kept.
    package var hasNulls = false
    /// For progress: when it was so, in milliseconds since 1970; nil where the payload does not say.
    package var progressAt: Int64?
    /// The times that the source of a copy knows, in milliseconds since 1970.
    package var createdAt: Int64?
    package var updatedAt: Int64?
    /// Name and container of the record in the service that it came from.
    package var recordName: String?
    package var container: String?

    package init(
        id: String, user: String, record: String, device: String = "", revision: Int64, type: RecordType?,
        payload: String, content: ContentHash, deleted: Bool = false, key: String
    ) {
        self.id = id
        self.user = user
        self.record = record
        self.device = device
        self.revision = revision
        self.type = type
        self.payload = payload
        self.content = content
        self.deleted = deleted
        self.key = key
    }
}

/// What a change was, as far as a second one has to be told from it.
package struct KnownChange: Sendable, Equatable {
    package var user: String
    package var record: String
    package var revision: Int64
    package var content: ContentHash
    package var deleted: Bool

    package init(user: String, record: String, revision: Int64, content: ContentHash, deleted: Bool) {
        self.user = user
        self.record = record
        self.revision = revision
        self.content = content
        self.deleted = deleted
    }

    package init(_ change: SyncChange) {
        self.init(
            user: change.user, record: change.record, revision: change.revision, content: change.content,
            deleted: change.deleted)
    }
}
