import CLinux
import Synchronization

/// Where a backend lives, as the loops see it: its name and the addresses that the name last had. Shared by all threads.
final class Endpoint: Sendable {
    let host: String
    let port: UInt16
    private let addresses = Mutex<[SocketAddress]>([])

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    var current: [SocketAddress] { addresses.withLock { $0 } }

    /// Looks the name up again; keeps the old addresses when the look-up fails. Blocks: background thread only.
    func refresh() {
        let found = resolve(host: host, port: port, passive: false)
        if !found.isEmpty { use(found) }
    }

    /// Takes addresses over; with none, every connect fails.
    func use(_ found: [SocketAddress]) { addresses.withLock { $0 = found } }
}
