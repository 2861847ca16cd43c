/// A gate of the plan, by the word that the plan and `cutover_gate_verdict` use.
package enum GateName: String, Sendable, CaseIterable {
    case readErrorRate = "read_error_rate"
    case writeP95 = "write_p95"
    case conflictRate = "conflict_rate"
    case fallbackRate = "fallback_rate"
    case mismatchRate = "mismatch_rate"
    case journalLag = "journal_lag"
}
