import Testing

/// What is accepted of `user`, and may be meant otherwise.
@Suite struct IdentityWarningTests {
    private func warnings(_ user: String) -> [String] {
        load(user + "\n" + minimal, files: ["k": "secret"]).warnings
    }

    @Test func whoWants401NeedsASourceThatVerifies() {
        #expect(
            warnings("user: {from: [{header: X-User-Id}], unverifiable: 401}") == [
                "cutover.yaml:1: user.unverifiable: no source of user.from verifies an id (jwt and signed_cookie do), "
                    + "so nobody is ever answered \"401\""
            ])
        #expect(warnings("user: {from: [{jwt: {hs256_secret_file: k}}], unverifiable: 401}") == [])
        #expect(warnings("user: {from: [{header: X-User-Id}], unverifiable: anonymous}") == [])
    }

    @Test func aPlainSourceInFrontOfAProofIsNamed() {
        let cookie = "{signed_cookie: {name: uid, secret_file: k}}"
        #expect(
            warnings("user:\n  from:\n  - {header: X-User-Id}\n  - {jwt: {hs256_secret_file: k}}") == [
                "cutover.yaml:3: user.from[0]: anybody can write this source, and it names the user before jwt in "
                    + "user.from[1] is looked at"
            ])
        #expect(warnings("user: {from: [{query: u}, \(cookie)]}").count == 1)
        #expect(warnings("user: {from: [\(cookie), {query: u}]}") == [])
        #expect(warnings("user: {from: [{header: X}, {query: u}]}") == [])
    }

    @Test func aHeaderOfTrustedProxiesAloneIsNoSuchSource() {
        let sources = "[{header: X-User-Id}, {jwt: {hs256_secret_file: k}}]"
        #expect(warnings("trusted_proxies: [10.0.0.0/8]\nuser: {from: \(sources)}") == [])
        let more = "[{header: X-User-Id}, {cookie: uid}, {jwt: {hs256_secret_file: k}}]"
        #expect(
            warnings("trusted_proxies: [10.0.0.0/8]\nuser: {from: \(more)}").first?.contains("from[1]: any") == true)
    }
}
