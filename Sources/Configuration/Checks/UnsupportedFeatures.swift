/// What the configuration can say and this version cannot do. A key that is accepted and does nothing would be a lie;
/// whoever builds a feature deletes its lines here.
enum UnsupportedFeatures {
    /// Key paths of `Settings` that `serve` must refuse, with what they ask for.
    static func refused(_ settings: Settings, listenerPaths: [String]) -> [(keyPath: String, what: String)] {
        var refused: [(keyPath: String, what: String)] = []
        for (listener, path) in zip(settings.listeners, listenerPaths) where listener.tls != nil {
            refused.append((path + ".tls", "TLS on a listener"))
        }
        if settings.admin.tls != nil { refused.append(("admin.tls", "TLS on a listener")) }
        for (name, backend) in [("legacy", settings.legacy), ("new", settings.new)] {
            if backend.scheme == "https" { refused.append(("backends.\(name).url", "an https backend")) }
            if backend.tls != nil { refused.append(("backends.\(name).tls", "TLS towards a backend")) }
        }
        return refused
    }
}
