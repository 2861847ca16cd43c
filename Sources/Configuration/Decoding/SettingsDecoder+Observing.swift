/// What is told of single requests: lines of the access log, and traces.
extension SettingsDecoder {
    mutating func decodeTracing(_ top: Section) {
        guard let section = top.section("tracing", Schema.tracing) else { return }
        section.set(&settings.tracing.context, "context", Value.word(TracingSettings.Context.self))
        section.setPlain(&settings.tracing.sampleHundredths, "sample", Value.percent)
        settings.tracing.otlp = section.value("otlp", Value.collectorURL)
    }

    mutating func decodeAccessLog(_ top: Section) {
        guard let section = top.section("access_log", Schema.accessLog) else { return }
        section.requireKey("file", accepted: "a file, stdout, stderr")
        let directory = directory
        let destination = section.value("file") { text throws(ValueProblem) -> AccessLogSettings.Destination in
            switch text {
            case "stdout": .standardOutput
            case "stderr": .standardError
            default: .file(Paths.resolve(try Value.text(text), in: directory))
            }
        }
        var log = AccessLogSettings(destination: destination ?? .standardError)
        section.set(&log.format, "format", Value.word(AccessLogSettings.Format.self))
        section.setPlain(&log.sampleHundredths, "sample", Value.percent)
        section.setPlain(&log.alwaysFrom, "always", Value.integer(100...600))
        section.set(&log.client, "client", Value.word(AccessLogSettings.Client.self))
        section.set(&log.user, "user", Value.word(AccessLogSettings.User.self))
        section.set(&log.query, "query", Value.word(AccessLogSettings.Query.self))
        section.values("redact", of: "paths, such as /accounts/{user_id}/**", Value.userPath).map { log.redact = $0 }
        settings.accessLog = log
    }
}
