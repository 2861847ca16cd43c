package import Rollout

extension LegTables {
    /// Whether legs of a user (nil: the anonymous ones) to a side wait in the journal: nothing may be entered behind them yet.
    package func hasDeferred(_ user: String?, _ side: Side) -> Bool { windows[side.index].hasDeferred(user) }
}
