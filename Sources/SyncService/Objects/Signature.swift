internal import COpenSSL
internal import Values

/// Signature Version 4 of Amazon Web Services, which every S3-compatible store asks for: a request carries a code that only who has the secret can make, of its
/// method, path, fields and content. Made for one region; stateless.
struct RequestSigner: Sendable {
    let keyID: String
    let secret: String
    /// Of temporary credentials; nil for others.
    let token: String?
    let region: String

    /// The fields to add to a request.
    /// - Parameters:
    ///   - host: as the request's `Host` has it.
    ///   - path: percent-encoded, as it is sent.
    ///   - now: milliseconds since 1970.
    func fields(
        method: String, host: String, path: String, contentType: String?, body: [UInt8], now: Int64
    ) -> [(name: String, value: String)] {
        let moment = Instant(milliseconds: now).text.filter { $0 != "-" && $0 != ":" }
        let content = hex(sha256(body))
        // Sorted by name, as the rule has it.
        var signed: [(name: String, value: String)] = []
        if let contentType { signed.append(("content-type", contentType)) }
        signed += [("host", host), ("x-amz-content-sha256", content), ("x-amz-date", moment)]
        if let token { signed.append(("x-amz-security-token", token)) }
        let names = signed.map(\.name).joined(separator: ";")
        let lines = signed.map { "\($0.name):\($0.value)\n" }.joined()
        let canonical = "\(method)\n\(path)\n\n\(lines)\n\(names)\n\(content)"
        let scope = "\(moment.prefix(8))/\(region)/s3/aws4_request"
        let text = "AWS4-HMAC-SHA256\n\(moment)\n\(scope)\n\(hex(sha256(Array(canonical.utf8))))"
        var key = Array("AWS4\(secret)".utf8)
        for part in [String(moment.prefix(8)), region, "s3", "aws4_request"] { key = hmac(key, part) }
        let signature = hex(hmac(key, text))
        return signed.filter { $0.name != "host" } + [
            (
                "authorization",
                "AWS4-HMAC-SHA256 Credential=\(keyID)/\(scope), SignedHeaders=\(names), Signature=\(signature)"
            )
        ]
    }

    private func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        _ = SHA256(bytes, bytes.count, &digest)
        return digest
    }

    private func hmac(_ key: [UInt8], _ text: String) -> [UInt8] {
        let message = Array(text.utf8)
        var code = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        var length: UInt32 = 0
        _ = HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &code, &length)
        return code
    }

    private func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
