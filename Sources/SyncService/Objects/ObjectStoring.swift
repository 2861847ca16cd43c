internal import Comparison
internal import Routing

/// Where objects are kept. Belongs to one thread at a time; several may look at the same place.
protocol ObjectStoring: AnyObject {
    /// nil: there is none.
    func get(_ key: ObjectKey) throws(ObjectFailure) -> StoredObject?
    /// When it returns, the object is kept: whole, or the one before.
    func put(_ object: StoredObject, as key: ObjectKey) throws(ObjectFailure)
    func delete(_ key: ObjectKey) throws(ObjectFailure)
}

struct StoredObject: Sendable, Equatable {
    var type: String
    var bytes: [UInt8]

    /// Tells one content from another; made of the content alone, so that it is the same from every place.
    var etag: String { "\"\(ContentHasher(seed: 0).hash(bytes, isJSON: false).hex)\"" }
}

/// Why an object could not be read or kept, in words for an operator. Holds no key.
struct ObjectFailure: Error {
    var text: String
}

/// The name of an object: parts between slashes.
struct ObjectKey: Sendable, Hashable {
    static let bytesMax = 512

    let parts: [String]

    /// nil for what is no key: too long, or with a part that is empty, `.` or `..`.
    init?(_ text: String) {
        guard (1...Self.bytesMax).contains(text.utf8.count) else { return nil }
        parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." && $0.utf8.count <= 200 }) else { return nil }
    }

    /// The key with every byte percent-encoded that is not unreserved (RFC 3986 §2.3), part by part.
    var encoded: [String] { parts.map { PercentCoding.encoded($0) } }
}
