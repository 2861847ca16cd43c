import CLinux
import Configuration
import Synchronization

/// Which clients are counted as one for `limits.connections_per_address`: an IPv4 address, or an IPv6 network of 64 bits, because
/// whoever has one address of such a network has all of them (RFC 6177).
struct ClientNetwork: Hashable, Sendable {
    /// The first 64 bits of the address. An IPv4 address lies where IPv6 has multicast addresses, which no peer has.
    let bits: UInt64

    /// Nil for a peer that has no IP address.
    init?(_ peer: sockaddr_storage) {
        // Safe: the structure is as large as any address, and its family says which one it is.
        let bits: UInt64? = withUnsafeBytes(of: peer) { bytes in
            func number(_ offset: Int, _ count: Int) -> UInt64 {
                bytes[offset..<offset + count].reduce(0) { $0 << 8 | UInt64($1) }
            }
            switch Int32(peer.ss_family) {
            case AF_INET: return ClientNetwork.v4 | number(MemoryLayout<sockaddr_in>.offset(of: \.sin_addr) ?? 4, 4)
            case AF_INET6:
                let start = MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr) ?? 8
                // IPv4 is IPv4, whatever kind of socket it comes to (RFC 4291 §2.5.5.2).
                if number(start, 8) == 0, number(start + 8, 4) == 0xffff {
                    return ClientNetwork.v4 | number(start + 12, 4)
                }
                return number(start, 8)
            default: return nil
            }
        }
        guard let bits else { return nil }
        self.bits = bits
    }

    private static let v4: UInt64 = 0xffff_ffff_0000_0000
}

/// Open connections by client, over all loops. Has an entry only for who is connected, so that it is never larger than
/// `limits.connections`. Exact: whoever counts itself in has been let in. Any thread.
final class ClientCounts: Sendable {
    /// Loops rarely meet in one of them.
    private final class Part: Sendable {
        let counts = Mutex<[ClientNetwork: Int]>([:])
    }

    private let parts = (0..<16).map { _ in Part() }

    private func part(of client: ClientNetwork) -> Part {
        // The upper bits of a product depend on all bits of the address (Fibonacci hashing).
        parts[Int((client.bits &* 0x9e37_79b9_7f4a_7c15) >> 60)]
    }

    /// Counts one more connection of a client in, unless it has `limit` already.
    func enter(_ client: ClientNetwork, limit: Int) -> Bool {
        part(of: client).counts.withLock { counts in
            let open = counts[client, default: 0]
            guard open < limit else { return false }
            counts[client] = open + 1
            return true
        }
    }

    func leave(_ client: ClientNetwork) {
        part(of: client).counts.withLock { counts in
            let open = counts[client, default: 0]
            counts[client] = open > 1 ? open - 1 : nil
        }
    }

    /// How many clients have a connection open.
    var clients: Int { parts.reduce(0) { $0 + $1.counts.withLock { $0.count } } }
}

/// A listener as all loops share it. Any thread.
final class ClientPort: Sendable {
    /// Its certificates; nil serves without TLS.
    let tls: TLSPort?
    /// Its clients may speak HTTP/2: as agreed on in the handshake, or, without TLS, by what they say first.
    let http2: Bool
    /// Its place among the settings, which a reload leaves as it is.
    let index: Int
    private let open = Atomic<Int>(0)

    init(tls: TLSPort? = nil, http2: Bool = false, index: Int = 0) {
        self.tls = tls
        self.http2 = http2
        self.index = index
    }

    /// Counts one more connection in, unless there are `limit` already.
    fileprivate func enter(limit: Int) -> Bool {
        var count = open.load(ordering: .relaxed)
        while count < limit {
            let tried = open.compareExchange(expected: count, desired: count + 1, ordering: .relaxed)
            if tried.exchanged { return true }
            count = tried.original
        }
        return false
    }

    fileprivate func leave() { open.subtract(1, ordering: .relaxed) }
}

/// A connection's place in what limits how many there are. Its end gives the place back: it lasts as long as the connection's
/// descriptor, whether a session, a resting client or HTTP/2 has that. Made only where there is such a limit. Any thread.
final class ClientPlace: Sendable {
    private let port: ClientPort?
    private let counts: ClientCounts
    private let client: ClientNetwork?

    private init(port: ClientPort?, counts: ClientCounts, client: ClientNetwork?) {
        self.port = port
        self.counts = counts
        self.client = client
    }

    deinit {
        port?.leave()
        if let client { counts.leave(client) }
    }

    enum Outcome {
        /// Nil: nothing limits it.
        case admitted(ClientPlace?)
        case listenerFull
        case clientFull
    }

    /// Takes a place for a connection that was accepted.
    static func take(
        at port: ClientPort, for peer: sockaddr_storage, settings: Settings, counts: ClientCounts
    ) -> Outcome {
        let listeners = settings.listeners
        let perListener = listeners.indices.contains(port.index) ? listeners[port.index].connections : 0
        let perAddress = settings.limits.connectionsPerAddress
        guard perListener > 0 || perAddress > 0 else { return .admitted(nil) }
        var client = perAddress > 0 ? ClientNetwork(peer) : nil
        if client != nil, isProxy(peer, settings) { client = nil }
        if perListener > 0, !port.enter(limit: perListener) { return .listenerFull }
        if let client, !counts.enter(client, limit: perAddress) {
            if perListener > 0 { port.leave() }
            return .clientFull
        }
        return .admitted(ClientPlace(port: perListener > 0 ? port : nil, counts: counts, client: client))
    }

    /// Whether a peer brings many clients: one of `trusted_proxies`, where there is such a list.
    private static func isProxy(_ peer: sockaddr_storage, _ settings: Settings) -> Bool {
        guard let ranges = settings.trustedProxies, !ranges.isEmpty else { return false }
        let address = hostText(peer).withUnsafeBufferPointer { NumericAddress(text: $0) }
        return address.map { address in ranges.contains { $0.contains(address) } } ?? false
    }
}
