import HTTPWire

/// A second reading of RFC 9112, as plain as possible and sharing nothing with the parser: splits into lines and looks
/// at each. Random messages must be judged alike by both. Of the limits it knows the method's only.
struct ReferenceHead {
    enum Verdict: Equatable {
        case refused, incomplete
        case complete(length: Int, fields: Int, contentLength: Int, isChunked: Bool, keepAlive: Bool)
    }

    static func judge(_ bytes: [UInt8], asRequest: Bool) -> Verdict {
        var start = 0
        if asRequest {
            while start < 4, bytes.count >= start + 2, bytes[start] == 13, bytes[start + 1] == 10 { start += 2 }
            // The method is judged as soon as it is there.
            let method = bytes[start...].prefix { isToken($0) }
            if method.count > 32 { return .refused }
            if method.endIndex < bytes.count, bytes[method.endIndex] != 32 || method.isEmpty {
                let isHalfLine = method.isEmpty && start < 4 && bytes.count == start + 1 && bytes[start] == 13
                return isHalfLine ? .incomplete : .refused
            }
        }
        var lines: [[UInt8]] = []
        var line: [UInt8] = []
        var i = start
        while i < bytes.count {
            let byte = bytes[i]
            if byte == 13 {
                if i + 1 == bytes.count { return judge(lines, length: nil, asRequest) }
                guard bytes[i + 1] == 10 else { return .refused }
                i += 2
                if line.isEmpty, !lines.isEmpty { return judge(lines, length: i, asRequest) }
                lines.append(line)
                line = []
                continue
            }
            if byte < 32 && byte != 9 || byte == 127 {
                return .refused
            }
            line.append(byte)
            i += 1
        }
        return judge(lines, length: nil, asRequest)
    }

    /// `length` is nil where the head has not ended: then only what the lines so far say can refuse it.
    private static func judge(_ lines: [[UInt8]], length: Int?, _ asRequest: Bool) -> Verdict {
        guard let first = lines.first else { return .incomplete }
        guard let start = asRequest ? requestLine(first) : statusLine(first) else { return .refused }
        var values: [String: [String]] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: 58), colon > 0, line[..<colon].allSatisfy(isToken) else {
                return .refused
            }
            let trimmed = trim(text(line[(colon + 1)...]))
            values[text(line[..<colon]).lowercased(), default: []].append(trimmed)
        }
        let lengths = values["content-length"] ?? []
        let codings = values["transfer-encoding"] ?? []
        let hosts = asRequest ? values["host"] ?? [] : []
        if lengths.count > 1 || codings.count > 1 || hosts.count > 1 { return .refused }
        if let value = lengths.first, number(value) == nil { return .refused }
        if let value = codings.first, value.lowercased() != "chunked" { return .refused }
        if let value = hosts.first, !isHost(value) { return .refused }
        guard let length else { return .incomplete }
        if !lengths.isEmpty && !codings.isEmpty || !codings.isEmpty && start.minor == 0 { return .refused }
        if asRequest, hosts.isEmpty && start.minor == 1 { return .refused }
        if let authority = start.authority, let host = hosts.first, authority.lowercased() != host.lowercased() {
            return .refused
        }
        let options = (values["connection"] ?? []).flatMap { $0.split(separator: ",") }.map { trim($0.lowercased()) }
        let keepAlive = !options.contains("close") && (start.minor == 1 || options.contains("keep-alive"))
        return .complete(
            length: length, fields: lines.count - 1, contentLength: lengths.first.flatMap(number) ?? -1,
            isChunked: !codings.isEmpty, keepAlive: keepAlive)
    }

    private static func requestLine(_ line: [UInt8]) -> (minor: Int, authority: String?)? {
        let parts = line.split(separator: 32, omittingEmptySubsequences: false).map(text)
        guard parts.count == 3, parts[0] != "CONNECT", let minor = version(parts[2]) else { return nil }
        let target = parts[1]
        if target.isEmpty || target.contains("#") || target.contains("\t") { return nil }
        if target.hasPrefix("/") || target == "*" && parts[0] == "OPTIONS" { return (minor, nil) }
        let lower = target.lowercased()
        guard let scheme = ["http://", "https://"].first(where: lower.hasPrefix) else { return nil }
        let authority = String(target.dropFirst(scheme.count).prefix { $0 != "/" && $0 != "?" })
        return authority.isEmpty || !isHost(authority) ? nil : (minor, authority)
    }

    private static func statusLine(_ line: [UInt8]) -> (minor: Int, authority: String?)? {
        guard line.count == 12 || line.count > 12 && line[12] == 32, line[8] == 32 else { return nil }
        guard let minor = version(text(line[..<8])), line[9...11].allSatisfy({ $0 >= 48 && $0 <= 57 }),
            let status = Int(text(line[9...11])), status >= 100, status < 600
        else { return nil }
        return (minor, nil)
    }

    private static func version(_ text: String) -> Int? { text == "HTTP/1.1" ? 1 : text == "HTTP/1.0" ? 0 : nil }

    private static func number(_ text: String) -> Int? {
        text.unicodeScalars.allSatisfy { $0.value >= 48 && $0.value <= 57 } ? Int(text) : nil
    }

    private static func isHost(_ text: String) -> Bool {
        guard text.unicodeScalars.allSatisfy(\.isASCII) else { return false }
        if text.isEmpty { return true }
        var rest = Substring(text)
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return false }
            let inside = text[text.index(after: text.startIndex)..<end]
            guard !inside.isEmpty, inside.allSatisfy({ $0 == ":" || $0 != "%" && isHostCharacter($0) }) else {
                return false
            }
            rest = text[text.index(after: end)...]
        } else {
            rest = text.drop(while: isHostCharacter)
            if rest.startIndex == text.startIndex { return false }
        }
        if rest.isEmpty { return true }
        return rest.hasPrefix(":") && rest.count <= 6 && rest.dropFirst().allSatisfy { "0123456789".contains($0) }
    }

    private static func isHostCharacter(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || "-._~!$&'()*+,;=%".contains(character))
    }

    private static func trim(_ text: String) -> String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        return String(text.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        let character = Character(Unicode.Scalar(byte))
        return byte < 128 && (character.isLetter || character.isNumber || "!#$%&'*+-.^_`|~".contains(character))
    }

    /// Latin-1, so that every byte is one character.
    private static func text(_ bytes: some Sequence<UInt8>) -> String {
        var scalars = String.UnicodeScalarView()
        for byte in bytes { scalars.append(Unicode.Scalar(byte)) }
        return String(scalars)
    }
}
