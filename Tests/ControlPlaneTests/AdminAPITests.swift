import CLinux
import Configuration
import FoundationEssentials
import Journal
import JournalThreads
import Rollout
import StoreSQLite
import Synchronization
import Telemetry
import TestSupport
import Testing

@testable import ControlPlane
@testable import Gateway
import Values

let adminToken = "admin-token-of-the-tests"
let viewerToken = "viewer-token-of-the-tests"

/// The admin API on a real store. The loops of its data plane do not run.
struct Office {
    let house: House
    let dataPlane: DataPlane
    let api: AdminAPI
    let isReady: IsReady

    final class IsReady: Sendable {
        let value = Atomic<Bool>(true)
    }

    init(
        plan: Plan? = ControlPlaneTests.plan(), reload: ReloadOutcome = .unavailable("another reload is under way"),
        wayBack: String? = nil, failuresPerMinute: Int = 1_000
    ) async throws {
        let house = try await House(plan: plan)
        let directory = house.directory.path
        try writeToken(adminToken, to: "\(directory)/admin.token")
        try writeToken(viewerToken, to: "\(directory)/viewer.token")
        dataPlane = DataPlane(snapshot: await house.controller.snapshot, journal: house.journal, workers: 1)
        let sync = ReverseSync(dataPlane: dataPlane, journal: house.journal, controller: house.controller)
        let board = FigureBoard(dataPlane: dataPlane, control: house.metrics, windowSeconds: 300)
        let pilot = PilotDriver(
            controller: house.controller, board: board, dataPlane: dataPlane, journal: house.journal)
        let isReady = IsReady()
        self.isReady = isReady
        self.house = house
        api = AdminAPI(
            controller: house.controller, dataPlane: dataPlane, storage: Storage(journal: house.journal),
            health: JournalHealth(),
            board: board,
            history: HistoryRecorder(
                instance: "test", journal: house.journal, wall: CLinux.clinux_wall_milliseconds(),
                monotonic: monotonicMilliseconds, patienceMilliseconds: 60_000),
            tokens: try AdminTokens(directory: directory), reverseSync: sync, pilot: pilot,
            wayBack: WayBack { _ in wayBack },
            failuresPerMinute: failuresPerMinute,
            reload: { _ in reload },
            isReady: { isReady.value.load(ordering: .relaxed) })
    }

    func ask(
        _ method: String, _ target: String, _ body: String = "", token: String? = adminToken,
        authorization: String? = nil, ifMatch: String? = nil, peer: String = "127.0.0.1",
        fields: [(name: String, value: String)] = []
    ) async -> ServiceResponse {
        let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
        var headers = fields
        if let line = authorization ?? token.map({ "Bearer \($0)" }) { headers.append(("authorization", line)) }
        if let ifMatch { headers.append(("if-match", ifMatch)) }
        return await api.handle(
            ServiceRequest(
                method: method, path: parts[0], query: parts.count > 1 ? parts[1] : "", headers: headers,
                body: Array(body.utf8), peer: peer))
    }
}

