import CLinux

/// A client that is silent between two requests: of its connection there are left a descriptor, an address and a
/// deadline. No session, no task and no buffer: those would be 6 KB and more for each of ten thousand clients that only
/// keep their connection. What it sends next gets a new session (`Worker.wake`). Confined to its loop.
final class RestingClient: Channel {
    private unowned(unsafe) let clients: RestingClients
    let peerText: [UInt8]
    /// Place among the worker's resting clients.
    fileprivate var place = 0

    fileprivate init(fd: Int32, clients: RestingClients, peerText: [UInt8]) {
        self.clients = clients
        self.peerText = peerText
        super.init(fd: fd)
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
    private var addedSinceTrim = 0
    /// When that was last done, in loop milliseconds.
    private var trimmed: UInt64 = 0

    /// So many clients leave enough free memory behind to look for whole pages in it.
    private static let trimAfter = 1000
    private static let trimDelayMilliseconds: Int64 = 500
    /// Looking takes some milliseconds, in which the loop stands still: not more often than this,
    private static let trimAtMostMilliseconds: UInt64 = 5000
    /// and when clients go to rest all the time, not until this has passed.
    private static let trimAtLatestMilliseconds: UInt64 = 30_000

    init(worker: Worker) { self.worker = worker }

    var count: Int { all.count }

    func add(_ connection: Connection, _ peerText: [UInt8], _ milliseconds: Int64) {
        let client = RestingClient(fd: connection.fd, clients: self, peerText: peerText)
        worker.loop.hand(over: connection, to: client)
        worker.loop.setDeadline(client, milliseconds)
        client.place = all.count
        all.append(client)
        addedSinceTrim += 1
        if addedSinceTrim == RestingClients.trimAfter { trim(wantedSince: worker.loop.now) }
    }

    fileprivate func wake(_ client: RestingClient, _ events: UInt32) {
        remove(client)
        worker.wake(client, events)
    }

    fileprivate func end(_ client: RestingClient) {
        remove(client)
        worker.restEnded(client)
    }

    /// Forgets them all; who calls closes them.
    func removeAll() -> [RestingClient] {
        defer { all = [] }
        return all
    }

    private func remove(_ client: RestingClient) {
        guard let last = all.popLast(), last !== client else { return }
        all[client.place] = last
        last.place = client.place
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
