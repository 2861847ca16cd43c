import Gateway
import Journal
import JournalThreads
import Rollout
import Values

/// A parked leg that a replay or a settlement is about.
private struct ParkedLeg {
    let change: StoredChange
    let side: Side
    /// A later change that has the record on that side: this leg's content is older than what is there.
    var behind: Sequence64?

    var sequence: Sequence64 { change.sequence }

    /// Why it is not sent again without `force`.
    var heldReason: String? {
        behind.map {
            "change \(sequence) is older than change \($0) of the same record, which \(side.name) has or gets: sent again, it would put old "
                + "content over newer"
        }
    }
}

/// What to do with parked legs: send them again, or leave it at what the backend has.
extension AdminAPI {
    func replay(_ request: ServiceRequest) async -> ServiceResponse {
        do throws(BadCall) {
            let body = try ChangeBody(request.body, accepting: [.seqs, .allParked, .force])
            let origin = try origin(request, body)
            let sequences: [Sequence64]
            switch (body.seqs, body.allParked) {
            case (let seqs?, false): sequences = Array(Set(seqs)).sorted()
            case (nil, true):
                do throws(JournalError) { sequences = try await allParked() } catch {
                    return problem(503, error.message)
                }
            default: throw BadCall(text: "accepted: {\"seqs\": [17]} or {\"all_parked\": true}")
            }
            if let refusal = await outdated(origin) { return refusal }
            switch await parkedLegs(sequences, without: "nothing was replayed") {
            case .failure(let refusal): return refusal.response
            case .success(let legs): return await replay(legs, isForced: body.force, origin)
            }
        } catch {
            return problem(400, error.text)
        }
    }

    func settle(_ request: ServiceRequest) async -> ServiceResponse {
        do throws(BadCall) {
            let body = try ChangeBody(request.body, accepting: [.seqs])
            let origin = try origin(request, body)
            guard let seqs = body.seqs else {
                throw BadCall(text: "seqs: missing; accepted: {\"seqs\": [17], \"reason\": \"…\"}")
            }
            guard !body.reason.allSatisfy(\.isWhitespace) else {
                throw BadCall(text: "reason: missing; accepted: why the backend may go without these changes")
            }
            if let refusal = await outdated(origin) { return refusal }
            switch await parkedLegs(Array(Set(seqs)).sorted(), without: "nothing was settled") {
            case .failure(let refusal): return refusal.response
            case .success(let legs): return await settle(legs, origin)
            }
        } catch {
            return problem(400, error.text)
        }
    }

    private func allParked() async throws(JournalError) -> [Sequence64] {
        var found: [Sequence64] = []
        while true {
            let after = found.last ?? 0
            let page = try await journal.read { reader throws(JournalError) in
                try reader.parked(after: after, limit: 1000)
            }
            found += page
            if page.count < 1000 { return found }
        }
    }

    /// An answer instead of what was asked for.
    private struct Refusal: Error { let response: ServiceResponse }

    /// The parked legs of changes, each of which must have one.
    /// - Parameter nothing: what is said when one has none.
    private func parkedLegs(
        _ sequences: [Sequence64], without nothing: String
    ) async -> Result<[ParkedLeg], Refusal> {
        var legs: [ParkedLeg] = []
        var reasons: [String] = []
        do throws(JournalError) {
            for sequence in sequences {
                let change = try await journal.read { reader throws(JournalError) in try reader.load(sequence) }
                guard let change else {
                    reasons.append("there is no change \(sequence)")
                    continue
                }
                let parked = Side.allCases.filter { change.legs[$0].state == .parked }
                if parked.isEmpty { reasons.append("change \(sequence) has no parked leg") }
                for side in parked {
                    let behind = try await journal.read { reader throws(JournalError) in
                        try reader.changeBehind(sequence, on: side)
                    }
                    legs.append(ParkedLeg(change: change, side: side, behind: behind))
                }
            }
        } catch {
            return .failure(Refusal(response: problem(503, error.message)))
        }
        if !reasons.isEmpty { return .failure(Refusal(response: problem(409, nothing, reasons: reasons))) }
        return .success(legs)
    }

    private func replay(_ legs: [ParkedLeg], isForced: Bool, _ origin: ChangeOrigin) async -> ServiceResponse {
        let held = isForced ? [] : legs.filter { $0.behind != nil }
        let sent = isForced ? legs : legs.filter { $0.behind == nil }
        let sequences = distinct(sent)
        if !origin.isDryRun, !sent.isEmpty {
            if let refusal = await claim(sequences, without: "nothing was replayed") { return refusal }
            for leg in sent { dataPlane.replay(leg.change, leg.side) }
            _ = journal.flush(timeoutMilliseconds: 2000)
            await note("journal replay", sequences, as: .pending, origin)
        }
        return json(
            .object([
                ("replayed", .number(String(sequences.count))), ("seqs", numbers(sequences)),
                (
                    "held",
                    .array(
                        held.map { leg in
                            .object([
                                ("seq", .number(String(leg.sequence))), ("side", .string("\(leg.side.name)")),
                                ("behind", leg.behind.map { .number(String($0)) } ?? .null),
                                ("reason", leg.heldReason.map { .string($0) } ?? .null),
                            ])
                        })
                ), ("dry_run", .bool(origin.isDryRun)),
            ]))
    }

    private func settle(_ legs: [ParkedLeg], _ origin: ChangeOrigin) async -> ServiceResponse {
        let sequences = distinct(legs)
        if !origin.isDryRun {
            if let refusal = await claim(sequences, without: "nothing was settled") { return refusal }
            for leg in legs {
                var status = leg.change.legs[leg.side]
                (status.state, status.nextAttemptMilliseconds) = (.superseded, nil)
                journal.post(.leg(leg.sequence, leg.side, status))
            }
            _ = journal.flush(timeoutMilliseconds: 2000)
            await note("journal settle", sequences, as: .superseded, origin)
        }
        return json(
            .object([
                ("settled", .number(String(sequences.count))), ("seqs", numbers(sequences)),
                ("dry_run", .bool(origin.isDryRun)),
            ]))
    }

    private func distinct(_ legs: [ParkedLeg]) -> [Sequence64] { Array(Set(legs.map(\.sequence))).sorted() }

    private func numbers(_ sequences: [Sequence64]) -> JSONValue { .array(sequences.map { .number(String($0)) }) }

    private func note(
        _ action: String, _ sequences: [Sequence64], as state: LegState, _ origin: ChangeOrigin
    ) async {
        await controller.note(
            action, before: .object([("state", "parked")]),
            after: .object([("state", .string(state.rawValue)), ("seqs", numbers(sequences))]), origin)
    }

    /// In a shared store a change belongs to the gateway that accepted it, and only that one may send its legs.
    private func claim(_ sequences: [Sequence64], without nothing: String) async -> ServiceResponse? {
        let claimed: [Sequence64]
        do throws(JournalError) {
            claimed = try await journal.write { store throws(JournalError) in try store.claim(sequences) }
        } catch {
            return problem(503, "\(nothing): \(error.message)")
        }
        let others = Set(sequences).subtracting(claimed).sorted()
        guard !others.isEmpty else { return nil }
        return problem(
            409, nothing,
            reasons: others.map { "change \($0) has another leg under way at another gateway; try again when it holds" }
        )
    }
}
