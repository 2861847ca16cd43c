#if canImport(Glibc)
    internal import Glibc
#endif

/// A host and a port as they were written.
struct HostPort: Equatable {
    /// Lower case, without the brackets of an IPv6 address.
    var host: String
    var port: UInt16?
    var isIPv6: Bool

    /// `host:port`, with brackets where they belong.
    var text: String { (isIPv6 ? "[\(host)]" : host) + (port.map { ":\($0)" } ?? "") }

    /// Listens on every address of its family.
    var isWildcard: Bool { host == "0.0.0.0" || host == "::" }
    var isLoopback: Bool {
        if host == "localhost" || host == "::1" { return true }
        // A name may begin like an address: `127.example` is anywhere.
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

extension Value {
    /// An address to listen on: `127.0.0.1:8080`, `[::1]:8080`, `localhost:0`.
    static func address(_ text: String) throws(ValueProblem) -> HostPort {
        let accepted = "host:port, such as 127.0.0.1:8080 or [::1]:8080"
        if let port = UInt16(text) ?? (text.hasPrefix(":") ? UInt16(text.dropFirst()) : nil) {
            throw ValueProblem("an address without its host", accepted: accepted, suggestion: "127.0.0.1:\(port)")
        }
        if text.contains("://") {
            throw ValueProblem("a URL where an address is expected", accepted: accepted)
        }
        guard let parsed = hostPort(text[...]) else {
            let colons = text.count { $0 == ":" }
            let bracketed = colons > 1 && isIPv6(text) ? "[\(text)]:8080" : nil
            throw ValueProblem("not an address", accepted: accepted, suggestion: bracketed)
        }
        guard parsed.port != nil else {
            throw ValueProblem("an address without its port", accepted: accepted, suggestion: text + ":8080")
        }
        return parsed
    }

    /// `host`, `host:port` or `[v6]:port`; nil when it is malformed.
    static func hostPort(_ text: Substring) -> HostPort? {
        var host = text
        var port: Substring?
        let isIPv6 = text.hasPrefix("[")
        if isIPv6 {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            if !rest.isEmpty {
                guard rest.first == ":" else { return nil }
                port = rest.dropFirst()
            }
            guard Self.isIPv6(String(host)) else { return nil }
        } else {
            if let colon = text.firstIndex(of: ":") {
                host = text[..<colon]
                port = text[text.index(after: colon)...]
            }
            guard isName(host) else { return nil }
        }
        guard let port else { return HostPort(host: host.lowercased(), port: nil, isIPv6: isIPv6) }
        // UInt16("+80") is 80.
        guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(port) else { return nil }
        return HostPort(host: host.lowercased(), port: number, isIPv6: isIPv6)
    }

    /// The name that a certificate has to have and that is asked for (RFC 6066 §3), or an address.
    static func serverName(_ text: String) throws(ValueProblem) -> String {
        let accepted = "a host name or an address, such as new.internal, 192.0.2.7, 2001:db8::7"
        if isName(text[...]) || isIPv6(text) { return text }
        // A root's dot is part of no certificate.
        var bare = text.trimmed
        if bare.hasSuffix(".") { bare.removeLast() }
        if bare.hasPrefix("["), bare.hasSuffix("]") { bare = String(bare.dropFirst().dropLast()) }
        throw ValueProblem(
            "not a server name", accepted: accepted,
            suggestion: bare != text && (isName(bare[...]) || isIPv6(bare)) ? bare : nil)
    }

    /// A host name (RFC 1123 §2.1, underscores tolerated) or an IPv4 address; digits and dots alone must be an address.
    private static func isName(_ text: Substring) -> Bool {
        guard !text.isEmpty, text.utf8.count <= 253 else { return false }
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        for label in labels {
            guard !label.isEmpty, label.utf8.count <= 63, label.first != "-", label.last != "-" else { return false }
            guard label.utf8.allSatisfy({ isLetterOrDigit($0) || $0 == 0x2D || $0 == 0x5F }) else { return false }
        }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }) else { return true }
        return labels.count == 4 && labels.allSatisfy { UInt8($0) != nil }
    }

    private static func isIPv6(_ text: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET6, text, &address) == 1
    }

    static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}