extension ServiceResponse {
    var json: JSONValue? { try? JSONDecoder().decode(JSONValue.self, from: Data(body)) }
    var text: String { String(decoding: body, as: UTF8.self) }
    func field(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

private let readable = ["/api/v1/status", "/api/v1/rollout", "/api/v1/users/anna", "/api/v1/events", "/metrics"]
private let changing = [
    ("POST", "/api/v1/rollout/pause"), ("POST", "/api/v1/rollout/percent"), ("PUT", "/api/v1/users/anna/pin"),
    ("DELETE", "/api/v1/users/anna/pin"), ("POST", "/api/v1/journal/replay"), ("POST", "/api/v1/reload"),
]

@Suite(.timeLimit(.minutes(2)))
struct AdminAPITests {
    @Test(
        arguments: [
            ("127.0.0.1", nil, 200, 401), ("127.8.9.10", nil, 200, 401), ("::1", nil, 200, 401),
            ("::ffff:127.0.0.1", nil, 200, 401),
            ("10.0.0.1", nil, 401, 401), ("::2", nil, 401, 401), ("::ffff:10.0.0.1", nil, 401, 401),
            ("", nil, 401, 401),
            ("127.0.0.1", "Bearer \(adminToken)", 200, 0), ("10.0.0.1", "Bearer \(adminToken)", 200, 0),
            ("10.0.0.1", "bearer \(adminToken)", 200, 0), ("127.0.0.1", "Bearer \(viewerToken)", 200, 403),
            ("10.0.0.1", "Bearer \(viewerToken)", 200, 403), ("127.0.0.1", "Bearer wrong", 401, 401),
            ("10.0.0.1", "Bearer wrong", 401, 401), ("10.0.0.1", "Bearer ", 401, 401),
            ("10.0.0.1", adminToken, 401, 401),
            ("10.0.0.1", "Basic \(adminToken)", 401, 401), ("10.0.0.1", "Bearer \(adminToken)x", 401, 401),
        ] as [(String, String?, Int, Int)])
    func whoMayAskForWhat(peer: String, authorization: String?, reading: Int, changing status: Int) async throws {
        let office = try await Office()
        for target in readable {
            for method in ["GET", "HEAD"] {
                let answer = await office.ask(method, target, token: nil, authorization: authorization, peer: peer)
                #expect(answer.status == reading, "\(method) \(target)")
                #expect((answer.field("WWW-Authenticate") != nil) == (reading == 401))
            }
        }
        for (method, target) in changing {
            let answer = await office.ask(method, target, token: nil, authorization: authorization, peer: peer)
            #expect(status == 0 ? ![401, 403].contains(answer.status) : answer.status == status, "\(method) \(target)")
            #expect(!answer.text.contains(adminToken) && !answer.text.contains(viewerToken))
        }
        for target in ["/healthz", "/readyz", "/"] {
            #expect(await office.ask("GET", target, token: nil, peer: peer).status == 200)
        }
        office.house.close()
    }

    @Test func everyMemberOfAnAnswerIsDescribed() async throws {
        var gates = Gates()
        gates.readErrorRate = 0.1
        let office = try await Office(plan: plan(gates: gates))
        _ = await office.ask("POST", "/api/v1/rollout/promote", "{\"to\":\"canary\"}")
        _ = await office.ask("PUT", "/api/v1/users/anna/pin", "{\"side\":\"new\"}")
        for (target, schema) in [
            ("status", "Status"), ("rollout", "Rollout"), ("users/anna", "User"), ("events", "EventPage"),
            ("reverse-sync", "ReverseSync"), ("journal", "JournalPage"), ("metrics/history", "HistoryPage"),
        ] {
            let answer = try #require(await office.ask("GET", "/api/v1/\(target)").json)
            #expect(undescribed(answer, by: Shape.reference(schema)) == [], "\(target)")
        }
        for (method, target, body, schema) in [
            ("POST", "rollout/pause", "", "RolloutChange"), ("DELETE", "users/anna/pin", "", "PinChange"),
            ("POST", "journal/replay", "{\"all_parked\":true}", "Replay"),
            ("POST", "reverse-sync", "{\"dry_run\":true}", "MissingChanges"),
            ("POST", "rollout/percent", "{}", "Problem"), ("POST", "journal/replay", "{\"seqs\":[7]}", "Problem"),
        ] {
            let answer = try #require(await office.ask(method, "/api/v1/\(target)", body).json)
            #expect(undescribed(answer, by: Shape.reference(schema)) == [], "\(target)")
        }
        office.house.close()
    }

    @Test func everyMemberOfAListedItemIsDescribed() async throws {
        let office = try await Office()
        try await office.house.journal.write { store throws(JournalError) in
            let submission = Submission(
                user: "anna", records: [RecordRevision(record: "7", revision: 3, payloadHash: "")],
                idempotencyKey: nil, outgoingKey: "key", fingerprint: "", method: "PUT", target: "/7",
                headerLines: [], conditionalLines: [], body: [], side: .legacy, dualWrite: true)
            _ = try store.accept([submission], now: 1_000)
        }
        let answer = Mismatch.Answer(status: 200, hash: "0")
        office.dataPlane.shared.mismatches.record(
            Mismatch(
                atMilliseconds: 1_000, kind: "content", method: "GET", target: "/7", paths: ["/a"], legacy: answer,
                new: answer, values: [(legacy: "1", new: "2")]))
        for (list, schema) in [("journal", "JournalPage"), ("mismatches", "MismatchPage")] {
            let page = try #require(await office.ask("GET", "/api/v1/\(list)").json)
            #expect(page["items"]?.text != "[]")
            #expect(undescribed(page, by: Shape.reference(schema)) == [], "\(list)")
        }
        let row = HistoryRow(.tenSeconds, atMilliseconds: 1_000, instance: "test")
        #expect(undescribed(historyJSON(row), by: Shape.reference("HistoryRow")) == [])
        office.house.close()
    }

    @Test func noOperationIsForgottenByTheGate() async throws {
        let office = try await Office()
        for route in AdminRoute.all {
            let target = AdminRoute.prefix + route.path.replacing("{id}", with: "anna")
            for (token, isRead, isChange) in [(nil, 401, 401), ("wrong", 401, 401), (viewerToken, 200, 403)] {
                let answer = await office.ask(route.method, target, token: token, peer: "10.0.0.1")
                #expect(answer.status == (route.method == "GET" ? isRead : isChange), "\(route.method) \(target)")
            }
        }
        #expect(await office.house.controller.state.generation == 1)
        office.house.close()
    }

    @Test func whoMayNotChangeChangesNothing() async throws {
        let office = try await Office()
        for token in [viewerToken, "wrong", nil] {
            _ = await office.ask("POST", "/api/v1/rollout/percent", "{\"percent\":50}", token: token)
            _ = await office.ask("PUT", "/api/v1/users/anna/pin", "{\"side\":\"new\"}", token: token)
        }
        #expect(await office.house.controller.state.generation == 1)
        #expect(await office.house.controller.pin(of: "anna") == nil)
        office.house.close()
    }

    @Test(arguments: [
        ("POST", "rollout/percent", "", "percent: missing"), ("POST", "rollout/percent", "{}", "percent: missing"),
        ("POST", "rollout/percent", "{\"percent\":null}", "percent: missing"),
        (
            "POST", "rollout/percent", "{\"percent\":\"12\"}",
            "percent: the value is of the wrong type; accepted: a number"
        ),
        ("POST", "rollout/percent", "{\"percent\":101}", "percent: 101"),
        ("POST", "rollout/percent", "{\"percent\":-1}", "percent: -1"),
        ("POST", "rollout/percent", "{\"percent\":12.345}", "at most two decimals"),
        ("POST", "rollout/percent", "{\"percent\":1e999}", "percent: the number is too large"),
        ("POST", "rollout/percent", "{\"percent\":NaN}", "not valid JSON"),
        ("POST", "rollout/percent", "{\"percent\":1,\"percent\":2}", "\"percent\" is given twice"),
        ("POST", "rollout/percent", "\u{0}", "not valid JSON"),
        ("POST", "rollout/pause", "{\"percent\":12}", "unknown member \"percent\"; accepted: dry_run, reason"),
        ("POST", "rollout/pause", "{\"reason\":\"\\u0000\"}", "reason: a text without U+0000"),
        ("POST", "rollout/pause", "{\"reason\":\"" + String(repeating: "x", count: 1_001) + "\"}", "longer than 1000"),
        ("POST", "rollout/percent", "{\"percent\":12", "not valid JSON"),
        ("POST", "rollout/percent", "[12]", "not a JSON object"),
        ("POST", "rollout/percent", "12", "not a JSON object"),
        (
            "POST", "rollout/percent", "{\"precent\":12}",
            "unknown member \"precent\"; accepted: percent, force, dry_run, reason"
        ),
        ("POST", "rollout/promote", "{\"to\":\"hlaf\"}", "accepted: dual-write, shadow, canary, half, full"),
        ("POST", "rollout/rollback", "{\"to\":\"\"}", "there is no stage"),
        ("POST", "rollout/promote", "{\"force\":\"yes\"}", "force: the value is of the wrong type"),
        ("PUT", "users/anna/pin", "", "side: missing"),
        ("PUT", "users/anna/pin", "{\"side\":\"old\"}", "\"old\" is no backend"),
        ("PUT", "users/%20/pin", "{\"side\":\"new\"}", "not empty"),
        ("PUT", "users//pin", "{\"side\":\"new\"}", "not empty"),
        ("POST", "journal/replay", "", "accepted: {\"seqs\": [17]} or"),
        ("POST", "journal/replay", "{\"seqs\":[1],\"all_parked\":true}", "accepted: {\"seqs\": [17]} or"),
        ("POST", "journal/replay", "{\"seqs\":[\"a\"]}", "the value is of the wrong type"),
        ("POST", "journal/replay", "{\"seqs\":[]}", "the seq of 1 to 1000 changes"),
        ("POST", "journal/replay", "{\"seqs\":[0]}", "the value is of the wrong type"),
        ("POST", "journal/settle", "", "seqs: missing"),
        ("POST", "journal/settle", "{\"seqs\":[1]}", "reason: missing"),
        ("POST", "journal/settle", "{\"seqs\":[1],\"reason\":\" \"}", "reason: missing"),
        ("POST", "journal/settle", "{\"all_parked\":true,\"reason\":\"r\"}", "unknown member \"all_parked\""),
        ("PUT", "users/%FF/pin", "{\"side\":\"new\"}", "not UTF-8"),
        ("PUT", "users/a%00b/pin", "{\"side\":\"new\"}", "U+0000"),
        ("PUT", "users/" + String(repeating: "x", count: 1_025) + "/pin", "{\"side\":\"new\"}", "at most 1024 bytes"),
        ("POST", "reload", "{\"x\":1}", "unknown member \"x\""),
        ("POST", "reverse-sync", "{\"since\":\"24\"}", "since: \"24\" is no duration; accepted: 24h"),
        ("POST", "reverse-sync", "{\"since\":24}", "since: the value is of the wrong type"),
    ])
    func aBodyThatMakesNoSenseIsRefusedAndSaysWhatIsAccepted(
        method: String, target: String, body: String, said: String
    ) async throws {
        let office = try await Office()
        let answer = await office.ask(method, "/api/v1/" + target, body)
        #expect(answer.status == 400 && answer.field("Content-Type") == "application/problem+json")
        guard case .string(let detail)? = answer.json?["detail"] else {
            Issue.record("no detail: \(answer.text)")
            return
        }
        #expect(detail.contains(said), "\(detail)")
        #expect(await office.house.controller.state.generation == 1)
        office.house.close()
    }

    @Test(
        arguments: [
            ("GET", "/nothing", 404, nil), ("GET", "/api/v1/nothing", 404, nil), ("GET", "/api/v2/status", 404, nil),
            ("POST", "/api/v1/rollout/promotion", 404, nil), ("GET", "/api/v1/users/a/b/c", 404, nil),
            ("GET", "/api/v1/status/", 404, nil), ("POST", "/api/v1/status", 405, "GET, HEAD"),
            ("GET", "/api/v1/reload", 405, "POST"), ("DELETE", "/api/v1/reverse-sync", 405, "GET, HEAD, POST"),
            ("POST", "/metrics", 405, "GET, HEAD"), ("OPTIONS", "/api/v1/users/a/pin", 405, "PUT, DELETE"),
            ("OPTIONS", "/nowhere", 404, nil),
            ("GET", "/api/v1/rollout/stop-legacy", 405, "POST"),
            ("GET", "/api/v1/rollout/promote", 405, "POST"), ("POST", "/api/v1/users/a/pin", 405, "PUT, DELETE"),
            ("DELETE", "/api/v1/users/a", 405, "GET, HEAD"), ("GET", "/api/v1/journal/replay", 405, "POST"),
        ] as [(String, String, Int, String?)])
    func whatIsNotThereIsSaidSo(method: String, target: String, status: Int, allow: String?) async throws {
        let office = try await Office()
        let answer = await office.ask(method, target)
        #expect(answer.status == status && answer.field("Allow") == allow)
        #expect(answer.json?["status"]?.text == "\(status)")
        office.house.close()
    }

    @Test func aChangeTellsBeforeAndAfterAndItsGeneration() async throws {
        let office = try await Office()
        let answer = await office.ask(
            "POST", "/api/v1/rollout/percent", "{\"percent\":12.5,\"reason\":\"a try\"}", ifMatch: "\"1\"",
            peer: "10.1.2.3")
        #expect(answer.status == 200 && answer.field("ETag") == "\"2\"")
        #expect(answer.json?["before"]?["percent"]?.text == "0" && answer.json?["after"]?["percent"]?.text == "12.5")
        #expect(answer.json?["after"]?["stage"]?.text == "\"canary\"" && answer.json?["dry_run"]?.text == "false")
        let events = await office.ask("GET", "/api/v1/events?limit=1").json
        guard case .array(let items)? = events?["items"], let event = items.first else {
            Issue.record("no event")
            return
        }
        #expect(event["actor"]?.text == "\"admin@10.1.2.3\"" && event["reason"]?.text == "\"a try\"")
        #expect(event["action"]?.text == "\"set-percent\"" && event["before"]?["percent"]?.text == "0")
        #expect(event["after"]?["percent"]?.text == "12.5" && events?["next"]?.text == "\"2\"")
        office.house.close()
    }

    @Test(arguments: ["\"2\"", "\"1\", \"2\"", "W/\"1\",\"2\"", " , \"a,b\" ,\"2\",", "*"])
    func aChangeMayNameTheGenerationThatItHasSeen(ifMatch: String) async throws {
        let office = try await Office()
        #expect(await office.ask("POST", "/api/v1/rollout/promote").status == 200)
        #expect(await office.ask("POST", "/api/v1/rollout/pause", ifMatch: "\"1\"").status == 412)
        #expect(await office.ask("PUT", "/api/v1/users/a/pin", "{\"side\":\"new\"}", ifMatch: "\"1\"").status == 412)
        // Strong comparison (RFC 9110 §13.1.1): the tag is a text, and a weak one matches nothing.
        for other in ["W/\"2\"", "\"02\"", "\"+2\"", "\"\"", "\"yesterday\"", "\"1\", W/\"2\""] {
            #expect(await office.ask("POST", "/api/v1/rollout/pause", ifMatch: other).status == 412, "\(other)")
        }
        for none in ["yesterday", "2", "W/2", "w/\"2\"", "\"2", "\"1\" \"2\"", "*, \"2\"", ","] {
            #expect(await office.ask("POST", "/api/v1/rollout/pause", ifMatch: none).status == 400, "\(none)")
        }
        #expect(await office.ask("POST", "/api/v1/rollout/pause", ifMatch: ifMatch).status == 200)
        office.house.close()
    }

    @Test func whatThePlanRefusesIsAConflictWithItsReasons() async throws {
        let office = try await Office()
        #expect(await office.ask("POST", "/api/v1/rollout/promote", "{\"to\":\"full\"}").status == 200)
        let answer = await office.ask("POST", "/api/v1/rollout/promote")
        guard case .array(let reasons)? = answer.json?["reasons"] else {
            Issue.record("no reasons: \(answer.text)")
            return
        }
        #expect(answer.status == 409 && reasons.count == 1)
        #expect(await office.ask("POST", "/api/v1/rollout/rollback").status == 200)
        #expect(await office.ask("POST", "/api/v1/rollout/pause").status == 409)
        office.house.close()
    }

    @Test func aFailingGateHoldsAPromotionUntilItIsForced() async throws {
        var gates = Gates()
        gates.readErrorRate = 0.1
        let office = try await Office(plan: plan(gates: gates, minSamples: 10))
        for _ in 0..<20 { office.dataPlane.metrics[0].read(.legacy, failed: true) }
        let refused = await office.ask("POST", "/api/v1/rollout/promote")
        #expect(
            refused.status == 409
                && refused.text.contains("gate read_error_rate fails: 100 % of 20 reads of legacy, limit 10 %"))
        let status = await office.ask("GET", "/api/v1/status").json
        #expect(status?["metrics"]?["read_error_rate"]?["verdict"]?.text == "\"fail\"")
        #expect(status?["metrics"]?["read_error_rate"]?["by_backend"]?["legacy"]?["samples"]?.text == "20")
        #expect(await office.ask("POST", "/api/v1/rollout/promote", "{\"force\":true}").status == 200)
        office.house.close()
    }

    @Test func theLastStageIsNotEnteredWhileLegacyIsAway() async throws {
        let office = try await Office(wayBack: "Connection refused")
        #expect(await office.ask("POST", "/api/v1/rollout/promote", "{\"to\":\"half\"}").status == 200)
        office.dataPlane.shared.coordinator.addOutstanding(1, user: "anna", .legacy, acceptedMilliseconds: 0)
        let refused = await office.ask("POST", "/api/v1/rollout/promote", "{\"dry_run\":true}")
        guard case .array(let reasons)? = refused.json?["reasons"] else {
            Issue.record("no reasons: \(refused.text)")
            return
        }
        #expect(refused.status == 409 && reasons.count == 2)
        #expect(reasons[0].text == "\"the way back is closed: legacy does not answer (Connection refused)\"")
        #expect(reasons[1].text.hasSuffix(" s, at most 30 s\""))
        let forced = await office.ask("POST", "/api/v1/rollout/promote", "{\"force\":true}")
        #expect(forced.status == 200 && forced.text.contains("promoted by force"))
        office.dataPlane.shared.coordinator.removeOutstanding(1, user: "anna", .legacy)
        office.house.close()
    }

    @Test func aBacklogThatIsTooOldHoldsAPromotionToo() async throws {
        var gates = Gates()
        gates.journalLagSeconds = 30
        let office = try await Office(plan: plan(gates: gates))
        // Accepted in 1970.
        office.dataPlane.shared.coordinator.addOutstanding(1, user: "anna", .new, acceptedMilliseconds: 0)
        let refused = await office.ask("POST", "/api/v1/rollout/promote")
        #expect(
            refused.status == 409
                && refused.text.contains("gate journal_lag fails: the oldest outstanding leg to new waits"))
        office.dataPlane.shared.coordinator.removeOutstanding(1, user: "anna", .new)
        #expect(await office.ask("POST", "/api/v1/rollout/promote").status == 200)
        office.house.close()
    }

