import Gateway
import Testing

@testable import ControlPlane

private func field(_ name: String, of response: ServiceResponse) -> String {
    response.headers.first { $0.name == name }?.value ?? ""
}

private func text(_ response: ServiceResponse) -> String { String(decoding: response.body, as: UTF8.self) }

struct AdminPageTests {
    @Test func everyAnswerHasANonceOfItsOwnInPolicyStyleAndScript() throws {
        let page = AdminPage()
        var nonces: Set<String> = []
        for _ in 0..<50 {
            let response = page.response()
            let policy = field("Content-Security-Policy", of: response)
            let nonce = String(try #require(policy.split(separator: "'nonce-").dropFirst().first).prefix { $0 != "'" })
            #expect(nonce.count == 32 && nonce.allSatisfy(\.isHexDigit))
            #expect(text(response).split(separator: "nonce=\"\(nonce)\"").count == 3, "style and script")
            nonces.insert(nonce)
        }
        #expect(nonces.count == 50)
    }

    @Test func thePolicyLetsNothingElseInAndTheAnswerIsNotKept() {
        let response = AdminPage().response()
        let policy = field("Content-Security-Policy", of: response)
        for rule in [
            "default-src 'none'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ] {
            #expect(policy.split(separator: "; ").contains(Substring(rule)))
        }
        #expect(!policy.contains("unsafe") && !policy.contains("*"))
        #expect(field("Cache-Control", of: response) == "no-store")
        #expect(field("Content-Type", of: response) == "text/html; charset=utf-8")
    }

    @Test func theDocumentIsWhole() {
        let document = text(AdminPage().response())
        #expect(!document.contains("{{"), "every place is filled")
        #expect(document.hasPrefix("<!doctype html>") && document.hasSuffix("</html>\n"))
        // What the contract promises to scripts and tests (§9).
        for action in ["promote", "pause", "resume", "rollback"] {
            #expect(document.contains("data-action=\"\(action)\""))
        }
        for name in ["stage", "percent", "state"] { #expect(document.contains("data-field=\"\(name)\"")) }
        for figure in ["read_error_rate", "write_p95_seconds", "conflict_rate", "fallback_rate"] {
            #expect(document.contains("name: \"\(figure)\""))
        }
    }

    @Test func nothingOnThePageParsesTextAsMarkup() {
        let document = text(AdminPage().response())
        for way in [
            "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "style=\"",
        ] {
            #expect(!document.contains(way), "\(way)")
        }
    }
}
