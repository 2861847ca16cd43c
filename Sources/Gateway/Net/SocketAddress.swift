import CLinux

/// An address of a socket: IPv4 or IPv6 with its port.
struct SocketAddress: @unchecked Sendable {
    // Plain bytes copied from getaddrinfo; @unchecked only because the C structure is not annotated.
    private(set) var storage: sockaddr_storage
    private var size: socklen_t

    init(_ address: UnsafePointer<sockaddr>, _ size: socklen_t) {
        storage = sockaddr_storage()
        self.size = size
        withUnsafeMutableBytes(of: &storage) {
            $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(size)))
        }
    }

    private func withPointer<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
        withUnsafePointer(to: storage) { p in
            p.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
        }
    }

    /// The numeric host.
    var host: String { String(decoding: hostText(storage), as: UTF8.self) }

    /// A listening descriptor, or a negative errno.
    /// - Parameter joins: another descriptor of this process listens there and shares (`clinux_share_port`).
    func listen(backlog: Int32, joins: Bool) -> Int32 {
        withPointer { clinux_listen($0, $1, backlog, joins ? 1 : 0) }
    }

    /// A descriptor whose non-blocking connect has begun, or a negative errno.
    func connect() -> Int32 { withPointer { clinux_connect($0, $1) } }
}

/// The numeric host of a peer; empty for what has none.
func hostText(_ peer: sockaddr_storage) -> [UInt8] {
    var peer = peer
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
        let count = clinux_host_text(&peer, text.baseAddress, 64)
        return text.prefix(Int(count)).map { UInt8(bitPattern: $0) }
    }
}

/// Splits `host:port` or `[v6]:port`; nil when the port is missing or no number.
package func splitAddress(_ text: String) -> (host: String, port: UInt16)? {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    return (String(host), port)
}

/// Looks up a name with getaddrinfo. Blocks: never call it on a loop's thread.
func resolve(host: String, port: UInt16, passive: Bool) -> [SocketAddress] {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = passive ? AI_PASSIVE : 0
    var list: UnsafeMutablePointer<addrinfo>?
    let node = host.isEmpty || host == "*" ? nil : host
    let status: Int32 =
        if let node { getaddrinfo(node, String(port), &hints, &list) } else {
            getaddrinfo(nil, String(port), &hints, &list)
        }
    guard status == 0 else { return [] }
    defer { freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var next = list
    while let info = next {
        if let address = info.pointee.ai_addr { addresses.append(SocketAddress(address, info.pointee.ai_addrlen)) }
        next = info.pointee.ai_next
    }
    return addresses
}