    @Test func aUserIsExplainedAndPinned() async throws {
        let office = try await Office()
        let user = "/api/v1/users/an%2Fna%20%C3%A9"
        var found = await office.ask("GET", user).json
        #expect(found?["user"]?.text == "\"an/na é\"" && found?["reason"]?.text == "\"outside-percent\"")
        #expect(found?["side"]?.text == "\"legacy\"" && found?["pin"]?.text == "null")
        #expect(await office.ask("PUT", user + "/pin", "{\"side\":\"new\"}").status == 200)
        found = await office.ask("GET", user).json
        #expect(found?["reason"]?.text == "\"pinned-new\"" && found?["pin"]?.text == "\"new\"")
        #expect(await office.ask("DELETE", user + "/pin").status == 200)
        #expect(await office.ask("GET", user).json?["pin"]?.text == "null")
        #expect(await office.ask("GET", "/api/v1/users/").json?["reason"]?.text == "\"anonymous\"")
        office.house.close()
    }

    @Test func listsArePagedNewestFirst() async throws {
        let office = try await Office()
        for number in 1...5 { _ = await office.ask("POST", "/api/v1/rollout/percent", "{\"percent\":\(number)}") }
        var seen: [String] = []
        var cursor = ""
        for _ in 0..<10 {
            let page = await office.ask("GET", "/api/v1/events?limit=2\(cursor)").json
            guard case .array(let items)? = page?["items"] else { break }
            seen += items.compactMap { $0["seq"]?.text }
            guard case .string(let next)? = page?["next"] else { break }
            cursor = "&cursor=\(next)"
        }
        #expect(seen == ["6", "5", "4", "3", "2", "1"])
        for list in ["mismatches", "journal"] {
            #expect(await office.ask("GET", "/api/v1/\(list)?limit=5").text == "{\"items\":[],\"next\":null}\n")
            for query in ["limit=x", "limit=0", "limit=", "limit=+5", "limit=1&limit=2", "cursor=bogus", "cursor=-1"] {
                #expect(await office.ask("GET", "/api/v1/\(list)?\(query)").status == 400)
            }
        }
        office.house.close()
    }

