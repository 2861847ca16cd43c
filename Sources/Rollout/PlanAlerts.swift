/// Who is told when something happens (contract §4).
package struct PlanAlerts: Sendable, Equatable {
    /// Where alerts are posted. A secret: chat services hand out URLs whose path is the password. `webhook`, or what
    /// `webhook_file` holds.
    package var webhook: String?
    /// The file that the URL came from.
    package var webhookFile: String?
    package var format = AlertFormat.auto
    /// How long the oldest outstanding leg may wait, in seconds; nil: as long as the gate on the journal's lag allows.
    package var lagSeconds: Double?

    /// The lag that is told where the plan says nothing of it.
    package static let standardLagSeconds = 30.0

    package init(
        webhook: String? = nil, webhookFile: String? = nil, format: AlertFormat = .auto, lagSeconds: Double? = nil
    ) {
        self.webhook = webhook
        self.webhookFile = webhookFile
        self.format = format
        self.lagSeconds = lagSeconds
    }
}

/// What a receiver of alerts understands.
package enum AlertFormat: String, Sendable, CaseIterable {
    /// By the URL.
    case auto
    /// An array of alerts for Alertmanager's `POST /api/v2/alerts`.
    case alertmanager
    /// `{"text": …}`, as Slack, Mattermost, Rocket.Chat and others take it.
    case slack
    /// One object with everything.
    case plain
}
