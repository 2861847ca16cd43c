import Gateway
import Journal
import JournalThreads
import Rollout
import Synchronization
import Values

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

    func user(_ segment: Substring) async -> ServiceResponse {
        let user: String
        do throws(BadCall) { user = try userID(segment) } catch { return problem(400, error.text) }
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

    /// Which page of a list is asked for; items a page are at most `pageMax`, whatever is asked.
    func page(_ query: Query) throws(BadCall) -> (limit: Int, cursor: Int64?) {
        let limit = Int(min(try query.count("limit") ?? 50, Int64(AdminAPI.pageMax)))
        // An empty cursor is the first page's.
        return (limit, try query.text("cursor")?.isEmpty == true ? nil : try query.count("cursor"))
    }

    static let pageMax = 1_000

    func list(_ items: [JSONValue], next: Int64?) -> ServiceResponse {
        json(.object([("items", .array(items)), ("next", next.map { .string(String($0)) } ?? .null)]))
    }

    func mismatches(_ request: ServiceRequest) -> ServiceResponse {
        let (limit, cursor): (Int, Int64?)
        do throws(BadCall) { (limit, cursor) = try page(Query(request.query)) } catch {
            return problem(400, error.text)
        }
        let found = dataPlane.shared.mismatches.page(before: cursor, limit: limit + 1)
        return list(
            found.prefix(limit).map(mismatchJSON), next: found.count > limit ? found[limit - 1].sequence : nil)
    }

    func mismatchJSON(_ mismatch: Mismatch) -> JSONValue {
        var members: [(String, JSONValue)] = [
            ("seq", .number(String(mismatch.sequence))),
            ("at", .string(Instant(milliseconds: mismatch.atMilliseconds).text)),
            ("kind", .string(mismatch.kind)), ("method", .string(mismatch.method)),
            ("target", .string(mismatch.target)),
            ("paths", .array(mismatch.paths.map { .string($0) })),
            ("legacy", answer(mismatch.legacy)), ("new", answer(mismatch.new)),
        ]
        if !mismatch.values.isEmpty {
            let values = mismatch.values.map {
                JSONValue.object([("legacy", .string($0.legacy)), ("new", .string($0.new))])
            }
            members.append(("values", .array(values)))
        }
        return .object(members)
    }

    private func answer(_ answer: Mismatch.Answer) -> JSONValue {
        .object([("status", .number(String(answer.status))), ("hash", .string(answer.hash))])
    }

    func journalRows(_ request: ServiceRequest) async -> ServiceResponse {
        let (limit, cursor): (Int, Int64?)
        let parked: Bool
        do throws(BadCall) {
            let query = Query(request.query)
            (limit, cursor) = try page(query)
            parked = try query.flag("parked")
        } catch {
            return problem(400, error.text)
        }
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
}