    @Test func aNumberThatFitsNowhereIsTheLargest() async throws {
        let office = try await Office()
        for query in ["limit=99999999999999999999", "cursor=99999999999999999999", "cursor="] {
            #expect(await office.ask("GET", "/api/v1/journal?\(query)").status == 200, "\(query)")
        }
        for (query, status) in [("parked=1", 200), ("parked=false", 200), ("parked=yes", 400), ("unknown=x", 400)] {
            #expect(await office.ask("GET", "/api/v1/journal?\(query)").status == status, "\(query)")
        }
        #expect(await office.ask("GET", "/api/v1/events?format=xml").status == 400)
        for (method, target, accepted) in [
            ("GET", "events?limt=1", "limit, cursor, format"), ("GET", "metrics/history?last=1h", "since, resolution"),
            ("GET", "status?limit=1", "accepted: none"), ("POST", "rollout/pause?dry_run=true", "accepted: none"),
        ] {
            let answer = await office.ask(method, "/api/v1/\(target)")
            #expect(answer.status == 400 && answer.text.contains("unknown parameter"), "\(target)")
            #expect(answer.text.contains(accepted), "\(answer.text)")
        }
        #expect(await office.house.controller.state.generation == 1)
        office.house.close()
    }

    @Test func everyChangeMayNameAGeneration() async throws {
        let office = try await Office()
        for (method, target, body) in [
            ("POST", "journal/replay", "{\"all_parked\":true}"), ("POST", "reload", ""), ("POST", "reverse-sync", ""),
            ("POST", "rollout/pause", ""), ("DELETE", "users/anna/pin", ""),
        ] {
            let answer = await office.ask(method, "/api/v1/\(target)", body, ifMatch: "\"7\"")
            #expect(answer.status == 412, "\(target)")
        }
        for line in ["+1", "1\"2", ""] {
            #expect(await office.ask("POST", "/api/v1/rollout/pause", ifMatch: line).status == 400, "\(line)")
        }
        office.house.close()
    }

