import Configuration
import FoundationEssentials
import Gateway
import Journal
import JournalThreads
import Rollout

extension AdminAPI {
    func changeRollout(_ request: ServiceRequest, _ action: String) async -> ServiceResponse {
        do throws(BadCall) {
            let body = try ChangeBody(request.body, accepting: AdminAPI.members(of: action))
            let origin = try origin(request, body)
            let command = try await command(action, body)
            let findings = await pilot.gates()
            let obstacles = await obstacles(to: command)
            let cautions = await cautions(of: command)
            let outcome = await controller.apply(
                command, gates: findings, obstacles: obstacles, cautions: cautions, origin)
            // From now on, not from the next second on, what comes speaks for the new stage.
            await pilot.follow()
            return answer(outcome, origin)
        } catch {
            return problem(400, error.text)
        }
    }

    /// What the body of a command may hold besides the reason. A rollback is never refused: `force` is accepted there, and means nothing.
    static func members(of action: String) -> [ChangeBody.Member] {
        switch action {
        case "promote", "rollback": [.to, .force]
        case "percent": [.percent, .force]
        case "resume-legacy": [.force]
        default: []
        }
    }

    private func command(_ action: String, _ body: ChangeBody) async throws(BadCall) -> RolloutCommand {
        if let to = body.to, action == "promote" || action == "rollback" {
            let stages = await controller.picture.settings.plan?.stages.map(\.name) ?? []
            guard stages.contains(to) else {
                throw BadCall(
                    text: "to: there is no stage \"\(to.prefix(40))\"; "
                        + (stages.isEmpty ? "there is no plan" : "accepted: \(stages.joined(separator: ", "))"))
            }
        }
        switch action {
        case "promote": return .promote(to: body.to, force: body.force)
        case "rollback": return .rollback(to: body.to)
        case "pause": return .pause
        case "resume": return .resume
        case "stop-legacy": return .stopLegacy
        case "resume-legacy": return .resumeLegacy(force: body.force)
        default:
            guard let percent = body.percent else {
                throw BadCall(text: "percent: missing; accepted: {\"percent\": 12.5}")
            }
            guard let hundredths = Percent.hundredths(percent) else {
                throw BadCall(text: "percent: \(percent) is not 0 to 100 with at most two decimals")
            }
            return .setPercent(hundredths: hundredths)
        }
    }

    /// What in the world outside speaks against a command.
    private func obstacles(to command: RolloutCommand) async -> [String] {
        switch command {
        case .promote(let name, _):
            guard await controller.promotesToLastStage(name) else { return [] }
        case .setPercent(let hundredths):
            guard await controller.entersLastStage(hundredths) else { return [] }
        case .resumeLegacy: return await resumeObstacles()
        case .rollback, .pause, .resume, .stopLegacy: return []
        }
        return await wayBack.obstacles(await controller.picture.settings, dataPlane: dataPlane, journal: journal)
    }

    /// What refuses nothing and is to be said to whoever gives a command.
    private func cautions(of command: RolloutCommand) async -> [String] {
        switch command {
        case .promote, .setPercent: await pilot.cautions()
        case .resume: await pilot.outlookOfResuming()
        case .rollback, .pause, .stopLegacy, .resumeLegacy: []
        }
    }

    func pin(_ request: ServiceRequest, _ segment: Substring) async -> ServiceResponse {
        do throws(BadCall) {
            let user = try userID(segment)
            guard !user.allSatisfy(\.isWhitespace) else { throw BadCall(text: "a user id is not empty") }
            let isDelete = request.method == "DELETE"
            let body = try ChangeBody(request.body, accepting: isDelete ? [] : [.side])
            let origin = try origin(request, body)
            if isDelete { return answer(await controller.setPin(user, nil, origin), origin) }
            switch body.side {
            case "legacy": return answer(await controller.setPin(user, .legacy, origin), origin)
            case "new": return answer(await controller.setPin(user, .new, origin), origin)
            case let other?: throw BadCall(text: "side: \"\(other.prefix(40))\" is no backend; accepted: legacy, new")
            case nil: throw BadCall(text: "side: missing; accepted: {\"side\": \"legacy\"} or {\"side\": \"new\"}")
            }
        } catch {
            return problem(400, error.text)
        }
    }

