import CLinux
import Configuration
import Gateway
import Rollout
import JournalThreads
import Values

extension AdminAPI {
    /// `GET reverse-sync`: how far the present run is, or how the last one ended.
    func reverseSyncReport() -> ServiceResponse { json(reverseSync.report.json()) }

    /// `POST reverse-sync`.
    func startReverseSync(_ request: ServiceRequest) async -> ServiceResponse {
        do throws(BadCall) {
            let body = try ChangeBody(request.body, accepting: [.since, .includeParked, .verify])
            let origin = try origin(request, body)
            var order = ReverseSyncOrder(actor: origin.actor, reason: origin.reason)
            if let since = body.since {
                guard let milliseconds = durationMilliseconds(since) else {
                    throw BadCall(text: "since: \"\(since.prefix(40))\" is no duration; accepted: 24h, 30m, 90s, 7d")
                }
                order.sinceMilliseconds = clinux_wall_milliseconds() - milliseconds
            }
            if let refusal = await outdated(origin) { return refusal }
            order.includesParked = body.includeParked
            order.verifies = body.verify
            return await startReverseSync(order, isDryRun: origin.isDryRun)
        } catch {
            return problem(400, error.text)
        }
    }

    private func startReverseSync(_ order: ReverseSyncOrder, isDryRun: Bool) async -> ServiceResponse {
        // What an earlier run has put back must not count as missing.
        _ = journal.flush(timeoutMilliseconds: 2000)
        guard let missing = await reverseSync.lookForMissing(since: order.sinceMilliseconds) else {
            return problem(503, "the journal cannot be read now")
        }
        if isDryRun { return json(.object([("dry_run", true)] + missing.members)) }
        if reverseSync.report.isRunning {
            return problem(409, "a reverse sync is under way", reasons: ["a reverse sync is under way"])
        }
        if missing.olderCount > 0 {
            // Newer changes of a record must not get to legacy before older ones: they would be overwritten later.
            let older =
                "\(missing.olderCount) older \(missing.olderCount == 1 ? "change is" : "changes are") missing, too, "
                + "and newer ones must not overtake them: leave `since` out, or make it longer"
            return problem(409, older, reasons: [older])
        }
        let isWritten = await controller.state.legacyWrites
        guard reverseSync.start(order, isGated: isWritten && missing.count > 0) else {
            return problem(409, "a reverse sync is under way", reasons: ["a reverse sync is under way"])
        }
        return json(reverseSync.report.json(), status: 202)
    }

    /// What speaks against having legacy written again at once: it has to have caught up but for a page.
    func resumeObstacles() async -> [String] {
        guard let missing = await reverseSync.lookForMissing(since: nil), missing.count > ReverseSync.resumeMax else {
            return []
        }
        let number = (missing.isComplete ? "" : "at least ") + "\(missing.count)"
        return [
            "legacy lacks \(number) changes, and writes to the same records would have to wait for them: "
                + "bring them there with reverse-sync first"
        ]
    }
}
