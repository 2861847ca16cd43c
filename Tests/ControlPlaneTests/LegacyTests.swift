import CLinux
import Configuration
import Gateway
import Journal
import JournalThreads
import Rollout
import Routing
import TestSupport
import Testing

@testable import ControlPlane

private let origin = ChangeOrigin(actor: "test")

/// A house with a data plane and a reverse sync. The loops run; the backends are nowhere.
private struct Site {
    let house: House
    let dataPlane: DataPlane
    let sync: ReverseSync

    init(_ directory: TemporaryDirectory = TemporaryDirectory(), plan: Plan? = ControlPlaneTests.plan()) async throws {
        house = try await House(directory, plan: plan)
        dataPlane = DataPlane(snapshot: await house.controller.snapshot, journal: house.journal, workers: 1)
        sync = ReverseSync(dataPlane: dataPlane, journal: house.journal, controller: house.controller)
        await house.controller.attach(dataPlane)
        await house.controller.attach(sync)
        _ = try dataPlane.start(listeners: [])
    }

    func close() {
        sync.stop()
        _ = dataPlane.drain(milliseconds: 1000)
        house.close()
    }

    func atTheEnd() async {
        await house.done(.promote(to: "full", force: false))
        await house.done(.stopLegacy)
    }

    /// Changes that new took while legacy was not written.
    func lack(_ records: [String]) async throws {
        try await house.journal.write { store throws(JournalError) in
            for record in records {
                let submission = Submission(
                    user: "anna", records: [RecordRevision(record: record, revision: nil, payloadHash: "")],
                    idempotencyKey: nil, outgoingKey: record, fingerprint: record, method: "PUT", target: "/\(record)",
                    headerLines: [], conditionalLines: [], body: [], side: .new, dualWrite: false)
                guard case .accepted(let sequence) = try store.accept([submission], now: 1_000)[0] else { return }
                let legs = Legs(legacy: LegStatus(.skipped), new: LegStatus(.applied))
                let answer = StoredAnswer(status: 200, headerLines: [], body: [], servedBy: .new)
                try store.apply(
                    [.answered(sequence, servedBy: .new, legs: legs, answer: answer, revisionAccepted: true)],
                    now: 1_000)
            }
        }
    }

