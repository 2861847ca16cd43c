import Configuration
import Gateway
import Journal
import JournalThreads
import Rollout
import Synchronization

/// Reads the configuration again, for SIGHUP and `POST reload`: one at a time, and everything is taken over or nothing.
final class Reloader: Sendable {
    private let parts: GatewayParts
    private let load: @Sendable () -> ConfigurationOutcome
    private let isBusy = Mutex(false)

    /// - Parameter load: reads and validates the files.
    init(_ parts: GatewayParts, load: @escaping @Sendable () -> ConfigurationOutcome) {
        self.parts = parts
        self.load = load
    }

    /// Takes over what is valid; changes nothing otherwise.
    func reload(_ origin: ChangeOrigin) async -> ReloadOutcome {
        let isFree = isBusy.withLock { busy in
            defer { busy = true }
            return !busy
        }
        guard isFree else { return .unavailable("another reload is under way") }
        defer { isBusy.withLock { $0 = false } }
        let fresh: Settings
        let remarks: [String]
        switch load() {
        case .errors(let errors): return .invalid(errors.map(\.description))
        case .ok(let settings, let warnings):
            fresh = settings
            remarks = warnings.map(\.description)
        }
        let controller = parts.controller
        let old = await controller.picture.settings
        let fixed = fresh.restartOnlyDifferences(from: old)
        if !fixed.isEmpty {
            return .invalid(fixed.map { "\($0): takes a restart to change; nothing was changed" })
        }
        let identity: IdentitySources
        do throws(IdentityError) { identity = try IdentitySources(fresh.user) } catch { return .invalid([error.text]) }
        let material: TLSMaterial
        do throws(TLSMaterialError) { material = try TLSMaterial(fresh, replacing: parts.tls.current) } catch {
            return .invalid([error.text])
        }
        let accessLog: AccessLogFile?
        do throws(AccessLogError) {
            let writer = parts.dataPlane.shared.accessLog
            accessLog = origin.isDryRun ? nil : try openAccessLog(fresh, for: writer)
        } catch {
            return .invalid([error.text])
        }
        do throws(TokenError) {
            let pair = try parts.tokens.reread(mayMake: !origin.isDryRun)
            if origin.isDryRun { return .done(await controller.outcome(ofReloading: fresh, remarks: remarks)) }
            if let pair, parts.tokens.use(pair) {
                logLine("admin: the tokens are new ones; the old ones count no more")
            }
        } catch {
            return .invalid([error.text])
        }
        // Opened anew, whatever has changed: it may have been renamed.
        if let accessLog { parts.dataPlane.shared.accessLog.use(accessLog) }
        parts.tls.use(material)
        let outcome = await controller.reload(fresh, identity, remarks: remarks, origin)
        tellParts(of: fresh, before: old)
        return .done(outcome)
    }

    /// Those that hold a setting of their own; all others ask the controller.
    private func tellParts(of fresh: Settings, before old: Settings) {
        parts.alerts.configure(fresh.plan?.alerts)
        parts.spans.aim(at: fresh.tracing.otlp)
        parts.journal.writer.setRetention(Retention(fresh))
        if fresh.plan?.windowSeconds != old.plan?.windowSeconds {
            parts.board.restart(windowSeconds: fresh.plan?.windowSeconds ?? 300)
        }
    }
}

/// What came of a reload.
package enum ReloadOutcome: Sendable {
    case done(ChangeOutcome)
    /// The new configuration has errors; nothing was changed.
    case invalid([String])
    case unavailable(String)
}
