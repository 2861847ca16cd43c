import Configuration
import FoundationEssentials
import Gateway
import Glibc
import Journal
import JournalThreads
import Rollout
import StoreSQLite
import Telemetry
import TestSupport
import Testing

@testable import ControlPlane
import Values

/// A plan like the shipped one.
func plan(gates: Gates = Gates(), minSamples: Int = 200) -> Plan {
    var plan = Plan(
        name: "my-migration",
        stages: [
            Stage(name: "dual-write", percentHundredths: 0, shadowHundredths: 0),
            Stage(name: "shadow", percentHundredths: 0), Stage(name: "canary", percentHundredths: 100),
            Stage(name: "half", percentHundredths: 5000), Stage(name: "full", percentHundredths: 10_000),
        ])
    plan.gates = gates
    plan.minSamples = minSamples
    return plan
}

/// The control plane on a real store, without listeners and loops that run.
struct House {
    let directory: TemporaryDirectory
    let journal: ThreadedJournal
    let controller: RolloutController
    let metrics: LoopMetrics
    let settings: Settings

    /// Opens the store and takes up what it holds, as a start of the gateway does.
    init(
        _ directory: TemporaryDirectory = TemporaryDirectory(), plan: Plan? = ControlPlaneTests.plan(),
        saveWaitMilliseconds: Int = 60_000
    ) async throws {
        var settings = Settings()
        settings.dataDirectory = directory.path
        settings.plan = plan
        self.directory = directory
        self.settings = settings
        metrics = LoopMetrics()
        journal = try ThreadedJournal(sqlite: directory.path)
        journal.start { _ in }
        let stored = try await journal.read { reader throws(JournalError) in try reader.loadRollout() }
        let pins = try await journal.read { reader throws(JournalError) in try reader.pins() }
        controller = RolloutController(
            settings: settings, identity: try IdentitySources(settings.user), stored: stored, pins: pins,
            journal: journal,
            metrics: metrics, saveWaitMilliseconds: saveWaitMilliseconds)
        await controller.persistStart()
    }

    /// Ends this one and starts another on the same store.
    func restarted(plan: Plan? = ControlPlaneTests.plan()) async throws -> House {
        #expect(journal.close())
        return try await House(directory, plan: plan)
    }

    func close() { #expect(journal.close()) }

    var events: [RolloutEvent] {
        get async throws {
            try await journal.read { reader throws(JournalError) in try reader.events(before: nil, limit: 1000) }
        }
    }

    /// A command that must be accepted.
    @discardableResult
    func done(
        _ command: RolloutCommand, _ origin: ChangeOrigin = ChangeOrigin(actor: "test"), gates: [GateFinding] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> Change? {
        let outcome = await controller.apply(command, gates: gates, origin)
        guard case .done(let before, let after, let warnings, let generation) = outcome else {
            Issue.record("not done: \(outcome)", sourceLocation: sourceLocation)
            return nil
        }
        return Change(before: before, after: after, warnings: warnings, generation: generation)
    }

    struct Change {
        var before: JSONValue
        var after: JSONValue
        var warnings: [String]
        var generation: Int64
    }

    /// Changes, each with a leg to one side that was refused for good.
    func park(_ legs: [(side: Side, acceptedMilliseconds: Int64)]) async throws {
        try await journal.write { store throws(JournalError) in
            for (number, leg) in legs.enumerated() {
                let submission = Submission(
                    user: "anna", records: [], idempotencyKey: nil, outgoingKey: "parked-\(number)",
                    fingerprint: "\(number)", method: "PUT", target: "/\(number)", headerLines: [],
                    conditionalLines: [],
                    body: [], side: leg.side == .new ? .legacy : .new, dualWrite: true)
                guard case .accepted(let sequence) = try store.accept([submission], now: leg.acceptedMilliseconds)[0]
                else { return }
                var legs = Legs(legacy: LegStatus(.applied), new: LegStatus(.applied))
                legs[leg.side] = LegStatus(.parked)
                let answer = StoredAnswer(status: 200, headerLines: [], body: [], servedBy: submission.side)
                try store.apply(
                    [
                        .answered(
                            sequence, servedBy: submission.side, legs: legs, answer: answer, revisionAccepted: true)
                    ],
                    now: leg.acceptedMilliseconds)
            }
        }
    }

    /// Makes the store too small for an event with a long reason, or lifts that.
    func setStoreFull(_ isFull: Bool) async throws {
        try await journal.write { store throws(JournalError) in
            guard let store = store as? SQLiteStore else { throw JournalError(.other, "another store") }
            try store.limitSize(toBytes: isFull ? 1 : nil)
        }
    }
}

/// A reason that does not fit into a store that is full.
let longReason = String(repeating: "because ", count: 200_000)
