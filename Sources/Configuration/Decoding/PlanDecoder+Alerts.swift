internal import Rollout

extension PlanDecoder {
    /// Who is told. The file of `webhook_file` is not read here.
    func alerts(_ top: Section) -> PlanAlerts {
        var alerts = PlanAlerts()
        guard let section = top.section("alerts", Schema.alerts) else { return alerts }
        let receivers = ["webhook", "webhook_file"]
        if section.given(receivers).count > 1 {
            diagnostics.error(
                section.path("webhook_file"), "does not go with webhook",
                accepted: "one of " + receivers.joined(separator: ", "))
        }
        alerts.webhook = section.value("webhook", Value.webhookURL)
        alerts.webhookFile = section.value("webhook_file", Value.text)
        section.set(&alerts.format, "format", Value.word(AlertFormat.self))
        section.value("lag", Value.duration(from: 1)).map { alerts.lagSeconds = Double($0) / 1000 }
        if section.given(receivers).isEmpty, !section.hasUnknownKeys, top.has("alerts") {
            diagnostics.warn(section.path, "nobody is told: there is neither webhook nor webhook_file")
        }
        return alerts
    }
}

extension Loading {
    /// The longest URL that a file may hold, in bytes.
    private static let webhookBytesMax = 8192

    /// Reads the URL that `alerts.webhook_file` names; a relative path begins at the plan's own file.
    func readWebhook(_ alerts: inout PlanAlerts, planPath: String, _ diagnostics: Diagnostics) {
        guard let named = alerts.webhookFile, alerts.webhook == nil else { return }
        let path = Paths.resolve(named, in: Paths.directory(of: planPath))
        let key = "alerts.webhook_file"
        alerts.webhookFile = path
        switch files.read(path, limit: Self.webhookBytesMax + 1) {
        case .failure(let failure):
            // The value may be the URL itself, put here by mistake.
            diagnostics.error(key, "cannot be read (\(failure.reason))", accepted: "a file that holds the URL")
        case .success(let bytes):
            let text = String(decoding: bytes, as: UTF8.self).trimmed
            let line = "one line, https://host/path"
            guard !text.isEmpty else { return diagnostics.error(key, value: path, "an empty file", accepted: line) }
            guard bytes.count <= Self.webhookBytesMax, let url = try? Value.webhookURL(text) else {
                // What it holds may be a secret that was pasted wrongly.
                return diagnostics.error(
                    key, value: path, "no http or https URL in", accepted: line)
            }
            alerts.webhook = url
        }
    }
}
