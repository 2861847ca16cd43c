internal import Comparison

/// A change to one record, as clients send it (contract §13).
struct Change: Equatable, Sendable {
    var id: String
    var user: String
    var record: String
    var device: String
    var revision: Int64
    var type: String
    /// The JSON text of the payload as it was sent; `{}` where a delete has none.
    var payload: String
    /// Content hash of the payload: equal for equal content, however it is spelled.
    var content: String
    var deleted: Bool
    var key: String
}

/// What is wrong with a change, in words for the client.
struct ChangeProblem: Error, Equatable {
    let message: String
}

extension Change {
    static let types = ["document", "highlight", "note", "progress"]

    /// Reads a change from a request's body.
    init(body: [UInt8]) throws(ChangeProblem) {
        let parsed = body.withUnsafeBufferPointer { bytes -> Result<Change, ChangeProblem> in
            do throws(ChangeProblem) { return .success(try Change(bytes)) } catch { return .failure(error) }
        }
        self = try parsed.get()
    }

    private init(_ bytes: UnsafeBufferPointer<UInt8>) throws(ChangeProblem) {
        guard let fields = Fields(bytes) else { throw ChangeProblem(message: "the body is not a JSON object") }
        id = try fields.text("id")
        user = try fields.text("userId")
        record = try fields.text("recordId")
        device = try fields.text("deviceId")
        key = try fields.text("idempotencyKey")
        type = try fields.text("type")
        guard Change.types.contains(type) else {
            throw ChangeProblem(message: "type must be one of \(Change.types.joined(separator: ", "))")
        }
        guard let revision = fields.integer("revision"), revision > 0 else {
            throw ChangeProblem(message: "revision must be a positive integer")
        }
        self.revision = revision
        deleted = fields.isTrue("deleted")
        if let object = fields.object("payload") {
            payload = object
        } else if deleted {
            payload = "{}"
        } else {
            throw ChangeProblem(message: "payload must be an object")
        }
        content = contentHash(of: payload)
    }
}

/// The content hash of a JSON text, the same by which the gateway compares.
func contentHash(of json: String) -> String { ContentHasher().hash(Array(json.utf8), isJSON: true).hex }

/// The members of a JSON object. Of use only while the buffer is in place.
struct Fields {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let document: JSONDocument
    private let container: JSONNode

    /// nil when the bytes are not a JSON object.
    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let document = JSONDocument(bytes: bytes), document.root.kind == .object else { return nil }
        self.init(bytes, document, document.root)
    }

    private init(_ bytes: UnsafeBufferPointer<UInt8>, _ document: JSONDocument, _ container: JSONNode) {
        self.bytes = bytes
        self.document = document
        self.container = container
    }

    /// A text that is there and not empty.
    func text(_ name: String) throws(ChangeProblem) -> String {
        guard let text = optionalText(name), !text.isEmpty else {
            throw ChangeProblem(message: "\(name) must be a text")
        }
        return text
    }

    func optionalText(_ name: String) -> String? { value(name).flatMap { document.string(of: $0) } }
    func integer(_ name: String) -> Int64? { value(name).flatMap { document.integer(of: $0) } }

    /// A number; the name may be a path: `metrics/read_error_rate/value`.
    func number(_ name: String) -> Double? {
        guard let value = value(name), value.kind == .number else { return nil }
        return Double(String(decoding: bytes[value.range], as: UTF8.self))
    }

    /// The texts of an array.
    func texts(_ name: String) -> [String] {
        guard let list = value(name) else { return [] }
        return document.elements(of: list).compactMap { document.string(of: $0) }
    }

    func isTrue(_ name: String) -> Bool {
        guard let value = value(name), value.kind == .bool else { return false }
        return value.range.count == 4
    }

    /// The JSON text of a member that is an object.
    func object(_ name: String) -> String? {
        guard let value = value(name), value.kind == .object else { return nil }
        return String(decoding: bytes[value.range], as: UTF8.self)
    }

    /// The elements of an array, each with its JSON text.
    func items(_ name: String) -> [(fields: Fields, text: [UInt8])] {
        guard let list = value(name) else { return [] }
        return document.elements(of: list).map { (Fields(bytes, document, $0), Array(bytes[$0.range])) }
    }

    private func value(_ name: String) -> JSONNode? {
        PointerPattern("/" + name).flatMap { document.value(at: $0, within: container) }
    }
}
