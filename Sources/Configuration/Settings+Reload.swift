extension Settings {
    /// Keys whose change a reload cannot put in force: the process has to be started again.
    ///
    /// - Parameter old: the settings that are in force.
    /// - Returns: top-level key names in the order of the contract; empty when a reload suffices.
    package func restartOnlyDifferences(from old: Settings) -> [String] {
        var keys: [String] = []
        if !listeners.elementsEqual(old.listeners, by: { $0.isServed(by: $1) }) { keys.append("listen") }
        if !admin.isServed(by: old.admin) || adminAllowsPlaintext != old.adminAllowsPlaintext { keys.append("admin") }
        if dataDirectory != old.dataDirectory { keys.append("data") }
        if store != old.store { keys.append("store") }
        if workers != old.workers { keys.append("workers") }
        return keys
    }
}

extension ListenerSettings {
    /// Whether the sockets of a listener that is open can serve this one: its certificates may be others; whether it has any, and
    /// whether it takes HTTP/2, may not.
    func isServed(by open: ListenerSettings) -> Bool {
        address == open.address && (tls == nil) == (open.tls == nil) && http2 == open.http2
    }
}
