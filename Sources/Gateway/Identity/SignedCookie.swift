import Routing
import Telemetry

/// Verifies cookies that the application has signed, `VALUE.EXPIRY.SIGNATURE`, and reads the user id out of them. Immutable,
/// any thread.
///
/// SIGNATURE is the Base64url, without padding, of the HMAC-SHA-256 of `NAME=VALUE.EXPIRY`: of all that stands before its dot,
/// the name included, so that a signed cookie of another name is worth nothing here. EXPIRY is in seconds since 1970, or empty:
/// the cookie does not expire. There is one form only, read from its end: VALUE may hold dots, and no VALUE can pass for an
/// expiry.
struct SignedCookie: Sendable {
    /// More secrets in a file are an error. The first signs, the others are being rotated out.
    static let maximumSecrets = 8
    static let minimumSecretBytes = 32
    /// Longer cookies are not looked at; browsers keep no longer ones (RFC 6265 §6.1).
    static let maximumBytes = 4096

    let name: [UInt8]
    private let secrets: [SecretBytes]
    private let encoding: SignedCookieSource.Encoding
    private let requiresExpiry: Bool

    /// Reads the secrets.
    /// - Throws: when the file cannot be read or holds no secret that fits; the text holds nothing of what is in the file.
    init(_ source: SignedCookieSource) throws(IdentityError) {
        name = Array(source.name.utf8)
        encoding = source.encoding
        requiresExpiry = source.requiresExpiry
        secrets = try SignedCookie.secrets(source.secretFile)
    }

    /// The lines of the file that are not empty, each as it stands, without its line ending.
    private static func secrets(_ path: String) throws(IdentityError) -> [SecretBytes] {
        let file = try KeyFile(path)
        // A public key is no secret: whoever reads it could sign.
        guard !file.contains("-----BEGIN ") else {
            throw IdentityError(text: "secret file \(path) holds a PEM document, not secrets of one line each")
        }
        var secrets: [SecretBytes] = []
        var lines = 0
        for line in file.bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            lines += 1
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            if line.isEmpty { continue }
            guard line.count >= minimumSecretBytes else {
                throw IdentityError(
                    text: "line \(lines) of secret file \(path) is too short: \(line.count) bytes; "
                        + "accepted: lines of \(minimumSecretBytes) bytes or more")
            }
            secrets.append(SecretBytes(UnsafeBufferPointer(rebasing: line)))
        }
        guard !secrets.isEmpty, secrets.count <= maximumSecrets else {
            throw IdentityError(
                text: "secret file \(path) holds \(secrets.count) secrets; accepted: 1 to \(maximumSecrets), one a line"
            )
        }
        return secrets
    }

    /// What a cookie's value came to: as a token's verdict, with the id in scratch memory.
    enum Verdict {
        case absent
        case verified(count: Int)
        case refused(IdentityRejection)
    }

    /// Judges a cookie.
    /// - Parameters:
    ///   - value: the cookie's value; empty is what a log-out leaves behind, and no cookie.
    ///   - output: gets the id; has room for `maximumBytes`.
    func judge(
        _ value: UnsafeBufferPointer<UInt8>, nowSeconds: Int64, into output: UnsafeMutablePointer<UInt8>
    ) -> Verdict {
        if value.isEmpty { return .absent }
        let dot = UInt8(ascii: ".")
        guard value.count <= SignedCookie.maximumBytes, let last = value.lastIndex(of: dot),
            let middle = value[..<last].lastIndex(of: dot)
        else { return .refused(.malformed) }
        let signed = UnsafeBufferPointer(rebasing: value[..<last])
        guard let isSigned = isSigned(signed, by: UnsafeBufferPointer(rebasing: value[(last + 1)...])) else {
            return .refused(.malformed)
        }
        guard isSigned else { return .refused(.signature) }
        let expiry = UnsafeBufferPointer(rebasing: value[(middle + 1)..<last])
        if expiry.isEmpty {
            if requiresExpiry { return .refused(.malformed) }
        } else {
            guard let seconds = SignedCookie.number(expiry) else { return .refused(.malformed) }
            if nowSeconds >= seconds { return .refused(.expired) }
        }
        guard let count = decode(UnsafeBufferPointer(rebasing: value[..<middle]), into: output),
            isPrintable(UnsafeBufferPointer(start: output, count: count))
        else { return .refused(.malformed) }
        return .verified(count: count)
    }

    /// Whether one of the secrets has made the signature; nil when that is no Base64url.
    private func isSigned(_ text: UnsafeBufferPointer<UInt8>, by signature: UnsafeBufferPointer<UInt8>) -> Bool? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: name.count + 1 + text.count) { message in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: signature.count + 2) { code -> Bool? in
                guard let input = signature.baseAddress, let output = code.baseAddress,
                    let count = Base64.decodeURL(input, signature.count, into: output)
                else { return nil }
                var end = message.update(fromContentsOf: name)
                message[end] = UInt8(ascii: "=")
                end = message[(end + 1)...].update(fromContentsOf: text)
                let whole = UnsafeBufferPointer(rebasing: UnsafeBufferPointer(message)[..<end])
                return secrets.contains { $0.isHMAC(UnsafeBufferPointer(start: output, count: count), of: whole) }
            }
        }
    }

    /// Decimal digits, at most as many as stay far from overflow.
    private static func number(_ digits: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard digits.count <= 12, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    private func decode(_ value: UnsafeBufferPointer<UInt8>, into output: UnsafeMutablePointer<UInt8>) -> Int? {
        guard let input = value.baseAddress else { return 0 }
        switch encoding {
        case .plain:
            output.update(from: input, count: value.count)
            return value.count
        case .percent: return PercentCoding.decode(input, value.count, into: output)
        case .base64url: return Base64.decodeURL(input, value.count, into: output)
        }
    }
}
