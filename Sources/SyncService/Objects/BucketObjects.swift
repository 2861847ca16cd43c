internal import HTTPClient
internal import JournalThreads
internal import Routing

/// Where a bucket is: `s3://BUCKET/PREFIX?endpoint=URL&region=NAME`.
struct BucketPlace: Sendable, Equatable {
    let bucket: String
    /// Percent-encoded, with a slash at its end, or empty.
    let prefix: String
    let scheme: String
    /// As the field `Host` has it.
    let host: String
    /// Path of the endpoint, without a slash at its end.
    let base: String
    let region: String

    /// nil for what is no such place.
    init?(_ text: String) {
        guard text.hasPrefix("s3://") else { return nil }
        let parts = text.dropFirst(5).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts[0].split(separator: "/").map { PercentCoding.decoded($0) }
        guard let bucket = path.first else { return nil }
        self.bucket = bucket
        prefix = path.dropFirst().map { PercentCoding.encoded($0) + "/" }.joined()
        let query = Query(parts.count == 2 ? String(parts[1]) : "")
        region = query["region"] ?? "us-east-1"
        var endpoint = query["endpoint"] ?? "https://s3.\(region).amazonaws.com"
        while endpoint.hasSuffix("/") { endpoint.removeLast() }
        guard let scheme = ["https", "http"].first(where: { endpoint.hasPrefix($0 + "://") }) else { return nil }
        self.scheme = scheme
        let rest = endpoint.dropFirst(scheme.count + 3)
        host = String(rest.prefix { $0 != "/" })
        base = String(rest.dropFirst(host.count))
        guard !host.isEmpty else { return nil }
    }

    /// The path of a key, percent-encoded: the bucket is part of it, which every S3-compatible store understands.
    func path(_ key: ObjectKey) -> String {
        "\(base)/\(PercentCoding.encoded(bucket))/\(prefix)\(key.encoded.joined(separator: "/"))"
    }
}

/// Objects in a bucket of an S3-compatible store, by libcurl. Blocks its thread, for `timeoutMilliseconds` at most. Nothing is tried twice here: the client is
/// told, and may ask again.
final class BucketObjects: ObjectStoring {
    private static let timeoutMilliseconds = 30_000

    private let place: BucketPlace
    private let signer: RequestSigner

    /// - Parameter environment: gives the credentials, by the names that all programs of this kind read.
    init(_ place: BucketPlace, environment: (String) -> String?) throws(ObjectFailure) {
        guard let keyID = environment("AWS_ACCESS_KEY_ID"), let secret = environment("AWS_SECRET_ACCESS_KEY") else {
            throw ObjectFailure(text: "s3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be in the environment")
        }
        self.place = place
        signer = RequestSigner(
            keyID: keyID, secret: secret, token: environment("AWS_SESSION_TOKEN"), region: place.region)
    }

    func get(_ key: ObjectKey) throws(ObjectFailure) -> StoredObject? {
        let answer = try exchange("GET", key)
        // A bucket that is not there is no object that is not there.
        if answer.status == 404, answer.body.contains(text: "NoSuchKey") { return nil }
        guard answer.status == 200 else { throw refused(answer) }
        return StoredObject(type: answer.header("content-type") ?? "application/octet-stream", bytes: answer.body)
    }

    func put(_ object: StoredObject, as key: ObjectKey) throws(ObjectFailure) {
        let answer = try exchange("PUT", key, object)
        guard answer.status == 200 else { throw refused(answer) }
    }

    func delete(_ key: ObjectKey) throws(ObjectFailure) {
        let answer = try exchange("DELETE", key)
        guard answer.status == 204 || answer.status == 200 || answer.status == 404 else { throw refused(answer) }
    }

    private func exchange(
        _ method: String, _ key: ObjectKey, _ object: StoredObject? = nil
    ) throws(ObjectFailure) -> HTTPAnswer {
        let path = place.path(key)
        var request = HTTPRequest(method: method, url: "\(place.scheme)://\(place.host)\(path)", body: object?.bytes)
        request.headers = signer.fields(
            method: method, host: place.host, path: path, contentType: object?.type, body: object?.bytes ?? [],
            now: wallMilliseconds())
        request.timeoutMilliseconds = Self.timeoutMilliseconds
        request.maximumBytes = SyncDesk.objectBytesMax + (1 << 20)
        request.userAgent = "cutover-sync"
        do throws(HTTPFailure) { return try EasyHandle().exchange(request) } catch {
            throw ObjectFailure(text: "the object store does not answer: \(error.detail)")
        }
    }

    private func refused(_ answer: HTTPAnswer) -> ObjectFailure {
        ObjectFailure(text: "the object store answered \(answer.status)")
    }
}

extension [UInt8] {
    fileprivate func contains(text: String) -> Bool {
        String(decoding: prefix(4_096), as: UTF8.self).contains(text)
    }
}
