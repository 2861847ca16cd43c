import Testing

@testable import Configuration

@Suite struct RedactionTests {
    @Test(arguments: [
        ("http://user:pa/ss@word@host/x", "http://[redacted]@host/x"),
        ("user:hunter2@host:80", "[redacted]@host:80"),
        ("http://host/x?token=hunter2", "http://host/x?[redacted]"),
        ("http://host/x", "http://host/x"),
        ("a\nb\t\"\\\u{1B}[31m\u{202E}", "a\\nb\\t\\\"\\\\\\u{1b}[31m\\u{202e}"),
    ])
    func whatMayBeASecretIsNotShown(_ value: String, _ shown: String) {
        #expect(Redaction.shown(value) == shown)
    }

    @Test func theValueOfASecretKeyIsNotShown() {
        #expect(Redaction.shown("hunter2", keyPath: "user.from[0].jwt.hs256_secret") == "[redacted]")
        #expect(Redaction.shown("hunter2", keyPath: "store.password") == "[redacted]")
        #expect(Redaction.shown("secret.key", keyPath: "user.from[0].jwt.hs256_secret_file") == "secret.key")
        #expect(Redaction.shown("https://chat/hook/s3cret", keyPath: "alerts.webhook") == "https://chat/[redacted]")
    }

    @Test func longValuesAreCut() {
        #expect(Redaction.shown(String(repeating: "x", count: 1000)).count == 81)
    }
}
