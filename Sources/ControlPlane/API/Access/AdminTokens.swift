import CLinux
import Synchronization

/// The two bearer tokens of the admin API, kept in the data directory with mode 0600. Any thread.
package final class AdminTokens: Sendable {
    package enum Role: Sendable { case admin, viewer }

    /// Both tokens as they were read together.
    struct Pair: Sendable, Equatable {
        fileprivate var admin: [UInt8]
        fileprivate var viewer: [UInt8]
    }

    private let directory: String
    private let pair: Mutex<Pair>

    /// Reads the tokens, and makes those that are missing.
    /// - Throws: which file cannot be used, why, and what to do; never its content.
    package init(directory: String) throws(TokenError) {
        self.directory = directory
        pair = Mutex(try AdminTokens.readBoth(in: directory))
    }

    /// Whose token this is; compared in constant time.
    package func role(of token: String) -> Role? {
        let bytes = Array(token.utf8)
        let pair = pair.withLock { $0 }
        // Both are compared always, so that time tells nothing about which one came closer.
        let isAdmin = equal(bytes, pair.admin)
        let isViewer = equal(bytes, pair.viewer)
        return isAdmin ? .admin : isViewer ? .viewer : nil
    }

    // MARK: Rotation

    /// Reads the files again, without using what is in them yet. A file that was deleted is made anew with a new token.
    /// - Parameter mayMake: false for a look that must change nothing: a missing file is then passed over.
    func reread(mayMake: Bool) throws(TokenError) -> Pair? {
        if !mayMake {
            for name in AdminTokens.names where access("\(directory)/\(name)", F_OK) != 0 { return nil }
        }
        return try AdminTokens.readBoth(in: directory)
    }

    /// From now on these count, and the old ones no more.
    /// - Returns: whether they are others than before.
    @discardableResult
    func use(_ fresh: Pair) -> Bool {
        pair.withLock { pair in
            defer { pair = fresh }
            return pair != fresh
        }
    }

    // MARK: Files

    private static let names = ["admin.token", "viewer.token"]

    private static func readBoth(in directory: String) throws(TokenError) -> Pair {
        let pair = Pair(
            admin: try readOrMake("\(directory)/admin.token"), viewer: try readOrMake("\(directory)/viewer.token"))
        guard pair.admin != pair.viewer else {
            throw TokenError(
                text: "\(directory)/viewer.token holds the admin token, so that viewers could change everything; "
                    + "delete it, and a new one is made")
        }
        return pair
    }

    private func equal(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        var difference = UInt8(truncatingIfNeeded: a.count ^ b.count) | (a.count == b.count ? 0 : 1)
        for i in b.indices { difference |= b[i] ^ (i < a.count ? a[i] : 0) }
        return difference == 0
    }

    /// A secret that only its owner can read; made where there is none.
    static func readOrMake(_ path: String) throws(TokenError) -> [UInt8] {
        // Not to wait for somebody at the other end of a pipe.
        let existing = clinux_open(path, O_RDONLY | O_NONBLOCK, 0)
        if existing >= 0 {
            defer { close(existing) }
            try check(existing, path)
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = read(existing, &bytes, bytes.count)
            let isSpace = { (byte: UInt8) in byte <= 0x20 || byte == 0x7f }
            let text = bytes.prefix(max(0, count)).drop(while: isSpace)
            let token = text.prefix(text.lastIndex { !isSpace($0) }.map { $0 + 1 - text.startIndex } ?? 0)
            // A note beside the token would become part of it, and nobody would get in any more.
            guard token.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
                throw TokenError(
                    text: "\(path) holds more than one token of printable ASCII: one line without white space")
            }
            guard token.count >= 16 else { throw TokenError(text: "\(path) holds no token of at least 16 characters") }
            return Array(token)
        }
        guard existing == -ENOENT else {
            throw TokenError(text: "cannot read \(path): \(String(cString: strerror(-existing)))")
        }
        return try make(path)
    }

    /// A token that others can read is none.
    private static func check(_ descriptor: Int32, _ path: String) throws(TokenError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & 0o170000 == 0o100000 else {
            throw TokenError(text: "\(path) is no plain file")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw TokenError(
                text: "\(path) belongs to user \(status.st_uid), and the gateway runs as user \(geteuid()): "
                    + "chown \(geteuid()) \(path)")
        }
        guard status.st_mode & 0o077 == 0 else {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw TokenError(text: "\(path) can be read by others than its owner (mode 0\(mode)): chmod 600 \(path)")
        }
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
