import CLinux

/// A client that is silent between two requests: of its connection there are left a descriptor, an address and a
/// deadline. No session, no task and no buffer: those would be 6 KB and more for each of ten thousand clients that only
/// keep their connection. What it sends next gets a new session (`Worker.wake`). Confined to its loop.
final class RestingClient: Channel {
    private unowned(unsafe) let clients: RestingClients
    /// Place among the worker's resting clients.
    fileprivate var position = 0
    // The text lies in the object itself: on its own it would keep a page from being given back.
    private var text: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0)
    private var textCount: UInt8 = 0

    fileprivate init(clients: RestingClients) {
        self.clients = clients
        super.init(fd: -1)
    }

    /// The client's numeric address, 45 bytes at most (INET6_ADDRSTRLEN).
    fileprivate(set) var peerText: [UInt8] {
        get { withUnsafeBytes(of: text) { Array($0.prefix(Int(textCount))) } }
        set {
            withUnsafeMutableBytes(of: &text) { $0.copyBytes(from: newValue.prefix($0.count)) }
            textCount = UInt8(min(newValue.count, MemoryLayout.size(ofValue: text)))
        }
    }

    override func ready(_ events: UInt32) {
        let arrivals = EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue
        // That more could be sent to it says nothing about the client.
        if events & arrivals != 0 { clients.wake(self, events) }
    }

    override func timedOut() { clients.end(self) }
}

/// The resting clients of one worker. They count as its clients (`limits.connections`) and are closed after
/// `timeouts.client_idle` like any other. Confined to its loop.
final class RestingClients {
    private unowned(unsafe) let worker: Worker
    private var all: [RestingClient] = []
    /// Between uses. Made many at a time, so that they lie side by side: one by one they would fill the gaps that sessions
    /// leave, and each would keep a page from being given back.
    private var spare: [RestingClient] = []
    private var addedSinceTrim = 0
    /// When that was last done, in loop milliseconds.
    private var trimmed: UInt64 = 0

    private static let madeAtOnce = 256
    /// So many clients leave enough free memory behind to look for whole pages in it.
    private static let trimAfter = 1000
    private static let trimDelayMilliseconds: Int64 = 500
    /// Looking takes some milliseconds, in which the loop stands still: not more often than this,
    private static let trimAtMostMilliseconds: UInt64 = 2000
    /// and when clients go to rest all the time, not until this has passed.
    private static let trimAtLatestMilliseconds: UInt64 = 30_000

    init(worker: Worker) { self.worker = worker }

    var count: Int { all.count }

    func add(_ connection: Connection, _ peerText: [UInt8], _ milliseconds: Int64) {
        if spare.isEmpty { spare = (0..<RestingClients.madeAtOnce).map { _ in RestingClient(clients: self) } }
        let client = spare.removeLast()
        client.adopt(fd: connection.fd)
        client.peerText = peerText
        worker.loop.hand(over: connection, to: client)
        worker.loop.setDeadline(client, milliseconds)
        client.position = all.count
        all.append(client)
        addedSinceTrim += 1
        if addedSinceTrim == RestingClients.trimAfter { trim(wantedSince: worker.loop.now) }
    }

    fileprivate func wake(_ client: RestingClient, _ events: UInt32) {
        remove(client)
        worker.wake(client, events)
        spare.append(client)
    }

    fileprivate func end(_ client: RestingClient) {
        remove(client)
        worker.restEnded(client)
        spare.append(client)
    }

    /// Forgets them all; who calls closes them.
    func removeAll() -> [RestingClient] {
        defer { all = [] }
        return all
    }

    private func remove(_ client: RestingClient) {
        guard let last = all.popLast(), last !== client else { return }
        all[client.position] = last
        last.position = client.position
    }

    /// The sessions' memory lies between what lives on: the allocator would keep it. Clients that came together go to rest
    /// together, so it is looked for when no more of them follow.
    private func trim(wantedSince: UInt64) {
        let loop = worker.loop
        let added = addedSinceTrim
        loop.schedule(after: RestingClients.trimDelayMilliseconds) { [weak self] in
            guard let self else { return }
            let isOver = added == addedSinceTrim || loop.now > wantedSince &+ RestingClients.trimAtLatestMilliseconds
            guard isOver, loop.now > trimmed &+ RestingClients.trimAtMostMilliseconds else {
                return trim(wantedSince: wantedSince)
            }
            addedSinceTrim = 0
            trimmed = loop.now
            loop.blocks.shrink()
            clinux_trim_heap()
        }
    }
}