    // MARK: Journal

    func replay(_ request: ServiceRequest) async -> ServiceResponse {
        do throws(BadCall) {
            let body = try ChangeBody(request.body, accepting: [.seqs, .allParked])
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
            return await replay(sequences, origin)
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

    private func replay(_ sequences: [Sequence64], _ origin: ChangeOrigin) async -> ServiceResponse {
        var changes: [(StoredChange, [Side])] = []
        var reasons: [String] = []
        for sequence in sequences {
            let change: StoredChange?
            do throws(JournalError) {
                change = try await journal.read { reader throws(JournalError) in try reader.load(sequence) }
            } catch {
                return problem(503, error.message)
            }
            let parked = change.map { change in Side.allCases.filter { change.legs[$0].state == .parked } } ?? []
            if let change, !parked.isEmpty {
                changes.append((change, parked))
            } else {
                reasons.append(
                    change == nil ? "there is no change \(sequence)" : "change \(sequence) has no parked leg")
            }
        }
        if !reasons.isEmpty { return problem(409, "nothing was replayed", reasons: reasons) }
        if !origin.isDryRun, !changes.isEmpty {
            if let refusal = await claim(changes.map(\.0.sequence)) { return refusal }
            for (change, sides) in changes { for side in sides { dataPlane.replay(change, side) } }
            _ = journal.flush(timeoutMilliseconds: 2000)
            await controller.note(
                "journal replay", before: .object([("state", "parked")]),
                after: .object([
                    ("state", "pending"), ("seqs", .array(changes.map { .number(String($0.0.sequence)) })),
                ]), origin)
        }
        return json(
            .object([
                ("replayed", .number(String(changes.count))),
                ("seqs", .array(changes.map { .number(String($0.0.sequence)) })),
                ("dry_run", .bool(origin.isDryRun)),
            ]))
    }

    /// In a shared store a change belongs to the gateway that accepted it, and only that one may send its legs.
    private func claim(_ sequences: [Sequence64]) async -> ServiceResponse? {
        let claimed: [Sequence64]
        do throws(JournalError) {
            claimed = try await journal.write { store throws(JournalError) in try store.claim(sequences) }
        } catch {
            return problem(503, "nothing was replayed: \(error.message)")
        }
        let others = Set(sequences).subtracting(claimed).sorted()
        guard !others.isEmpty else { return nil }
        return problem(
            409, "nothing was replayed",
            reasons: others.map { "change \($0) has another leg under way at another gateway; try again when it holds" }
        )
    }

    // MARK: Configuration

    func reloadConfiguration(_ request: ServiceRequest) async -> ServiceResponse {
        do throws(BadCall) {
            let origin = try origin(request, try ChangeBody(request.body))
            if let refusal = await outdated(origin) { return refusal }
            switch await reload(origin) {
            case .done(let outcome): return answer(outcome, origin)
            case .invalid(let errors):
                return problem(422, "the configuration has errors; nothing was changed", reasons: errors)
            case .unavailable(let reason): return problem(409, reason, reasons: [reason])
            }
        } catch {
            return problem(400, error.text)
        }
    }

    // MARK: Answers

    func answer(_ outcome: ChangeOutcome, _ origin: ChangeOrigin) -> ServiceResponse {
        switch outcome {
        case .done(let before, let after, let warnings, let generation):
            var response = json(
                .object([
                    ("before", before), ("after", after), ("warnings", .array(warnings.map { .string($0) })),
                    ("generation", .number(String(generation))), ("actor", .string(origin.actor)),
                    ("reason", .string(origin.reason)), ("dry_run", .bool(origin.isDryRun)),
                ]))
            response.headers.append(("ETag", "\"\(generation)\""))
            return response
        case .outdated(let current): return problem(412, "the rollout is at generation \(current) by now")
        case .refused(let reasons): return problem(409, reasons.joined(separator: "; "), reasons: reasons)
        case .unavailable(let reason): return problem(503, "the store did not take the change: \(reason)")
        }
    }

    /// JSON that the store holds as text; anything else is passed on as a text.
    func storedJSON(_ text: String) -> JSONValue {
        (try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))) ?? .string(text)
    }
}
