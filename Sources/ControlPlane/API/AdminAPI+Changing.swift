import Configuration
import FoundationEssentials
import Gateway
import Journal
import JournalThreads
import Rollout
import Values

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
