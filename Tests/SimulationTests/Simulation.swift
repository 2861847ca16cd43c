import TestSupport
import Configuration
import Journal
import Rollout
import Routing
import Synchronization

/// What one seed comes to: users with their devices, two backends, a disk, an operator, a gateway that dies and comes back.
/// Everything runs in the calling thread and is drawn from the seed, so that the same seed is the same run.
final class Simulation {
    let seed: UInt64
    private var random: SeededGenerator
    private let timeline = Timeline()
    private let disk: PlayedDisk
    private let ledger = Ledger()
    private let switches: Switches
    private var backends: [PlayedBackend] = []
    private var clients: [PlayedClient] = []
    private var gateway: PlayedGateway?
    private let draw: Draw
    private var settings: Settings
    private var isHealing = false
    /// The process is killed after so many more steps; nil: not now.
    private var stepsToCrash: Int?
    private(set) var steps = 0
    var tally: Tally { ledger.tally }
    /// What happened, kept where somebody is going to read it.
    private(set) var trace: [String] = []
    private let isTraced: Bool

    private static let runs = Atomic<UInt64>(0)

    /// - Parameter isTraced: keeps what happened, in words.
    init(seed: UInt64, switches: Switches = Switches(), isTraced: Bool = false) {
        self.seed = seed
        self.switches = switches
        self.isTraced = isTraced
        random = SeededGenerator(seed: seed)
        draw = Draw(&random)
        // Names that no other run of the process has, and that nothing is decided by.
        let run = "\(Simulation.runs.add(1, ordering: .relaxed).newValue)"
        disk = PlayedDisk(name: "played-\(run)", seed: random.next())
        if switches.ignoresSyncs { disk.ignoreSyncs() }
        settings = draw.settings
        for side in Side.allCases {
            let backend = PlayedBackend(
                side: side, name: "cutover-played-\(processIdentifier())-\(run)-\(side.name)", timeline: timeline,
                random: random.fork(), faults: draw.faults[side == .legacy ? 0 : 1])
            backend.saysNotFound = draw.saysNotFound
            backend.trace = tracer
            backends.append(backend)
        }
        makeClients()
    }

    private var tracer: ((String) -> Void)? {
        guard isTraced else { return nil }
        return { [unowned self] text in note(text) }
    }

    private func note(_ text: @autoclosure () -> String) {
        if isTraced { trace.append("\(Double(timeline.now / 1000) / 1000) \(text())") }
    }

    private func makeClients() {
        for user in 0..<draw.users {
            let name = "user-\(user)"
            // No route names the record of what goes into the box: the user is its lane.
            let shared = (0..<draw.sharedRecords).map { "/notes/shared-\($0)" } + (draw.hasBox ? ["/box"] : [])
            for device in 0..<draw.devices {
                let own = (0..<draw.ownRecords).map {
                    $0 % 2 == 0 ? "/notes/own-\(device)-\($0)" : "/docs/own-\(device)-\($0)"
                }
                for path in own + shared where random.chance(draw.poison) {
                    backends[random.below(2)].poisoned.insert(name + path)
                    ledger.poisoned.insert(name + path)
                }
                let client = PlayedClient(
                    user: name, own: own, shared: shared, operations: draw.operations, pause: draw.pause,
                    timeline: timeline, ledger: ledger, random: random.fork())
                client.trace = tracer
                client.connect = { [unowned self] in gateway?.connect() }
                client.staleReads = { [unowned self] in gateway.map { $0.staleReads } ?? 0 }
                clients.append(client)
            }
        }
    }

    // MARK: Running

    /// Runs to the end. Returns what broke a promise; nothing if all held.
    func run() -> [String] {
        defer { timeline.end() }
        boot()
        for client in clients { client.start() }
        planTrouble()
        go(
            until: { [self] in timeline.now > 1_000_000_000_000 + draw.duration && clients.allSatisfy { $0.isDone } },
            seconds: 60)
        heal()
        go(until: { [self] in clients.allSatisfy { $0.isDone } && isSettled }, seconds: 900)
        judgeTheEnd()
        if gateway != nil { kill(restarts: false) }
        return ledger.violations
    }

    /// Lets time pass from event to event until a condition holds, or so many played seconds are over.
    private func go(until isDone: () -> Bool, seconds: UInt64) {
        let end = timeline.now + seconds * 1_000_000_000
        while ledger.violations.isEmpty {
            while step() {}
            if isDone() { return }
            guard let next = [timeline.next, gateway?.nextDue].compactMap({ $0 }).min(), next <= end else { return }
            timeline.advance(to: next)
            if let event = timeline.popDue() { event() }
        }
    }

