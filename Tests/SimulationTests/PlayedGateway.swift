import TestSupport
import CLinux
import Configuration
import Journal
import Rollout
import Routing
import Telemetry

@testable import Gateway
@testable import StoreSQLite

/// One life of the gateway: the real store, lanes, loop, sessions, pools and deliveries, driven by hand on one thread.
final class PlayedGateway {
    let journal: SimulatedJournal
    let control: PlayedControl
    let store: SQLiteStore
    private let dataPlane: DataPlane
    private let worker: Worker
    private let loop: EventLoop
    private let timeline: Timeline

    /// Opens the store, takes up what was outstanding, and serves.
    /// - Throws: what the disk has to say.
    init(
        disk: PlayedDisk, timeline: Timeline, settings: Settings, backends: [PlayedBackend], ledger: Ledger,
        switches: Switches, window: WindowLimits, random: inout SeededGenerator
    ) throws {
        self.timeline = timeline
        let store = try SQLiteStore(path: "journal.sqlite", vfs: disk.name)
        self.store = store
        let journal = SimulatedJournal(store: store, timeline: timeline, switches: switches, random: random.fork())
        self.journal = journal
        control = try PlayedControl(
            store: store, settings: settings, journal: journal, timeline: timeline, ledger: ledger)
        dataPlane = DataPlane(snapshot: control.snapshot, journal: journal, workers: 1, window: window)
        worker = dataPlane.workers[0]
        loop = dataPlane.loops[0]
        loop.adoptThread()
        loop.random = LoopRandom(seed: random.next())
        for backend in backends {
            (backend.side == .legacy ? dataPlane.shared.legacy : dataPlane.shared.new).endpoint.use([backend.address])
        }
        let coordinator = dataPlane.shared.coordinator
        #if DEBUG
            coordinator.ignoresOutstanding = switches.ignoresOutstanding
        #endif
        journal.start { admitted in
            var admitted = admitted
            for index in admitted.changes.indices where switches.hasNoLanes {
                admitted.changes[index].submission.records = [
                    RecordRevision(
                        record: "lane of \(admitted.changes[index].sequence)", revision: nil, payloadHash: "")
                ]
            }
            coordinator.enter(admitted)
        }
        try Self.readBack(store, ledger)
        if !switches.doesNotRecover { try recover(switches) }
        dataPlane.startRefill()
        let worker = worker
        control.publish = { [loop] snapshot in loop.execute { worker.adopt(snapshot) } }
    }

    /// What the journal has accepted in earlier lives, a commit included that nobody was told of.
    static func readBack(_ store: SQLiteStore, _ ledger: Ledger) throws(JournalError) {
        var cursor: Sequence64?
        while true {
            let page = try store.rows(parkedOnly: false, before: cursor, limit: 500)
            for row in page { ledger.accepted(row.sequence, target: row.target) }
            guard let last = page.last else { return }
            cursor = last.sequence
        }
    }

    /// As `GatewayParts.recover` does.
    private func recover(_ switches: Switches) throws {
        dataPlane.shared.coordinator.count(left: try store.outstandingPlaces(after: 0, limit: .max))
        for var change in try store.unanswered(after: 0, limit: .max) {
            change.records = switches.lanes(change.sequence, change.records)
            dataPlane.recover(change)
        }
    }

    /// A new client's end of a connection.
    func connect() -> Int32 {
        let (inner, outer) = socketPair()
        worker.admit(inner, sockaddr_storage())
        return outer
    }

    var staleReads: UInt64 { worker.metrics.value(Cells.staleReads) }

    /// No leg is outstanding, and the disk has all that is known.
    var isSettled: Bool {
        guard journal.isIdle, let counts = try? store.counts() else { return false }
        return counts.outstandingLegacy == 0 && counts.outstandingNew == 0
    }

    /// What keeps it from being settled, in words.
    var whatIsLeft: String {
        let rows = (try? store.rows(parkedOnly: false, before: nil, limit: 500)) ?? []
        let open = rows.filter { $0.legs.hasOutstanding }.map {
            "\($0.sequence) of \($0.user ?? "") (\($0.side.name) first): \($0.legs.legacy.state), \($0.legs.new.state)"
        }
        return "journal \(journal.isIdle ? "idle" : "busy"), outstanding: \(open.joined(separator: "; "))"
    }

    /// One turn of the loop. Returns whether anything was to do.
    func turn() -> Bool { loop.turnWithoutWaiting() }

    /// When the loop has something to do by itself, in nanoseconds.
    var nextDue: UInt64? { loop.nextDue.map { $0 * 1_000_000 } }

    /// The process is killed: its sockets are closed by the kernel, and nothing else of it is ever heard of. Its tasks are
    /// brought to their ends, cut off from everything, only so that no memory is left behind.
    func die() {
        journal.die()
        control.publish = { _ in }
        worker.deliveries.stop()
        dataPlane.shared.legacy.endpoint.use([])
        dataPlane.shared.new.endpoint.use([])
        for channel in loop.channels { (channel as? Connection)?.close() }
        var hour: UInt64 = 0
        repeat {
            while loop.turnWithoutWaiting() {}
            hour += 3_600_000_000_000
            clinux_play_clock(timeline.now + hour, timeline.wall)
        } while (loop.nextDue != nil || loop.turnWithoutWaiting()) && hour < 100 * 3_600_000_000_000
        timeline.advance(to: timeline.now)
    }
}