    @Test(
        arguments: [
            ("http://127.0.0.1:9900", nil, 200), ("https://127.0.0.1:9900", nil, 200),
            ("HTTP://127.0.0.1:9900", nil, 200),
            ("http://127.0.0.1:9901", nil, 403), ("http://evil.example", nil, 403), ("null", nil, 403), ("", nil, 403),
            (nil, "same-origin", 200), (nil, "none", 200), (nil, "same-site", 403), (nil, "Cross-Site", 403),
            ("http://127.0.0.1:9900", "cross-site", 403), (nil, nil, 200),
        ] as [(String?, String?, Int)])
    func aChangeFromAPageOfAnotherOriginIsRefused(origin: String?, site: String?, status: Int) async throws {
        let office = try await Office()
        var headers: [(name: String, value: String)] = [("host", "127.0.0.1:9900")]
        if let origin { headers.append(("origin", origin)) }
        if let site { headers.append(("sec-fetch-site", site)) }
        #expect(await office.ask("POST", "/api/v1/rollout/promote", fields: headers).status == status)
        #expect(await office.house.controller.state.generation == (status == 200 ? 2 : 1))
        let preflight = await office.ask("OPTIONS", "/api/v1/rollout/promote", token: nil, fields: headers)
        #expect(preflight.status == 405 && preflight.field("Allow") == "POST")
        #expect(!preflight.headers.contains { $0.name.lowercased().hasPrefix("access-control") })
        office.house.close()
    }

