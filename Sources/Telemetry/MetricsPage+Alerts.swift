/// What became of alerts; all zero where nobody is told.
package struct AlertGauges: Sendable {
    package var sent: UInt64
    package var retried: UInt64
    package var dropped: UInt64
    package var refused: UInt64
    /// Not delivered yet.
    package var waiting: UInt64
    /// Raised now.
    package var raised: UInt64

    package init(
        sent: UInt64 = 0, retried: UInt64 = 0, dropped: UInt64 = 0, refused: UInt64 = 0, waiting: UInt64 = 0,
        raised: UInt64 = 0
    ) {
        self.sent = sent
        self.retried = retried
        self.dropped = dropped
        self.refused = refused
        self.waiting = waiting
        self.raised = raised
    }
}

extension PrometheusText {
    /// Alerts that the gateway posts itself.
    mutating func alerts(_ gauges: AlertGauges) {
        begin(
            "cutover_alerts_total", .counter,
            "Alerts posted to the plan's webhook: sent, tried again, dropped undelivered, refused by the receiver.")
        sample([("result", "sent")], gauges.sent)
        sample([("result", "retried")], gauges.retried)
        sample([("result", "dropped")], gauges.dropped)
        sample([("result", "refused")], gauges.refused)
        begin("cutover_alerts_waiting", .gauge, "Alerts that the receiver has not taken yet.")
        sample([], gauges.waiting)
        begin("cutover_alerts_raised", .gauge, "Alerts that are raised now, whether somebody is told or not.")
        sample([], gauges.raised)
    }

    /// The figures over time, as the operators' page shows them.
    mutating func history(_ gauges: ControlGauges) {
        begin("cutover_history_dropped_total", .counter, "Rows of the figures' history that the store did not take.")
        sample([], gauges.historyDropped)
    }
}
