internal import Routing

/// The sources of ids that are verified: tokens and signed cookies, and what they are verified with.
extension SettingsDecoder {
    /// `{header, claim}` and one key: `hs256_secret_file`, `rs256_public_key_file`, `es256_public_key_file`, `algorithm` with
    /// `public_key_file`, or `jwks_file`; and what has to stand in the token besides.
    mutating func jwt(_ section: Section) -> UserSource? {
        let claims = claims(section)
        guard let fileKey = keyFileKey(section) else { return nil }
        let algorithm = algorithm(section, fileKey)
        guard let file = filePath(section, fileKey) else { return nil }
        if fileKey == "jwks_file" {
            if section.has("algorithm") {
                diagnostics.error(
                    section.path("algorithm"), value: diagnostics.text(section.path("algorithm")),
                    "does not go with jwks_file: each key of the set says what it is for",
                    accepted: "jwks_file without it")
            }
            return took(.jwt(claims(.set(file: file))), file, section.path(fileKey))
        }
        guard let algorithm else { return nil }
        return took(.jwt(claims(.one(algorithm, file: file))), file, section.path(fileKey))
    }

    /// What a token has to say, waiting for the keys that it is judged with.
    private func claims(_ section: Section) -> (JWTSource.Keys) -> JWTSource {
        var source = JWTSource(header: "Authorization", claim: "sub", keys: .set(file: ""))
        section.set(&source.header, "header", Value.token)
        section.set(&source.claim, "claim", Value.text)
        if let issuers = texts(section, "issuer") { source.issuers = issuers }
        if let audiences = texts(section, "audience") { source.audiences = audiences }
        section.set(&source.leewaySeconds, "leeway", Value.seconds(from: 0, to: 3600))
        section.setPlain(&source.requiresExpiry, "require_exp", Value.boolean)
        return { keys in
            var source = source
            source.keys = keys
            return source
        }
    }

    /// One text, or a list of them.
    private func texts(_ section: Section, _ key: String) -> [String]? {
        guard case .sequence? = section.node(key)?.content else { return section.value(key, Value.text).map { [$0] } }
        let texts = section.values(key, of: "texts", Value.text)
        if let texts, texts.isEmpty, !diagnostics.hasFailedWithin(section.path(key)) {
            diagnostics.error(section.path(key), "an empty list", accepted: "one text, or a list of one or more")
        }
        return texts
    }

    /// The key that names the file, where exactly one is given.
    private func keyFileKey(_ section: Section) -> String? {
        let keys = [
            "hs256_secret_file", "rs256_public_key_file", "es256_public_key_file", "public_key_file", "jwks_file",
        ]
        let given = section.given(keys)
        if given.count == 1 { return given.first }
        // The key is there, misspelt, and has been reported.
        if given.isEmpty, keys.contains(where: { diagnostics.hasFailed(section.path($0)) }) { return nil }
        diagnostics.error(
            section.path, line: section.line, value: given.isEmpty ? nil : given.joined(separator: ", "),
            given.isEmpty ? "no key to judge the token with" : "more than one key to judge the token with",
            accepted: "one of " + keys.joined(separator: ", "))
        return nil
    }

    private func algorithm(_ section: Section, _ fileKey: String) -> JWTSource.Algorithm? {
        if fileKey == "jwks_file" { return nil }
        let named = section.value("algorithm", Value.word(["hs256", "rs256", "es256"]))
        guard fileKey == "public_key_file" else {
            let algorithm = JWTSource.Algorithm(rawValue: String(fileKey.prefix(5)))
            if let named, named != algorithm?.rawValue {
                diagnostics.error(
                    section.path("algorithm"), value: named, "does not go with \(fileKey)",
                    accepted: algorithm?.rawValue)
            }
            return algorithm
        }
        section.requireKey("algorithm", accepted: "rs256, es256")
        let algorithm = named.flatMap { JWTSource.Algorithm(rawValue: $0) }
        if algorithm == .hs256 {
            // A public key taken for a shared secret lets anybody sign.
            diagnostics.error(
                section.path("algorithm"), value: "hs256", "does not go with public_key_file",
                accepted: "rs256, es256")
            return nil
        }
        return algorithm
    }

    /// `{name, secret_file}`, and how the id is spelled.
    mutating func signedCookie(_ section: Section) -> UserSource? {
        section.requireKey("name", accepted: "the cookie's name")
        section.requireKey("secret_file", accepted: "a file with one secret a line")
        let name = section.value("name", Value.token)
        let file = filePath(section, "secret_file")
        let encoding = section.value("encoding", Value.word(SignedCookieSource.Encoding.self))
        let requiresExpiry = section.plain("require_expiry", Value.boolean)
        guard let name, let file else { return nil }
        var source = SignedCookieSource(name: name, secretFile: file)
        if let encoding { source.encoding = encoding }
        if let requiresExpiry { source.requiresExpiry = requiresExpiry }
        return took(.signedCookie(source), file, section.path("secret_file"))
    }

    private mutating func took(_ source: UserSource, _ file: String, _ keyPath: String) -> UserSource {
        requiredFiles.append((file, keyPath))
        sourcesWithKeys.append((source, keyPath))
        return source
    }

    mutating func decodeTrustedProxies(_ top: Section) {
        // Without the key every peer is believed; with an empty list, none is.
        let accepted = "addresses and networks, such as 10.0.0.0/8, 192.0.2.7, fd00::/8"
        if let ranges = top.values("trusted_proxies", of: accepted, Value.addressRange) {
            settings.trustedProxies = ranges
        }
    }
}
