import CLinux

/// The two bearer tokens of the admin API, kept in the data directory with mode 0600. Immutable, any thread.
package struct AdminTokens: Sendable {
    package enum Role: Sendable { case admin, viewer }

    private let adminToken: [UInt8]
    private let viewerToken: [UInt8]

    /// Reads the tokens, and makes those that are missing.
    /// - Throws: which file cannot be used and why; never its content.
    package init(directory: String) throws(TokenError) {
        adminToken = try AdminTokens.readOrMake("\(directory)/admin.token")
        viewerToken = try AdminTokens.readOrMake("\(directory)/viewer.token")
    }

    /// Whose token this is; compared in constant time.
    package func role(of token: String) -> Role? {
        let bytes = Array(token.utf8)
        // Both are compared always, so that time tells nothing about which one came closer.
        let isAdmin = equal(bytes, adminToken)
        let isViewer = equal(bytes, viewerToken)
        return isAdmin ? .admin : isViewer ? .viewer : nil
    }

    private func equal(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        var difference = UInt8(truncatingIfNeeded: a.count ^ b.count) | (a.count == b.count ? 0 : 1)
        for i in b.indices { difference |= b[i] ^ (i < a.count ? a[i] : 0) }
        return difference == 0
    }

    private static func readOrMake(_ path: String) throws(TokenError) -> [UInt8] {
        let existing = clinux_open(path, O_RDONLY, 0)
        if existing >= 0 {
            defer { close(existing) }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = read(existing, &bytes, bytes.count)
            let token = bytes.prefix(max(0, count)).filter { $0 > 0x20 && $0 < 0x7f }
            guard token.count >= 16 else { throw TokenError(text: "\(path) holds no token of at least 16 characters") }
            return Array(token)
        }
        guard existing == -ENOENT else {
            throw TokenError(text: "cannot read \(path): \(String(cString: strerror(-existing)))")
        }
        return try make(path)
    }

    private static func make(_ path: String) throws(TokenError) -> [UInt8] {
        var random = [UInt8](repeating: 0, count: 32)
        guard getentropy(&random, random.count) == 0 else { throw TokenError(text: "the system gives no random bytes") }
        let digits = Array("0123456789abcdef".utf8)
        let token = random.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        // Under another name until it is whole: half a token, left by a crash, would keep the gateway from starting.
        let draft = path + ".new"
        unlink(draft)
        let file = clinux_open(draft, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard file >= 0 else { throw TokenError(text: "cannot create \(path): \(String(cString: strerror(-file)))") }
        defer { close(file) }
        let line = token + [0x0a]
        guard write(file, line, line.count) == line.count, fsync(file) == 0, link(draft, path) == 0 else {
            throw TokenError(text: "cannot write \(path): \(String(cString: strerror(clinux_errno())))")
        }
        unlink(draft)
        return token
    }
}

/// A token file that cannot be used.
package struct TokenError: Error, Sendable {
    package let text: String
}
