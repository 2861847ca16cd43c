import Gateway
import Values

/// What a client knows of one of its records: the last revision that was acknowledged to it.
struct KnownRecord: Sendable {
    var id: String
    var type: String
    var revision: Int64
    var deleted: Bool
    /// Content hash of the payload.
    var content: String
    /// A write failed: what the record is now must be read first.
    var isUncertain = false

    init(_ record: StoredRecord) {
        id = record.record
        type = record.type
        revision = record.revision
        deleted = record.deleted
        content = record.content
    }

    init(id: String, type: String) {
        self.id = id
        self.type = type
        revision = 0
        deleted = false
        content = ""
    }

    /// What is wrong with an answer to a read of this record, or nil.
    func problem(with answer: Answer) -> (text: String, isStale: Bool)? {
        let expected = deleted ? 410 : 200
        guard answer.status == 200 || answer.status == 410 else {
            return ("reading \(id) was answered \(answer.status) instead of \(expected)", false)
        }
        guard let seen = SeenRecord(answer) else { return ("reading \(id): the answer holds no record", false) }
        if isUncertain { return nil }
        if seen.revision < revision {
            return ("\(id) was read at revision \(seen.revision) after \(revision) had been acknowledged", true)
        }
        guard seen.revision == revision, answer.status == expected, seen.content == content else {
            return ("\(id) was read as something that nobody wrote", false)
        }
        return nil
    }
}

/// A record as an answer shows it.
struct SeenRecord {
    var revision: Int64
    var deleted: Bool
    var content: String

    /// nil when the body holds no record.
    init?(_ answer: Answer) {
        guard let seen = answer.withFields({ SeenRecord($0) }) else { return nil }
        self = seen
    }

    private init?(_ fields: Fields) {
        guard let revision = fields.integer("revision"), let payload = fields.object("payload") else { return nil }
        self.revision = revision
        deleted = fields.isTrue("deleted")
        content = contentHash(of: payload)
    }
}

/// A user of the service, played by one thread at a time.
struct SampleUser: Sendable {
    let id: String
    var records: [KnownRecord]
    /// Changes sent so far: makes ids and keys that no other change has.
    var changes = 0

    /// The number of records that a user makes at most, so that lists stay short.
    static let recordLimit = 24

    init(id: String, history: [StoredRecord]) {
        self.id = id
        records = history.map { KnownRecord($0) }
    }

    /// The next change of a record, its key included.
    mutating func change(
        _ record: KnownRecord, payload: String, deleted: Bool, device: String = "phone", run: String
    ) -> Change {
        changes += 1
        return Change(
            id: "\(run)-\(id)-\(changes)", user: id, record: record.id, device: device, revision: record.revision + 1,
            type: record.type, payload: payload, content: contentHash(of: payload), deleted: deleted,
            key: "\(run)-\(id)-\(changes)")
    }
}

extension Change {
    /// The change as it goes over the wire.
    var json: String {
        var text =
            "{\"id\":\(jsonString(id)),\"userId\":\(jsonString(user)),\"recordId\":\(jsonString(record)),\"deviceId\":\(jsonString(device)),"
        text += "\"revision\":\(revision),\"type\":\(jsonString(type)),"
        text += deleted ? "\"deleted\":true," : "\"payload\":\(payload),"
        return text + "\"idempotencyKey\":\(jsonString(key))}"
    }
}