    @Test func underANameOfSomebodyElseNothingIsReadWithoutAToken() async throws {
        let office = try await Office()
        for host in ["127.0.0.1:9900", "127.0.0.1", "[::1]:9900", "localhost:9900", "LOCALHOST", "a.localhost", ""] {
            #expect(
                await office.ask("GET", "/api/v1/status", token: nil, fields: [("host", host)]).status == 200, "\(host)"
            )
        }
        for host in [
            "evil.example", "evil.example:9900", "127.0.0.1.evil.example", "localhost.evil.example", "[::1", "1",
        ] {
            let bare = await office.ask("GET", "/api/v1/status", token: nil, fields: [("host", host)])
            #expect(bare.status == (host == "[::1" ? 200 : 403), "\(host)")
            #expect(await office.ask("GET", "/api/v1/status", fields: [("host", host)]).status == 200, "\(host)")
            #expect(await office.ask("GET", "/metrics", token: nil, fields: [("host", host)]).status == bare.status)
        }
        office.house.close()
    }

    @Test func whoeverShowsTooManyWrongTokensWaitsUnlessOneIsRight() async throws {
        let office = try await Office(failuresPerMinute: 3)
        for _ in 0..<3 { #expect(await office.ask("POST", "/api/v1/reload", token: "wrong").status == 401) }
        let refused = await office.ask("GET", "/api/v1/status", token: "wrong")
        #expect(refused.status == 429 && (1...60).contains(refused.field("Retry-After").flatMap { Int($0) } ?? 0))
        #expect(await office.ask("POST", "/api/v1/rollout/promote").status == 200)
        #expect(await office.ask("POST", "/api/v1/reload", token: nil).status == 401)
        #expect(await office.ask("GET", "/api/v1/status", token: nil).status == 200)
        #expect(await office.ask("GET", "/api/v1/status", token: "wrong", peer: "127.0.0.2").status == 401)
        office.house.close()
    }

    @Test func aReloadTellsWhatCameOfIt() async throws {
        let invalid = try await Office(reload: .invalid(["cutover.yaml:1: no"]))
        let answer = await invalid.ask("POST", "/api/v1/reload")
        #expect(answer.status == 422 && answer.json?["reasons"]?.text == "[\"cutover.yaml:1: no\"]")
        invalid.house.close()
        let busy = try await Office()
        #expect(await busy.ask("POST", "/api/v1/reload").status == 409)
        busy.house.close()
    }

    @Test func readinessIsSaidWhoeverAsks() async throws {
        let office = try await Office()
        let ready = await office.ask("GET", "/readyz", token: nil)
        #expect(ready.status == 200 && ready.json?["ready"]?.text == "true")
        #expect(ready.json?["backends"]?["new"]?["healthy"]?.text == "true")
        office.isReady.value.store(false, ordering: .relaxed)
        #expect(await office.ask("GET", "/readyz", token: nil).status == 503)
        #expect(await office.ask("GET", "/healthz", token: nil).text == "ok\n")
        office.house.close()
    }

    @Test func theStatusHasTheShapeOfTheContract() async throws {
        let office = try await Office()
        let status = try #require(await office.ask("GET", "/api/v1/status").json)
        for path in [
            "rollout.plan", "rollout.stage", "rollout.percent", "rollout.shadow_percent", "rollout.dual_write",
            "rollout.state",
            "rollout.since", "rollout.generation", "metrics.read_error_rate.value", "metrics.write_p95_seconds.samples",
            "metrics.read_error_rate.client.value", "metrics.read_error_rate.by_backend.new.samples",
            "metrics.write_p95_seconds.leg_by_backend.legacy.value", "metrics.write_p95_seconds.total.samples",
            "metrics.conflict_rate.by_source.gateway", "metrics.fallback_rate.by_reason.404",
            "metrics.fallback_rate.by_kind.write",
            "metrics.conflict_rate.threshold", "metrics.fallback_rate.verdict", "shadow.compared", "shadow.matched",
            "shadow.mismatched", "shadow.transient", "shadow.dropped", "shadow.errors",
            "journal.pending.legacy", "journal.pending.new",
            "journal.oldest_pending_seconds.legacy", "journal.parked", "journal.catch_up.legacy.rate",
            "journal.catch_up.new.seconds", "backends.legacy.healthy",
            "backends.new.healthy",
        ] {
            let found = path.split(separator: ".").reduce(JSONValue?.some(status)) { $0?[String($1)] }
            #expect(found != nil, "\(path)")
        }
        #expect(await office.ask("GET", "/metrics").text.contains("cutover_rollout_percent 0"))
        office.house.close()
    }
}
