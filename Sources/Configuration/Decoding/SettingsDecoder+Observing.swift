/// What is told of single requests: traces.
extension SettingsDecoder {
    mutating func decodeTracing(_ top: Section) {
        guard let section = top.section("tracing", Schema.tracing) else { return }
        section.set(&settings.tracing.context, "context", Value.word(TracingSettings.Context.self))
        section.setPlain(&settings.tracing.sampleHundredths, "sample", Value.percent)
    }
}
