internal import Comparison
internal import Values

/// What is wrong with a request's changes, in words for the client.
package struct ChangeProblem: Error, Sendable, Equatable {
    /// Which change of a list; nil for the request as a whole, or its only change.
    package var index: Int?
    package var text: String
}

/// The changes of one request.
package struct ChangeRequest: Sendable {
    package var changes: [SyncChange]
    /// They came as a list, and are answered as one.
    package var isList: Bool
}

/// Reads the body of `POST /changes`: one change, or `{"changes":[…]}`. One pass over the bytes finds where everything stands; payloads are copied as they
/// are. Not Sendable: one per thread, for the hasher's scratch storage.
package final class ChangeReader {
    /// Changes of one request. What is longer is refused: it would keep others waiting.
    package static let changesMax = 1_000
    /// Bytes of an id, a key or a name.
    package static let textBytesMax = 512
    /// Bytes of a payload.
    package static let payloadBytesMax = 1 << 20

    private let hasher = ContentHasher()

    package init() {}

    /// - Parameter key: for a single change without one: that of the request's field `Idempotency-Key`.
    package func read(_ body: [UInt8], key: String?) throws(ChangeProblem) -> ChangeRequest {
        let read = body.withUnsafeBufferPointer { bytes in
            Result { () throws(ChangeProblem) in try self.read(bytes, key) }
        }
        return try read.get()
    }

    private func read(_ bytes: UnsafeBufferPointer<UInt8>, _ key: String?) throws(ChangeProblem) -> ChangeRequest {
        guard let document = JSONDocument(bytes: bytes), document.root.kind == .object else {
            throw ChangeProblem(text: "the body is not a JSON object")
        }
        let list: JSONNode
        switch document.onlyMember(Array("changes".utf8)) {
        case .none:
            return ChangeRequest(changes: [try change(document, document.root, bytes, key)], isList: false)
        case .one(let node): list = node
        case .several: throw ChangeProblem(text: "changes is given twice")
        }
        guard list.kind == .array else { throw ChangeProblem(text: "changes must be an array") }
        let elements = document.elements(of: list)
        guard !elements.isEmpty, elements.count <= Self.changesMax else {
            throw ChangeProblem(text: "changes must be 1 to \(Self.changesMax) objects")
        }
        var changes: [SyncChange] = []
        changes.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            do throws(ChangeProblem) { changes.append(try change(document, element, bytes, nil)) } catch {
                throw ChangeProblem(index: index, text: error.text)
            }
        }
        return ChangeRequest(changes: changes, isList: true)
    }

    private func change(
        _ document: JSONDocument, _ object: JSONNode, _ bytes: UnsafeBufferPointer<UInt8>, _ requestKey: String?
    ) throws(ChangeProblem) -> SyncChange {
        guard object.kind == .object else { throw ChangeProblem(text: "a change must be an object") }
        var found = Members()
        document.forEachMember(of: object) { found.note($0, $1) }
        if let twice = found.twice { throw ChangeProblem(text: "\(twice.rawValue) is given twice") }
        let fields = Fields(document: document, members: found)
        guard let revision = found[.revision].flatMap({ document.integer(of: $0) }), revision >= 0 else {
            throw ChangeProblem(text: "revision must be an integer, 0 or more")
        }
        let user = try fields.identifier(.userId)
        let record = try fields.identifier(.recordId)
        guard let key = try fields.optional(.idempotencyKey) ?? requestKey, !key.isEmpty else {
            throw ChangeProblem(text: "idempotencyKey must be a text that is not empty")
        }
        let deleted = try fields.flag(.deleted)
        var change = SyncChange(
            id: try fields.optional(.id) ?? key, user: user, record: record,
            device: try fields.optional(.deviceId) ?? "", revision: revision, type: try fields.type(), payload: "",
            content: ContentHash(high: 0, low: 0), deleted: deleted, key: key)
        change.createdAt = try fields.instant(.createdAt)
        change.updatedAt = try fields.instant(.updatedAt)
        change.recordName = try fields.optional(.recordName)
        change.container = try fields.optional(.container)
        // A delete says nothing of the payload.
        if !deleted { try readPayload(of: &change, fields, bytes) }
        return change
    }

    private func readPayload(
        of change: inout SyncChange, _ fields: Fields, _ bytes: UnsafeBufferPointer<UInt8>
    ) throws(ChangeProblem) {
        guard let node = fields.members[.payload], node.kind == .object else {
            throw ChangeProblem(text: "payload must be an object")
        }
        guard node.range.count <= Self.payloadBytesMax else {
            throw ChangeProblem(text: "payload is longer than \(Self.payloadBytesMax) bytes")
        }
        let text = UnsafeBufferPointer(rebasing: bytes[node.range])
        change.content = hasher.hash(text, isJSON: true, rules: Self.rules)
        change.payload = String(decoding: text, as: UTF8.self)
        if text.contains(where: { $0 == 0x0A || $0 == 0x0D }) {
            // Line breaks stand between values only: within a text they are escaped. An export has one record a line.
            change.payload = String(decoding: text.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }, as: UTF8.self)
        }
        guard change.type != .document, change.type != .note else { return }
        var names: [String] = []
        var twice = false
        var at: JSONNode?
        fields.document.forEachMember(of: node) { name, value in
            let name = String(decoding: name, as: UTF8.self)
            if names.count < Self.mergedMembersMax, names.contains(name) { twice = true }
            names.append(name)
            if value.kind == .null { change.hasNulls = true }
            if name == "progressAt" { at = value }
        }
        // What merges by name must have each name once, and few enough to merge.
        guard change.type == nil || !twice && names.count <= Self.mergedMembersMax else {
            throw ChangeProblem(text: "payload must have at most \(Self.mergedMembersMax) members, each once")
        }
        if change.type != .highlight { change.progressAt = at.flatMap { fields.moment($0) } }
    }

    /// Members of a payload that merges by field.
    private static let mergedMembersMax = 64
    private static let rules = ComparisonRules()
}

