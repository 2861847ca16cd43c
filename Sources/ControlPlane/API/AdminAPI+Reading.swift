import CLinux
import Configuration
import Gateway
import Journal
import JournalThreads
import Rollout
import Synchronization
import Telemetry

extension AdminAPI {
    /// Facts wait a few milliseconds for company before they are durable; whoever asks wants to see them.
    func settleJournal() { _ = journal.flush(timeoutMilliseconds: 200) }

    func parkedLegs() async -> Int {
        // While a shared store is away, nobody who asks for status waits for it.
        if let cluster = storage.cluster, !cluster.state.isConnected { return lastParked.load(ordering: .relaxed) }
        settleJournal()
        let journal = journal
        let found = await within(milliseconds: 1_000) {
            try? await journal.read { reader throws(JournalError) in try reader.counts() }
        }
        guard let counts = found else { return lastParked.load(ordering: .relaxed) }
        lastParked.store(counts.parkedLegacy + counts.parkedNew, ordering: .relaxed)
        return counts.parkedLegacy + counts.parkedNew
    }

    // MARK: Users

    func user(_ user: String) async -> ServiceResponse {
        let snapshot = await controller.snapshot
        let picture = await controller.picture
        let pin = await controller.pin(of: user)
        let found = dataPlane.explain(user, in: snapshot)
        let since = max(pin?.sinceMilliseconds ?? 0, picture.state.sinceMilliseconds)
        return json(
            .object([
                ("user", .string(user)),
                ("bucket", found.position.map { .number(String($0.bucket)) } ?? .null),
                (
                    "percent_needed",
                    found.position.map { .number(Percent.text(hundredths: $0.percentNeededHundredths)) } ?? .null
                ),
                ("side", .string("\(found.decision.side.name)")),
                ("reason", .string("\(found.decision.reason.name)")),
                ("pin", pin.map { .string("\($0.side.name)") } ?? .null),
                ("since", .string(Instant(milliseconds: since).text)),
            ]))
    }

    // MARK: Lists

    private func page(_ request: ServiceRequest) throws(BadCall) -> (limit: Int, cursor: Int64?) {
        func number(_ name: String) throws(BadCall) -> Int64? {
            guard let text = queryValue(request.query, name), !text.isEmpty else { return nil }
            guard let number = Int64(text), number > 0 else {
                throw BadCall(text: "\(name): \"\(text)\" is no whole number above 0")
            }
            return number
        }
        return (Int(min(try number("limit") ?? 50, 1000)), try number("cursor"))
    }

    private func list(_ items: [JSONValue], next: Int64?) -> ServiceResponse {
        json(.object([("items", .array(items)), ("next", next.map { .string(String($0)) } ?? .null)]))
    }

    func mismatches(_ request: ServiceRequest) -> ServiceResponse {
        let (limit, cursor): (Int, Int64?)
        do throws(BadCall) { (limit, cursor) = try page(request) } catch { return problem(400, error.text) }
        let found = dataPlane.shared.mismatches.page(before: cursor, limit: limit + 1)
        let items = found.prefix(limit).map { mismatch in
            var members: [(String, JSONValue)] = [
                ("seq", .number(String(mismatch.sequence))),
                ("at", .string(Instant(milliseconds: mismatch.atMilliseconds).text)),
                ("kind", .string(mismatch.kind)), ("method", .string(mismatch.method)),
                ("target", .string(mismatch.target)),
                ("paths", .array(mismatch.paths.map { .string($0) })),
                ("legacy", answer(mismatch.legacy)), ("new", answer(mismatch.new)),
            ]
            if !mismatch.values.isEmpty {
                members.append(
                    (
                        "values",
                        .array(
                            mismatch.values.map { .object([("legacy", .string($0.legacy)), ("new", .string($0.new))]) })
                    ))
            }
            return JSONValue.object(members)
        }
        return list(items, next: found.count > limit ? found[limit - 1].sequence : nil)
    }

    private func answer(_ answer: Mismatch.Answer) -> JSONValue {
        .object([("status", .number(String(answer.status))), ("hash", .string(answer.hash))])
    }

    func journalRows(_ request: ServiceRequest) async -> ServiceResponse {
        let (limit, cursor): (Int, Int64?)
        do throws(BadCall) { (limit, cursor) = try page(request) } catch { return problem(400, error.text) }
        let parked = ["true", "1"].contains(queryValue(request.query, "parked") ?? "")
        settleJournal()
        let rows: [JournalRow]
        do throws(JournalError) {
            rows = try await journal.read { reader throws(JournalError) in
                try reader.rows(parkedOnly: parked, before: cursor, limit: limit + 1)
            }
        } catch {
            return problem(503, error.message)
        }
        return list(rows.prefix(limit).map(rowJSON), next: rows.count > limit ? rows[limit - 1].sequence : nil)
    }

    private func rowJSON(_ row: JournalRow) -> JSONValue {
        func leg(_ leg: LegStatus) -> JSONValue {
            .object([
                ("state", .string(leg.state.rawValue)), ("attempts", .number(String(leg.attempts))),
                ("last_status", leg.lastStatus.map { .number(String($0)) } ?? .null),
                (
                    "next_attempt_at",
                    leg.nextAttemptMilliseconds.map { .string(Instant(milliseconds: $0).text) } ?? .null
                ),
            ])
        }
        return .object([
            ("seq", .number(String(row.sequence))),
            ("at", .string(Instant(milliseconds: row.acceptedMilliseconds).text)),
            ("user", row.user.map { .string($0) } ?? .null), ("record", row.record.map { .string($0) } ?? .null),
            ("revision", row.revision.map { .number(String($0)) } ?? .null),
            ("records", .number(String(row.recordCount))), ("method", .string(row.method)),
            ("target", .string(row.target)),
            ("legs", .object([("legacy", leg(row.legs.legacy)), ("new", leg(row.legs.new))])),
        ])
    }

    func events(_ request: ServiceRequest) async -> ServiceResponse {
        let (limit, cursor): (Int, Int64?)
        do throws(BadCall) { (limit, cursor) = try page(request) } catch { return problem(400, error.text) }
        let events: [RolloutEvent]
        do throws(JournalError) {
            events = try await journal.read { reader throws(JournalError) in
                try reader.events(before: cursor, limit: limit + 1)
            }
        } catch {
            return problem(503, error.message)
        }
        let items = events.prefix(limit).map { event in
            JSONValue.object([
                ("seq", .number(String(event.sequence))),
                ("at", .string(Instant(milliseconds: event.atMilliseconds).text)),
                ("actor", .string(event.actor)), ("action", .string(event.action)),
                ("before", storedJSON(event.before)), ("after", storedJSON(event.after)),
                ("reason", .string(event.reason)),
            ])
        }
        return list(items, next: events.count > limit ? events[limit - 1].sequence : nil)
    }
}
