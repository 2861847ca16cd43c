import Configuration
import Gateway
import HTTPClient
import Journal
import Rollout
import JournalThreads
import Telemetry

/// Whether legacy could take everybody back: looked at before a promotion enters the last stage (contract §9).
package struct WayBack: Sendable {
    /// How long the oldest leg to legacy may have waited where the plan has no `journal_lag` gate, in seconds.
    static let lagMaxSeconds = 30.0
    /// How long the probe waits for an answer, in milliseconds.
    private static let probeMilliseconds = 3000

    /// Asks legacy for anything; nil when it answered, else what was wrong, in words.
    var probe: @Sendable (BackendSettings) async -> String?

    /// A real request, on a thread of its own.
    package static let real = WayBack { backend in
        await withCheckedContinuation { continuation in
            startThread(name: "probe") { continuation.resume(returning: ask(backend)) }
        }
    }

    /// Any answer below 500 is a sign of life: what is at the root of a service nobody knows.
    private static func ask(_ backend: BackendSettings) -> String? {
        var request = HTTPRequest(url: backend.urlText + "/")
        request.timeoutMilliseconds = probeMilliseconds
        request.maximumBytes = 1 << 20
        request.useTLS(of: backend)
        do throws(HTTPFailure) {
            let answer = try EasyHandle().exchange(request)
            return answer.status >= 500 ? "it answers \(answer.status)" : nil
        } catch {
            // Too long an answer is one.
            return error.kind == .tooLarge ? nil : error.detail
        }
    }
}

extension WayBack {
    /// What speaks against entering the last stage, as sentences.
    func obstacles(_ settings: Settings, dataPlane: DataPlane, journal: ThreadedJournal) async -> [String] {
        var reasons: [String] = []
        if !dataPlane.isHealthy(.legacy) {
            reasons.append("the way back is closed: legacy fails too often, its breaker is open")
        } else if let problem = await probe(settings.legacy) {
            reasons.append("the way back is closed: legacy does not answer (\(problem))")
        }
        let limit = settings.plan?.gates.journalLagSeconds ?? WayBack.lagMaxSeconds
        let lag = dataPlane.oldestPendingSeconds().legacy
        if lag > limit {
            reasons.append(
                "the way back is behind: the oldest write for legacy has waited \(Int64(lag)) s, at most \(decimal(limit)) s"
            )
        }
        if dataPlane.shared.coordinator.legacyGate.isClosed {
            reasons.append("the way back is behind: a reverse sync still brings legacy what it lacks")
        }
        let counts = try? await journal.read { reader throws(JournalError) in try reader.counts() }
        if let parked = counts?.parkedLegacy, parked > 0 {
            let legs = parked == 1 ? "1 leg to legacy is" : "\(parked) legs to legacy are"
            reasons.append("the way back has holes: \(legs) parked (cutover journal --parked)")
        }
        return reasons
    }

    private func decimal(_ seconds: Double) -> String {
        seconds == seconds.rounded() ? String(Int64(seconds)) : String(seconds)
    }
}