/// The members of a change that mean something; others are let pass.
private enum Name: String, CaseIterable {
    case id, userId, recordId, deviceId, revision, type, payload, idempotencyKey, deleted, recordName, container
    case createdAt, updatedAt
}

/// Where they stand.
private struct Members {
    private static let names: [(bytes: [UInt8], name: Name)] = Name.allCases.map { (Array($0.rawValue.utf8), $0) }

    private var nodes = [JSONNode?](repeating: nil, count: Name.allCases.count)
    var twice: Name?

    mutating func note(_ text: UnsafeBufferPointer<UInt8>, _ value: JSONNode) {
        for (index, entry) in Self.names.enumerated() where entry.bytes.count == text.count {
            guard entry.bytes.elementsEqual(text) else { continue }
            if nodes[index] != nil { twice = entry.name }
            nodes[index] = value
            return
        }
    }

    subscript(_ name: Name) -> JSONNode? {
        Self.names.firstIndex { $0.name == name }.flatMap { nodes[$0] }
    }
}

private struct Fields {
    let document: JSONDocument
    let members: Members

    /// An id: a text, or an integer, which is its decimal digits.
    func identifier(_ name: Name) throws(ChangeProblem) -> String {
        guard let text = members[name].flatMap({ document.identifier(of: $0) }), !text.isEmpty,
            text.utf8.count <= ChangeReader.textBytesMax
        else { throw ChangeProblem(text: "\(name.rawValue) must be a text of 1 to \(ChangeReader.textBytesMax) bytes") }
        return text
    }

    /// nil: it is not there, or null.
    func optional(_ name: Name) throws(ChangeProblem) -> String? {
        guard let node = members[name], node.kind != .null else { return nil }
        guard let text = document.identifier(of: node), text.utf8.count <= ChangeReader.textBytesMax else {
            throw ChangeProblem(text: "\(name.rawValue) must be a text of at most \(ChangeReader.textBytesMax) bytes")
        }
        return text
    }

    func flag(_ name: Name) throws(ChangeProblem) -> Bool {
        guard let node = members[name], node.kind != .null else { return false }
        guard node.kind == .bool else { throw ChangeProblem(text: "\(name.rawValue) must be true or false") }
        return node.range.count == 4
    }

    func type() throws(ChangeProblem) -> RecordType? {
        guard let text = try optional(.type) else { return nil }
        guard let type = RecordType(rawValue: text) else {
            let accepted = RecordType.allCases.map(\.rawValue).joined(separator: ", ")
            throw ChangeProblem(text: "type must be one of \(accepted)")
        }
        return type
    }

    func instant(_ name: Name) throws(ChangeProblem) -> Int64? {
        guard let node = members[name], node.kind != .null else { return nil }
        guard let moment = moment(node) else {
            throw ChangeProblem(
                text: "\(name.rawValue) must be an instant like 2026-11-30T01:02:03.123Z, or milliseconds since 1970")
        }
        return moment
    }

    /// ISO 8601 in UTC, or milliseconds since 1970.
    func moment(_ node: JSONNode) -> Int64? {
        if node.kind == .number { return document.integer(of: node) }
        return document.string(of: node).flatMap { Instant($0)?.milliseconds }
    }
}
