import CLinux
import Configuration
import Routing

/// What a line of the access log says, and of which requests there is one: the compiled form of `access_log`. Immutable,
/// any thread.
final class AccessLogRules: Sendable {
    let style: LineWriter.Style
    let client: AccessLogSettings.Client
    let user: AccessLogSettings.User
    private let query: AccessLogSettings.Query
    private let sampleHundredths: UInt64
    private let alwaysFrom: Int
    /// Patterns whose user is left out of the path.
    private let userPaths: [UserPath]

    init(_ settings: AccessLogSettings, _ user: UserSettings) {
        style = settings.format == .json ? .json : .combined
        client = settings.client
        self.user = settings.user
        query = settings.query
        sampleHundredths = UInt64(settings.sampleHundredths)
        alwaysFrom = settings.alwaysFrom
        var patterns = settings.redact
        if settings.user != .plain {
            for case .path(let pattern) in user.from { patterns.append(pattern) }
        }
        userPaths = patterns.compactMap { UserPath($0) }
    }

    /// Whether a request is among those that are sampled.
    func samples(_ random: () -> UInt64) -> Bool {
        sampleHundredths >= 10_000 || random() % 10_000 < sampleHundredths
    }

    /// Whether a status is written down whatever the sample says.
    func isAlways(_ status: Int) -> Bool { status >= alwaysFrom }

    // MARK: What must not be told

    private static let ellipsis: StaticString = "\u{2026}"

    /// A target as the line shows it: path and query.
    /// - Parameter end: nothing is written from there on; a mark says so.
    func write(
        _ path: UnsafePointer<UInt8>, _ count: Int, query: UnsafeBufferPointer<UInt8>?, to line: inout LineWriter,
        until end: Int
    ) {
        let room = end - 8
        guard write(path, count, to: &line, until: room) else { return line.add(Self.ellipsis) }
        guard let query, self.query != .none else { return }
        line.add(UInt8(ascii: "?"))
        guard let base = query.baseAddress, !query.isEmpty else { return }
        let isWhole =
            self.query == .plain
            ? line.path(base, query.count, until: room, style) : names(base, query.count, to: &line, until: room)
        if !isWhole { line.add(Self.ellipsis) }
    }

    private func write(_ path: UnsafePointer<UInt8>, _ count: Int, to line: inout LineWriter, until end: Int) -> Bool {
        // Segments that are somebody's id, by where they begin.
        var at = 0
        while true {
            var next = count
            var after = count
            for pattern in userPaths {
                if let user = pattern.user(in: path, count), user.start >= at, user.start < next {
                    (next, after) = (user.start, user.end)
                }
            }
            guard line.path(path + at, next - at, until: end, style) else { return false }
            if next == count { return true }
            line.add(Self.ellipsis)
            at = after
        }
    }

    /// The names of a query's parameters; what has no name may be a value itself.
    private func names(_ query: UnsafePointer<UInt8>, _ count: Int, to line: inout LineWriter, until end: Int) -> Bool {
        var at = 0
        while true {
            var stop = at
            while stop < count, query[stop] != UInt8(ascii: "&") { stop += 1 }
            var equals = at
            while equals < stop, query[equals] != UInt8(ascii: "=") { equals += 1 }
            if equals < stop {
                guard line.path(query + at, equals + 1 - at, until: end, style) else { return false }
            }
            guard line.count + 4 <= end else { return false }
            if equals < stop ? equals + 1 < stop : at < stop { line.add(Self.ellipsis) }
            if stop == count { return true }
            line.add(UInt8(ascii: "&"))
            at = stop + 1
        }
    }

    /// A client's numeric address, masked to its network where that is asked for: /24 of IPv4, /48 of IPv6.
    func write(client address: [UInt8], to line: inout LineWriter) {
        switch client {
        case .none: line.add(UInt8(ascii: "-"))
        case .plain:
            address.withUnsafeBufferPointer { bytes in
                if let base = bytes.baseAddress { line.text(base, bytes.count, until: line.count + 64, style) }
            }
        case .masked: mask(address, to: &line)
        }
    }

    private func mask(_ address: [UInt8], to line: inout LineWriter) {
        var dot = address.count - 1
        while dot >= 0, address[dot] != UInt8(ascii: ".") { dot -= 1 }
        if dot >= 0 {
            // An IPv4 address, inside an IPv6 one (`::ffff:`) or not.
            address.withUnsafeBufferPointer { bytes in
                if let base = bytes.baseAddress { line.text(base, dot + 1, until: line.count + 64, style) }
            }
            return line.add(UInt8(ascii: "0"))
        }
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
            guard let base = text.baseAddress, address.count < 46 else { return line.add(UInt8(ascii: "-")) }
            for (index, byte) in address.enumerated() { base[index] = CChar(bitPattern: byte) }
            base[address.count] = 0
            var network = in6_addr()
            guard inet_pton(AF_INET6, base, &network) == 1 else { return line.add(UInt8(ascii: "-")) }
            withUnsafeMutableBytes(of: &network) { bytes in
                for index in 6..<16 { bytes[index] = 0 }
            }
            guard inet_ntop(AF_INET6, &network, base, 64) != nil else { return line.add(UInt8(ascii: "-")) }
            base.withMemoryRebound(to: UInt8.self, capacity: 64) { line.add($0, strlen(base)) }
        }
    }
}
