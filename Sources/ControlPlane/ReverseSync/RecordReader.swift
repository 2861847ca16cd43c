import Comparison
import Configuration
import ContentCoding
import HTTPClient
import Journal
import Rollout
import Routing

/// Reads on both backends what a write has touched, as the user who wrote it. Blocks; for a thread of its own.
struct RecordReader {
    let settings: Settings
    private let routes: RouteTable

    init(settings: Settings) {
        self.settings = settings
        routes = RouteTable(settings.routes)
    }

    /// What came of one reading.
    enum Finding: Equatable {
        case equal
        case different(legacy: Int, new: Int, pointers: [String])
        /// Nothing can be said: a side refused, failed or did not answer.
        case unverifiable
    }

    /// The methods whose own target is what they write.
    private static let ownTarget: Set<String> = ["PUT", "PATCH", "DELETE", "MKCOL", "PROPPATCH"]

    /// Where the records of a write are read; nil where nothing says so.
    func targets(_ submission: Submission) -> [String]? {
        var path = String(submission.target.prefix { $0 != "?" })
        var method = submission.method
        let index = method.withUTF8 { method in
            path.withUTF8 { path -> Int? in
                guard let m = method.baseAddress, let p = path.baseAddress else { return nil }
                return routes.match(method: m, method.count, path: p, path.count)
            }
        }
        if let template = index.flatMap({ routes.routes[$0].read }) {
            guard template.namesRecord else {
                return template.target(record: nil, user: submission.user).map { [$0] }
            }
            let targets = submission.records.compactMap { template.target(record: $0.record, user: submission.user) }
            return targets.isEmpty || targets.count < submission.records.count ? nil : targets
        }
        return RecordReader.ownTarget.contains(submission.method) ? [submission.target] : nil
    }

    /// Reads a target on both sides and compares.
    func compare(_ target: String, as submission: Submission) -> Finding {
        let headers = RecordReader.readingLines(submission.headerLines)
        guard let legacy = fetch(target, .legacy, headers), let new = fetch(target, .new, headers) else {
            return .unverifiable
        }
        let absent = [404, 410]
        switch (absent.contains(legacy.status), absent.contains(new.status)) {
        case (true, true): return .equal
        case (true, false):
            return isContent(new) ? .different(legacy: legacy.status, new: new.status, pointers: []) : .unverifiable
        case (false, true):
            return isContent(legacy) ? .different(legacy: legacy.status, new: new.status, pointers: []) : .unverifiable
        case (false, false): break
        }
        guard isContent(legacy), isContent(new), let first = decoded(legacy), let second = decoded(new) else {
            return .unverifiable
        }
        let isJSON = [legacy, new].allSatisfy { isJSONMediaType($0.header("Content-Type") ?? "") }
        let found = first.withUnsafeBufferPointer { first in
            second.withUnsafeBufferPointer { second in
                differences(first, second, isJSON: isJSON, rules: settings.shadow.comparison)
            }
        }
        if found.isEmpty, legacy.status == new.status { return .equal }
        return .different(legacy: legacy.status, new: new.status, pointers: found)
    }

    private func isContent(_ answer: HTTPAnswer) -> Bool { [200, 203, 204].contains(answer.status) }

    private func decoded(_ answer: HTTPAnswer) -> [UInt8]? {
        let codings = answer.headers.filter { $0.name.lowercased() == "content-encoding" }.map(\.value)
        if codings.isEmpty { return answer.body }
        let outcome = answer.body.withUnsafeBufferPointer {
            decodeContent($0, codings: codings.joined(separator: ", "), limit: RecordReader.bodyMaxBytes)
        }
        if case .decoded(let bytes) = outcome { return bytes }
        return nil
    }

    /// The longest answer that is compared; a longer one is unverifiable.
    static let bodyMaxBytes = 16 << 20

    private func fetch(
        _ target: String, _ side: Side, _ headers: [(name: String, value: String)]
    ) -> HTTPAnswer? {
        let backend = settings.backend(side)
        var request = HTTPRequest(url: backend.urlText + target)
        request.headers = headers
        request.timeoutMilliseconds = Int(clamping: backend.timeoutMilliseconds)
        request.maximumBytes = RecordReader.bodyMaxBytes
        request.useTLS(of: backend)
        return try? EasyHandle().exchange(request)
    }

    /// Lines of a write that say nothing to a reader, or would make its answer another one.
    private static let writing: Set<String> = [
        "accept-encoding", "range", "expect", "idempotency-key", "connection", "keep-alive", "te", "trailer",
        "transfer-encoding", "upgrade", "prefer", "depth", "destination", "overwrite", "want-digest", "digest",
    ]

    /// The lines of a write that tell who asks: what is about its body or its conditions is left out.
    static func readingLines(_ lines: [UInt8]) -> [(name: String, value: String)] {
        String(decoding: lines, as: UTF8.self).split(whereSeparator: \.isNewline).compactMap { line in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let name = String(line[..<colon])
            let lower = name.lowercased()
            if writing.contains(lower) || lower.hasPrefix("content-") || lower.hasPrefix("if-") { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            return (name: name, value: String(value))
        }
    }
}
