import CPage
import Gateway

/// The operators' page: one document with its style and script in it, so that it needs nothing but the gateway.
///
/// It holds no data and no secret: those it asks the API for, with the token of whoever looks at it. Immutable, any thread.
struct AdminPage: Sendable {
    /// The document around the places where the nonce of an answer goes.
    private let pieces: [[UInt8]]

    init() {
        let document = bytes(cpage_document())
            .filling("{{style}}", with: bytes(cpage_style())).filling("{{script}}", with: bytes(cpage_script()))
        pieces = document.split(at: "{{nonce}}")
    }

    /// An answer of its own for each request: the nonce lets this document's style and script in, and nothing else.
    func response() -> ServiceResponse {
        let nonce = hexadecimal(.random(in: .min ... .max), .random(in: .min ... .max))
        let policy = [
            "default-src 'none'", "script-src 'nonce-\(nonce)'", "style-src 'nonce-\(nonce)'", "connect-src 'self'",
            "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
            // Nothing that users wrote can become markup: the browser refuses to parse a text as HTML.
            "require-trusted-types-for 'script'", "trusted-types 'none'",
        ]
        return ServiceResponse(
            status: 200,
            headers: [
                ("Content-Type", "text/html; charset=utf-8"),
                ("Content-Security-Policy", policy.joined(separator: "; ")),
                ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
                ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
                ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
                // A kept document would come with the nonce of another answer.
                ("Cache-Control", "no-store"),
            ],
            body: Array(pieces.joined(separator: Array(nonce.utf8))))
    }
}

/// The bytes belong to the binary: they are there for as long as it runs, and nobody writes them.
private func bytes(_ text: cpage_text) -> [UInt8] {
    Array(UnsafeBufferPointer(start: text.bytes, count: text.count))
}

extension [UInt8] {
    /// The text with the one `mark` in it replaced. The page is part of the binary, so any other number is a mistake of ours.
    fileprivate func filling(_ mark: String, with text: [UInt8]) -> [UInt8] {
        let parts = split(at: mark)
        precondition(parts.count == 2, "the page has \(parts.count - 1) places for \(mark)")
        return parts[0] + text + parts[1]
    }

    /// The parts between the places where `mark` stands.
    fileprivate func split(at mark: String) -> [[UInt8]] {
        let mark = Array(mark.utf8)
        var parts: [[UInt8]] = []
        var start = 0
        var index = 0
        while index + mark.count <= count {
            if self[index] == mark[0], self[index..<index + mark.count].elementsEqual(mark) {
                parts.append(Array(self[start..<index]))
                index += mark.count
                start = index
            } else {
                index += 1
            }
        }
        return parts + [Array(self[start...])]
    }
}
