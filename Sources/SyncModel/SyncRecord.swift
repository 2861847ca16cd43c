internal import Values

/// A record as the service holds it. A deleted one stays as a tombstone, without its payload, so that its revision is not taken again.
package struct SyncRecord: Sendable, Equatable {
    package var user: String
    package var record: String
    package var type: RecordType
    package var revision: Int64
    package var device: String
    package var deleted: Bool
    /// The payload's JSON text on one line; empty for a tombstone.
    package var payload: String
    /// For a highlight whose fields are of differing revisions: a JSON object from name to revision. Empty: all fields have the
    /// record's.
    package var fieldRevisions: String
    /// For progress: when it was so; nil where nobody says.
    package var progressAt: Int64?
    package var createdAt: Int64
    package var updatedAt: Int64
    package var recordName: String
    package var container: String

    package init(
        user: String, record: String, type: RecordType, revision: Int64, device: String, deleted: Bool, payload: String,
        fieldRevisions: String = "", progressAt: Int64? = nil, createdAt: Int64, updatedAt: Int64, recordName: String,
        container: String
    ) {
        self.user = user
        self.record = record
        self.type = type
        self.revision = revision
        self.device = device
        self.deleted = deleted
        self.payload = payload
        self.fieldRevisions = fieldRevisions
        self.progressAt = progressAt
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.recordName = recordName
        self.container = container
    }

    /// Appends the record's JSON object, on one line.
    package func write(to out: inout [UInt8]) {
        out.append(text: "{\"recordId\":")
        out.append(jsonString: record)
        out.append(text: ",\"userId\":")
        out.append(jsonString: user)
        out.append(text: ",\"type\":\"")
        out.append(contentsOf: type.rawValue.utf8)
        out.append(text: "\",\"revision\":")
        out.append(decimal: revision)
        out.append(text: ",\"payload\":")
        if payload.isEmpty { out.append(text: "null") } else { out.append(contentsOf: payload.utf8) }
        out.append(text: ",\"deleted\":")
        out.append(text: deleted ? "true" : "false")
        out.append(text: ",\"createdAt\":")
        out.append(jsonInstant: createdAt)
        out.append(text: ",\"updatedAt\":")
        out.append(jsonInstant: updatedAt)
        out.append(text: ",\"deviceId\":")
        out.append(jsonString: device)
        out.append(text: ",\"recordName\":")
        out.append(jsonString: recordName)
        out.append(text: ",\"container\":")
        out.append(jsonString: container)
        out.append(text: "}")
    }
}

/// One entry of a user's change feed: a change as it was accepted.
package struct FeedEntry: Sendable, Equatable {
    /// Its place among all changes; rises in the order in which they became visible.
    package var sequence: Int64
    package var id: String
    package var user: String
    package var record: String
    package var device: String
    package var revision: Int64
    package var type: RecordType
    package var deleted: Bool
    /// Empty for a delete, and for what was deleted later: what is gone is gone from the feed, too.
    package var payload: String
    package var acceptedAt: Int64

    package init(
        sequence: Int64, id: String, user: String, record: String, device: String, revision: Int64, type: RecordType,
        deleted: Bool, payload: String, acceptedAt: Int64
    ) {
        self.sequence = sequence
        self.id = id
        self.user = user
        self.record = record
        self.device = device
        self.revision = revision
        self.type = type
        self.deleted = deleted
        self.payload = payload
        self.acceptedAt = acceptedAt
    }

    package func write(to out: inout [UInt8]) {
        out.append(text: "{\"seq\":")
        out.append(decimal: sequence)
        out.append(text: ",\"id\":")
        out.append(jsonString: id)
        out.append(text: ",\"userId\":")
        out.append(jsonString: user)
        out.append(text: ",\"recordId\":")
        out.append(jsonString: record)
        out.append(text: ",\"deviceId\":")
        out.append(jsonString: device)
        out.append(text: ",\"revision\":")
        out.append(decimal: revision)
        out.append(text: ",\"type\":\"")
        out.append(contentsOf: type.rawValue.utf8)
        out.append(text: "\",\"payload\":")
        if payload.isEmpty { out.append(text: "null") } else { out.append(contentsOf: payload.utf8) }
        out.append(text: ",\"deleted\":")
        out.append(text: deleted ? "true" : "false")
        out.append(text: ",\"acceptedAt\":")
        out.append(jsonInstant: acceptedAt)
        out.append(text: "}")
    }
}
