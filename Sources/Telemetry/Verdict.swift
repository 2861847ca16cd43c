/// A gate of the plan, by the word that the plan and `cutover_gate_verdict` use.
package enum GateName: String, Sendable, CaseIterable {
    case readErrorRate = "read_error_rate"
    case writeP95 = "write_p95"
    case conflictRate = "conflict_rate"
    case fallbackRate = "fallback_rate"
    case mismatchRate = "mismatch_rate"
    case journalLag = "journal_lag"
}

/// What a gate says.
package enum Verdict: String, Sendable, CaseIterable {
    case pass
    case fail
    /// Too few samples to say.
    case insufficient
    /// The window is not yet full after a start.
    case warmingUp = "warming_up"

    /// Judges a figure.
    ///
    /// Enough samples above the threshold fail at once, even while the window fills: waiting would hurt users. Nothing
    /// passes before the window is full and the samples are enough (contract §9). A value at the threshold is not above
    /// it.
    ///
    /// - Parameters:
    ///   - value: nil with no sample.
    ///   - samples: what the value rests on.
    ///   - threshold: in the value's unit.
    ///   - minSamples: the plan's `min_samples`; 0 for a figure that is no statistic, such as the journal's lag.
    ///   - windowFull: false after a start.
    package static func of(
        value: Double?, samples: UInt64, threshold: Double, minSamples: UInt64, windowFull: Bool
    ) -> Verdict {
        let enough = samples >= minSamples
        if let value, enough, value > threshold { return .fail }
        if !windowFull { return .warmingUp }
        return enough && value != nil ? .pass : .insufficient
    }
}