    /// One turn of everybody. Returns whether anything moved.
    private func step() -> Bool {
        steps += 1
        var hasMoved = gateway?.turn() ?? false
        for backend in backends where backend.pump() { hasMoved = true }
        for client in clients where client.pump() { hasMoved = true }
        if let left = stepsToCrash, gateway != nil {
            stepsToCrash = left > 0 ? left - 1 : nil
            if left == 0 {
                ledger.tally.count("crash at a step")
                kill(restarts: true)
                return true
            }
        }
        return hasMoved
    }

    // MARK: Lives of the gateway

    private func boot() {
        ledger.life += 1
        do {
            let born = try PlayedGateway(
                disk: disk, timeline: timeline, settings: settings, backends: backends, ledger: ledger,
                switches: switches, window: draw.window, random: &random)
            born.journal.onAccepted = { [ledger] in ledger.accepted($0, target: $1) }
            born.journal.onCommit = { [unowned self] in
                guard disk.isDead else { return }
                ledger.tally.count("crash in a commit")
                kill(restarts: true)
            }
            born.journal.onFailure = { [unowned self] error in
                ledger.tally.count("journal refuses")
                note("journal: \(error.message)")
            }
            gateway = born
            note("gateway: started, life \(ledger.life)")
        } catch {
            // A disk that is full, or fails, or dies: the service manager tries again.
            ledger.tally.count("cannot start")
            note("gateway: cannot start: \(error)")
            if disk.isDead { disk.crash() }
            timeline.after(milliseconds: 500) { [self] in if gateway == nil { boot() } }
        }
    }

    private func kill(restarts: Bool) {
        guard let dying = gateway else { return }
        ledger.tally.count("crash")
        note("gateway: dies")
        stepsToCrash = nil
        gateway = nil
        for backend in backends {
            backend.noteHangUps()
            backend.life = ledger.life + 1
        }
        disk.crash()
        dying.die()
        guard restarts else { return }
        let pause = isHealing ? 10 : [0, 20, 500, 4000][random.below(4)]
        timeline.after(milliseconds: pause + random.below(20)) { [self] in if gateway == nil { boot() } }
    }

    // MARK: Trouble

    private func planTrouble() {
        for moment in draw.crashMoments {
            timeline.after(microseconds: moment) { [self] in
                if random.chance(50) {
                    stepsToCrash = random.below(60)
                } else {
                    disk.failPower(afterCalls: 1 + random.below(24))
                }
            }
        }
        for moment in draw.operatorMoments { timeline.after(microseconds: moment) { [self] in operate() } }
        for moment in draw.outageMoments {
            let backend = backends[random.below(2)]
            let length = 20 + random.below(4_000)
            timeline.after(microseconds: moment) { [self] in
                note("\(backend.side.name): goes down")
                backend.shut()
                timeline.after(milliseconds: length) { backend.open() }
            }
        }
        for moment in draw.diskMoments {
            timeline.after(microseconds: moment) { [self] in
                if random.chance(50) {
                    disk.failCalls(1 + random.below(6))
                } else {
                    disk.limit(toBytes: disk.size + Int64(random.below(20_000)))
                    timeline.after(milliseconds: random.below(1_500)) { [self] in disk.limit(toBytes: nil) }
                }
            }
        }
        for moment in draw.clockMoments {
            let step = Int64(random.within(-660_000...660_000))
            timeline.after(microseconds: moment) { [self] in timeline.stepWall(byMilliseconds: step) }
        }
    }

    private func operate() {
        guard let control = gateway?.control else { return }
        let user = "user-\(random.below(draw.users))"
        switch random.below(6) {
        case 0: control.apply(.rollback(to: nil))
        case 1: control.pin(user, .new)
        case 2: control.pin(user, random.chance(50) ? .legacy : nil)
        default: control.apply(.setPercent(hundredths: [0, 5_000, 10_000, 10_000][random.below(4)]))
        }
        ledger.tally.count("change of the rollout")
        note("operator: acts")
    }

    /// Nothing fails any more, but the gateway dies once more: what is to come to a good end must do so now.
    private func heal() {
        isHealing = true
        note("healing")
        stepsToCrash = nil
        for backend in backends {
            backend.faults = Faults()
            backend.open()
        }
        for client in clients { client.isWild = false }
        disk.limit(toBytes: nil)
        disk.failPower(afterCalls: 0)
        disk.failCalls(0)
        kill(restarts: true)
    }

    // MARK: The end

    private var isSettled: Bool { gateway?.isSettled ?? false }

    private func judgeTheEnd() {
        guard ledger.violations.isEmpty else { return }
        guard clients.allSatisfy({ $0.isDone }), isSettled, let store = gateway?.store else {
            let devices = clients.filter { !$0.isDone }.count
            return ledger.violated(
                "nothing settles: \(devices) devices still wait; \(gateway?.whatIsLeft ?? "no gateway")")
        }
        do {
            try Invariants(ledger: ledger, backends: backends).check(store)
        } catch {
            ledger.violated("the store cannot be read: \(error)")
        }
    }
}