    func eventually(_ what: Comment, _ check: () async throws -> Bool) async throws {
        for _ in 0..<2000 {
            if try await check() { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        Issue.record(what)
    }
}

@Suite(.timeLimit(.minutes(2)))
struct LegacyTests {
    @Test func pinsToLegacyAndWritesForNewHoldTheEnd() async throws {
        let site = try await Site()
        await site.house.done(.promote(to: "full", force: false))
        _ = await site.house.controller.setPin("anna", .legacy, origin)
        _ = await site.house.controller.setPin("bert", .new, origin)
        site.dataPlane.shared.coordinator.addOutstanding(1, user: "cleo", .new, acceptedMilliseconds: 0)
        guard case .refused(let reasons) = await site.house.controller.apply(.stopLegacy, gates: [], origin) else {
            Issue.record("stopped")
            return
        }
        #expect(reasons.count == 2 && reasons[0] == "1 user is pinned to legacy" && reasons[1].hasPrefix("1 write is"))
        site.dataPlane.shared.coordinator.removeOutstanding(1, user: "cleo", .new)
        _ = await site.house.controller.setPin("anna", nil, origin)
        await site.house.done(.stopLegacy)
        let view = await site.house.controller.snapshot.rollout
        #expect(!view.legacyWrites && view.shadowHundredths == 0 && view.dualWrite)
        guard case .refused = await site.house.controller.setPin("anna", .legacy, origin) else {
            Issue.record("pinned to a backend that nobody writes")
            return
        }
        site.close()
    }

    @Test func keepEndsByItselfAndOnlyOnce() async throws {
        var plan = plan()
        plan.keepSeconds = 90 * 86_400
        let site = try await Site(plan: plan)
        await site.house.done(.promote(to: "full", force: false))
        let now = clinux_wall_milliseconds()
        let state = await site.house.controller.state
        await site.house.controller.endKeep(now: now + plan.keepSeconds * 1000 - 60_000, state, holds: [])
        #expect(await site.house.controller.state.legacyWrites)
        for _ in 0..<2 {
            await site.house.controller.endKeep(now: now + plan.keepSeconds * 1000 + 60_000, state, holds: [])
        }
        #expect(await !site.house.controller.state.legacyWrites)
        let events = try await site.house.events
        #expect(events[0].action == "stop-legacy" && events[0].actor == "gateway")
        #expect(events[0].reason == "keep of 90d has ended" && events[1].action == "promote")
        site.close()
    }

    @Test func keepThatIsOverWaitsForWhatHoldsItAndForWhoNeedsLegacy() async throws {
        let site = try await Site()
        await site.house.done(.promote(to: "full", force: false))
        let controller = site.house.controller
        let (over, state) = (clinux_wall_milliseconds() + 91 * 86_400_000, await controller.state)
        await controller.endKeep(now: over, state, holds: ["gate read_error_rate fails"])
        #expect(await controller.keep.waits == ["gate read_error_rate fails"])
        _ = await controller.setPin("anna", .legacy, origin)
        await controller.endKeep(now: over, state, holds: [])
        #expect(await controller.keep.waits == ["1 user is pinned to legacy"])
        #expect(await controller.state.legacyWrites)
        _ = await controller.setPin("anna", nil, origin)
        // What was judged is not what is any more: looked at again a second later.
        await site.house.done(.pause)
        await site.house.done(.resume)
        await controller.endKeep(now: over, state, holds: [])
        #expect(await controller.state.legacyWrites)
        await controller.endKeep(now: over, await controller.state, holds: [])
        #expect(await !controller.state.legacyWrites)
        #expect(await controller.keep.waits.isEmpty)
        site.close()
    }

    @Test func theEndIsThereAfterARestart() async throws {
        let site = try await Site()
        await site.atTheEnd()
        let state = await site.house.controller.state
        _ = site.dataPlane.drain(milliseconds: 1000)
        let again = try await site.house.restarted()
        #expect(await again.controller.state == state && !state.legacyWrites)
        again.close()
    }

    @Test func aRollbackBringsLegacyWhatItLacksAndSaysHowMuch() async throws {
        let site = try await Site()
        await site.atTheEnd()
        try await site.lack(["a", "b", "a"])
        let dry = ChangeOrigin(actor: "test", isDryRun: true)
        let would = await site.house.done(.rollback(to: nil), dry)
        #expect(would?.warnings.first?.contains("lacks 3 changes") == true)
        #expect(!site.dataPlane.shared.coordinator.legacyGate.isClosed && site.sync.report.phase == .idle)
        let change = await site.house.done(.rollback(to: nil))
        #expect(change?.warnings.first?.contains("lacks 3 changes") == true)
        try await site.eventually("everything is in the lanes") {
            !site.dataPlane.shared.coordinator.legacyGate.isClosed
        }
        #expect(site.dataPlane.shared.coordinator.backlog(.legacy).count == 3)
        // Nobody answers there: it is not caught up, and the run goes on.
        await site.house.controller.lookForCatchUp(now: 5)
        #expect(await site.house.controller.caughtUp.isAwaited)
        #expect(site.sync.report.isRunning && site.sync.report.isAutomatic && site.sync.report.total == 3)
        #expect(!site.sync.start(ReverseSyncOrder(actor: "test"), isGated: false))
        site.close()
    }

    @Test func legacyIsCaughtUpWhenTheJournalSaysSo() async throws {
        let site = try await Site()
        await site.house.done(.promote(to: "half", force: false))
        await site.house.done(.rollback(to: nil))
        await site.house.controller.lookForCatchUp(now: 7_000)
        #expect(await site.house.controller.caughtUp.atMilliseconds == 7_000)
        #expect(try await site.house.events.first?.action == "legacy caught up")
        // What the next start reads is what was shown.
        #expect(try await site.house.events.first?.atMilliseconds == 7_000)
        await site.house.controller.lookForCatchUp(now: 8_000)
        #expect(try await site.house.events.count { $0.action == "legacy caught up" } == 1)
        // A percent that leaves it rolled back and moves nobody changes nothing about that.
        await site.house.done(.setPercent(hundredths: 0))
        #expect(await site.house.controller.caughtUp.atMilliseconds == 7_000)
        await site.house.done(.promote(to: "half", force: false))
        #expect(await site.house.controller.caughtUp.atMilliseconds == nil)
        site.close()
    }

    @Test func lookingForWhatIsMissingTellsOlderFromWanted() async throws {
        let site = try await Site()
        await site.atTheEnd()
        try await site.lack(["a", "b"])
        let all = await site.sync.lookForMissing(since: nil)
        #expect(all?.count == 2 && all?.olderCount == 0 && all?.oldestMilliseconds == 1_000 && all?.isComplete == true)
        let late = await site.sync.lookForMissing(since: 2_000)
        #expect(late?.count == 0 && late?.olderCount == 2 && late?.oldestMilliseconds == nil)
        site.close()
    }
}

struct RecordReaderTests {
    private func reader(_ routes: Route...) -> RecordReader {
        var settings = Settings()
        settings.routes = routes
        return RecordReader(settings: settings)
    }

    private func write(_ method: String, _ target: String, records: [String] = [], user: String? = "u 1") -> Submission
    {
        Submission(
            user: user, records: records.map { RecordRevision(record: $0, revision: nil, payloadHash: "") },
            idempotencyKey: nil, outgoingKey: "k", fingerprint: "", method: method, target: target, headerLines: [],
            conditionalLines: [], body: [], side: .new, dualWrite: false)
    }

    @Test func whatAMethodWritesIsReadThere() {
        let reader = reader()
        for method in ["PUT", "PATCH", "DELETE", "MKCOL", "PROPPATCH"] {
            #expect(reader.targets(write(method, "/notes/7?x=1")) == ["/notes/7?x=1"])
        }
        for method in ["POST", "COPY", "MOVE", "LOCK"] { #expect(reader.targets(write(method, "/notes/7")) == nil) }
    }

    @Test func aRouteSaysWhereItsRecordsAre() throws {
        var route = Route(pattern: try #require(RoutePattern("POST /changes")), kind: .write)
        route.read = ReadTemplate("/users/{user}/records/{record}")
        let reader = reader(route)
        #expect(
            reader.targets(write("POST", "/changes?a", records: ["a/b", "c"]))
                == ["/users/u%201/records/a%2Fb", "/users/u%201/records/c"])
        #expect(reader.targets(write("POST", "/changes", records: ["a"], user: nil)) == nil)
        #expect(reader.targets(write("POST", "/changes")) == nil && reader.targets(write("POST", "/other")) == nil)
    }

    @Test func aReaderIsWhoTheWriterWasAndNothingElse() {
        let lines = """
            Host: a\r\nX-User-Id:  u\r\nCookie: c=1\r\nContent-Type: text/plain\r\nContent-Length: 3\r\nAccept-Encoding: gzip\r
            If-Match: "1"\r\nRange: bytes=1-\r\nExpect: 100-continue\r\nIdempotency-Key: k\r\nAuthorization: Bearer t:u\r\n\r\n
            """
        let found = RecordReader.readingLines(Array(lines.utf8)).map { "\($0.name)=\($0.value)" }
        #expect(found == ["Host=a", "X-User-Id=u", "Cookie=c=1", "Authorization=Bearer t:u"])
    }
}
