/// Collects what is wrong with one file, and remembers where its keys stand. One thread at a time.
final class Diagnostics {
    let file: String
    private(set) var errors: [ConfigurationError] = []
    private(set) var warnings: [ConfigurationWarning] = []
    /// Paths of keys that an error was reported for: what follows from them is not reported again.
    private var failed: Set<String> = []
    private var lines: [String: Int] = [:]
    /// Single values as they were written.
    private var texts: [String: String] = [:]
    /// Keys whose value a flag gave: path to flag.
    private var flags: [String: String] = [:]

    init(file: String) { self.file = file }

    /// Where messages about flags say they come from.
    static let commandLine = "command line"

    /// Remembers where a key stands, and its text when it is a single value.
    func note(_ path: String, line: Int, node: Node? = nil) {
        lines[path] = line
        if case .scalar(let scalar)? = node?.content { texts[path] = scalar.text }
    }

    /// The single value of a key as it was written; nil when it has none.
    func text(_ path: String) -> String? { texts[path] }

    func note(_ path: String, flag: String) { flags[path] = flag }

    func hasFailed(_ path: String) -> Bool { failed.contains(path) }

    /// Whether something at or below a path is wrong.
    func hasFailedWithin(_ path: String) -> Bool { failed.contains { $0 == path || $0.hasPrefix(path + ".") } }

    /// A key that is there, misspelt, and so must not be reported as missing.
    func presume(_ path: String) { failed.insert(path) }

    /// Whether the file or a flag gives this key.
    func isGiven(_ path: String) -> Bool { lines[path] != nil || flags[path] != nil }

    func error(
        _ path: String, line: Int? = nil, value: String? = nil, _ problem: String, accepted: String? = nil,
        suggestion: String? = nil
    ) {
        failed.insert(path)
        errors.append(
            made(path, line: line, value: value, problem, accepted: accepted, suggestion: suggestion))
    }

    func error(_ path: String, line: Int? = nil, value: String, _ problem: ValueProblem) {
        error(
            path, line: line, value: value, problem.problem, accepted: problem.accepted, suggestion: problem.suggestion)
    }

    func warn(_ path: String, value: String? = nil, _ problem: String) {
        warnings.append(made(path, line: nil, value: value, problem))
    }

    /// Without a line: that of the flag, of the key, or of the nearest section around it.
    private func made(
        _ path: String, line: Int?, value: String?, _ problem: String, accepted: String? = nil,
        suggestion: String? = nil
    ) -> ConfigurationError {
        let flag = line == nil ? flags[path] : nil
        return ConfigurationError(
            file: flag == nil ? file : Self.commandLine, line: flag == nil ? line ?? nearestLine(path) : nil,
            keyPath: flag ?? path, value: value, problem: problem, accepted: accepted, suggestion: suggestion)
    }

    private func nearestLine(_ path: String) -> Int? {
        var path = path[...]
        while !path.isEmpty {
            if let line = lines[String(path)] { return line }
            guard let cut = path.lastIndex(where: { $0 == "." || $0 == "[" }) else { break }
            path = path[..<cut]
        }
        return file == Self.commandLine ? nil : 1
    }
}
