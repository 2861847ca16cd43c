package import Configuration
package import Journal

/// What all workers and the control plane share. Everything in it is safe from any thread.
package final class SharedState: Sendable {
    package let legacy: SharedBackend
    package let new: SharedBackend
    package let mismatches: MismatchLog
    package let coordinator: WriteCoordinator
    package let accessLog = AccessLogWriter()
    package let spans = SpanQueue()
    let clients = ClientCounts()

    package init(
        settings: Settings, journal: any WriteJournal, window: WindowLimits = WindowLimits(),
        tls: TLSMaterial = TLSMaterial()
    ) {
        legacy = SharedBackend(settings.legacy, breaker: settings.fallback.breaker, tls: tls.legacy)
        new = SharedBackend(settings.new, breaker: settings.fallback.breaker, tls: tls.new)
        mismatches = MismatchLog()
        coordinator = WriteCoordinator(journal: journal, limits: window)
    }
}
