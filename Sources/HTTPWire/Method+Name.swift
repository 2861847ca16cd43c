extension Method {
    /// The token; of `other` the word that stands for any (OpenTelemetry's semantic conventions for HTTP).
    package var name: StaticString {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .delete: "DELETE"
        case .options: "OPTIONS"
        case .patch: "PATCH"
        case .connect: "CONNECT"
        case .trace: "TRACE"
        case .propfind: "PROPFIND"
        case .proppatch: "PROPPATCH"
        case .mkcol: "MKCOL"
        case .copy: "COPY"
        case .move: "MOVE"
        case .lock: "LOCK"
        case .unlock: "UNLOCK"
        case .report: "REPORT"
        case .search: "SEARCH"
        case .other: "_OTHER"
        }
    }

    /// The method of this token.
    package init(name: String) {
        // `of` reads on behind the token.
        let bytes = Array(name.utf8) + [UInt8](repeating: 0, count: 8)
        self = bytes.withUnsafeBufferPointer { buffer in
            buffer.baseAddress.map { Method.of($0, name.utf8.count) } ?? .other
        }
    }
}
