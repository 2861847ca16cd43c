extension Settings {
    /// Keys whose change a reload cannot put in force: the process has to be started again.
    ///
    /// - Parameter old: the settings that are in force.
    /// - Returns: top-level key names in the order of the contract; empty when a reload suffices.
    package func restartOnlyDifferences(from old: Settings) -> [String] {
        var keys: [String] = []
        if listeners != old.listeners { keys.append("listen") }
        if admin != old.admin || adminAllowsPlaintext != old.adminAllowsPlaintext { keys.append("admin") }
        if dataDirectory != old.dataDirectory { keys.append("data") }
        if store != old.store { keys.append("store") }
        if workers != old.workers { keys.append("workers") }
        return keys
    }
}
