internal import Comparison
internal import Rollout
internal import Routing

/// Turns the tree of a configuration file into `Settings`; what is wrong goes to the diagnostics, and a default stands
/// in for it so that the rest is judged too.
struct SettingsDecoder {
    let diagnostics: Diagnostics
    /// Relative paths of the file begin here; empty for the working directory.
    let directory: String
    var settings = Settings()
    /// Backends whose URL was given and right.
    var backendsGiven: Set<Side> = []
    /// Key paths of the listeners, in the order of `settings.listeners`.
    var listenerPaths = ["listen"]
    /// Files that must be there, with the key that names them.
    var requiredFiles: [(path: String, keyPath: String)] = []
    /// Sources of ids that stand on a file, with the key that names it.
    var sourcesWithKeys: [(source: UserSource, keyPath: String)] = []

    init(diagnostics: Diagnostics, directory: String) {
        self.diagnostics = diagnostics
        self.directory = directory
        settings.dataDirectory = Paths.resolve(settings.dataDirectory, in: directory)
    }

    mutating func decode(_ root: Node) {
        guard let top = Section(root, path: "", schema: Schema.top, diagnostics: diagnostics) else { return }
        decodeListeners(top)
        decodeAdmin(top)
        set(&settings.dataDirectory, top, "data")
        top.set(&settings.store, "store", Self.store)
        decodeWorkers(top)
        decodeUser(top)
        decodeTrustedProxies(top)
        decodeBackends(top)
        decodeTimeouts(top)
        decodeLimits(top)
        decodeRoutes(top)
        decodeShadow(top)
        decodeWrites(top)
        decodeFallback(top)
        decodeTracing(top)
        decodeAccessLog(top)
        if let path = filePath(top, "plan") { settings.planPath = path }
        top.setPlain(&settings.expose, "expose", Value.boolean)
    }

    /// A path of the file, resolved.
    func filePath(_ section: Section, _ key: String) -> String? {
        section.value(key, Value.text).map { Paths.resolve($0, in: directory) }
    }

    private func set(_ target: inout String, _ section: Section, _ key: String) {
        if let path = filePath(section, key) { target = path }
    }

    private mutating func decodeWorkers(_ top: Section) {
        let read: Reader<Int?> = { text throws(ValueProblem) in
            if text == "auto" { return nil }
            guard let count = try? Value.integer(text, in: 1...256) else {
                throw ValueProblem(
                    "not a number of workers", accepted: "auto, or a whole number from 1 to 256",
                    suggestion: Suggestion.nearest(to: text, among: ["auto"]))
            }
            return count
        }
        if let workers = top.value("workers", read) { settings.workers = workers }
    }

    fileprivate static func store(_ text: String) throws(ValueProblem) -> StoreSettings {
        if text == "sqlite" { return .sqlite }
        let accepted = "sqlite, postgresql://user@host/db"
        for scheme in ["postgresql://", "postgres://"] where text.hasPrefix(scheme) {
            let authority = text.dropFirst(scheme.utf8.count).prefix { $0 != "/" }
            guard let at = authority.lastIndex(of: "@") else { return .postgresql(url: text) }
            if authority[..<at].contains(":") {
                throw ValueProblem("a password in the URL", accepted: accepted + " with the password in PGPASSWORD")
            }
            return .postgresql(url: text)
        }
        throw ValueProblem(
            "unknown store", accepted: accepted,
            suggestion: Suggestion.nearest(to: text, among: ["sqlite"]) ?? (text == "sqlite3" ? "sqlite" : nil))
    }
}

/// Paths of files, textually.
enum Paths {
    /// The directory of a file: what its relative paths begin with; empty for the working directory.
    static func directory(of file: String) -> String {
        guard let slash = file.lastIndex(of: "/") else { return "" }
        return slash == file.startIndex ? "/" : String(file[..<slash])
    }

    /// A path seen from a directory.
    static func resolve(_ path: String, in directory: String) -> String {
        if directory.isEmpty || path.hasPrefix("/") { return path }
        var relative = path[...]
        while relative.hasPrefix("./") { relative = relative.dropFirst(2) }
        return (directory.hasSuffix("/") ? directory : directory + "/") + relative
    }
}

extension StoreSettings {
    /// What `store:` of a configuration would come to; nil: the configuration would be refused.
    package init?(text: String) {
        guard let store = try? SettingsDecoder.store(text) else { return nil }
        self = store
    }
}
