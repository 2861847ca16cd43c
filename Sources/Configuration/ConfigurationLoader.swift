internal import Rollout
package import Routing

/// What loading came to: settings that `serve` may run with, or everything that is wrong.
package enum ConfigurationOutcome: Sendable {
    case ok(Settings, warnings: [ConfigurationWarning])
    /// Never empty; configuration file, then plan, then flags, each in the order of its lines.
    case errors([ConfigurationError])
}

/// Reads configuration, plan and flags into `Settings`, or reports all that is wrong with them at once.
package enum ConfigurationLoader {
    /// Loads a configuration file, the plan that it names, and the flags over both.
    ///
    /// Blocks on file I/O: call it off the event loops. A file of nil means flags and defaults only.
    ///
    /// - Parameters:
    ///   - problem: what is wrong with the key file of a source of ids, nil when it can be used. A seam: what keys look like is known
    ///     above this floor.
    ///   - inspection: is asked about what is in the other files that are named.
    package static func load(
        file: String?, flags: ConfigurationFlags = ConfigurationFlags(), files: ConfigurationFiles = .disk,
        problem: @escaping (UserSource) -> String? = { _ in nil }, inspection: FileInspection = { _ in [] }
    ) -> ConfigurationOutcome {
        guard let file else { return Loading(file: nil, flags: flags, files: files).run(text: nil, inspection) }
        switch files.read(file, limit: NodeBuilder.maximumBytes + 1) {
        case .success(let text):
            return Loading(file: file, flags: flags, files: files, problem: problem).run(text: text, inspection)
        case .failure(let failure):
            return .errors([
                ConfigurationError(file: file, line: nil, keyPath: "", problem: "cannot be read (\(failure.reason))")
            ])
        }
    }

    /// The same for text that is already in memory; `file` names it in messages and anchors its relative paths.
    package static func load(
        text: String, file: String, flags: ConfigurationFlags = ConfigurationFlags(), files: ConfigurationFiles = .disk,
        problem: @escaping (UserSource) -> String? = { _ in nil }, inspection: FileInspection = { _ in [] }
    ) -> ConfigurationOutcome {
        Loading(file: file, flags: flags, files: files, problem: problem).run(text: Array(text.utf8), inspection)
    }
}

/// One run of the loader.
struct Loading {
    private let file: String?
    private let flags: ConfigurationFlags
    let files: ConfigurationFiles
    private let problem: (UserSource) -> String?
    let diagnostics: Diagnostics

    init(
        file: String?, flags: ConfigurationFlags, files: ConfigurationFiles,
        problem: @escaping (UserSource) -> String? = { _ in nil }
    ) {
        self.file = file
        self.flags = flags
        self.files = files
        self.problem = problem
        diagnostics = Diagnostics(file: file ?? Diagnostics.commandLine)
    }

    func run(text: [UInt8]?, _ inspection: FileInspection = { _ in [] }) -> ConfigurationOutcome {
        let decoded = decode(text: text)
        for finding in inspection(decoded.settings) where !diagnostics.hasFailedWithin(finding.keyPath) {
            if finding.isWarning {
                diagnostics.warn(finding.keyPath, value: finding.file, finding.problem)
            } else {
                diagnostics.error(
                    finding.keyPath, value: finding.file, finding.problem, accepted: finding.accepted)
            }
        }
        let errors = Self.sorted(diagnostics.errors) + Self.sorted(decoded.planDiagnostics?.errors ?? [])
        if !errors.isEmpty { return .errors(errors) }
        return .ok(
            decoded.settings,
            warnings: Self.sorted(diagnostics.warnings) + Self.sorted(decoded.planDiagnostics?.warnings ?? []))
    }

    /// Everything but what is in the files that are named.
    func decode(text: [UInt8]?) -> Decoded {
        var decoder = SettingsDecoder(diagnostics: diagnostics, directory: file.map { Paths.directory(of: $0) } ?? "")
        if let text {
            guard let root = parse(text, into: diagnostics) else { return Decoded(settings: decoder.settings) }
            decoder.decode(root)
        }
        FlagDecoder(flags: flags, diagnostics: diagnostics).apply(to: &decoder)
        requireBackends(decoder)
        SemanticChecks(
            settings: decoder.settings, listenerPaths: decoder.listenerPaths, diagnostics: diagnostics
        ).run()
        for required in decoder.requiredFiles { checkReadable(required.path, required.keyPath) }
        for (source, keyPath) in decoder.sourcesWithKeys where !diagnostics.hasFailed(keyPath) {
            if let problem = problem(source) { diagnostics.error(keyPath, problem) }
        }
        var decoded = Decoded(settings: decoder.settings, listenerPaths: decoder.listenerPaths)
        if let path = decoder.settings.planPath, let read = readPlan(path) {
            decoded.settings.plan = read.plan
            decoded.planDiagnostics = read.diagnostics
        }
        return decoded
    }

    /// What decoding came to.
    struct Decoded {
        var settings: Settings
        /// Key paths of the listeners, in their order.
        var listenerPaths: [String] = []
        var planDiagnostics: Diagnostics?
    }

    /// The root of a text, an empty mapping for an empty text; nil when it is unreadable (then reported).
    private func parse(_ text: [UInt8], into diagnostics: Diagnostics) -> Node? {
        func report(_ problem: YAMLProblem) {
            diagnostics.error(
                problem.keyPath, line: problem.line, value: problem.value, problem.message, accepted: problem.accepted)
        }
        do throws(YAMLProblem) {
            let (root, problems) = try NodeBuilder.parse(text)
            problems.forEach(report)
            return root ?? Node(content: .mapping([]), line: 1)
        } catch {
            report(error)
            return nil
        }
    }

    private func requireBackends(_ decoder: SettingsDecoder) {
        for (side, flag) in [(Side.legacy, "--legacy"), (.new, "--new")] where !decoder.backendsGiven.contains(side) {
            let path = "backends.\(side.name).url"
            if diagnostics.hasFailed(path) || diagnostics.hasFailed("backends.\(side.name)") { continue }
            if diagnostics.hasFailed("backends") { continue }
            if file == nil { diagnostics.note(path, flag: flag) }
            // Without a file the error names the flag already.
            let place = file == nil ? "" : ", here or with \(flag)"
            diagnostics.error(path, "missing", accepted: "http://host[:port][/prefix]" + place)
        }
    }

    private func checkReadable(_ path: String, _ keyPath: String) {
        switch files.read(path, limit: 1) {
        case .success(let bytes):
            if bytes.isEmpty { diagnostics.error(keyPath, value: path, "an empty file") }
        case .failure(let failure):
            diagnostics.error(keyPath, value: path, "cannot be read (\(failure.reason))")
        }
    }

    private func readPlan(_ path: String) -> (plan: Plan?, diagnostics: Diagnostics)? {
        let diagnostics = Diagnostics(file: path)
        switch files.read(path, limit: NodeBuilder.maximumBytes + 1) {
        case .failure(let failure):
            self.diagnostics.error("plan", value: path, "cannot be read (\(failure.reason))")
            return nil
        case .success(let text):
            guard let root = parse(text, into: diagnostics) else { return (nil, diagnostics) }
            guard var plan = PlanDecoder(diagnostics: diagnostics).decode(root) else { return (nil, diagnostics) }
            readWebhook(&plan.alerts, planPath: path, diagnostics)
            PlanChecks(plan: plan, diagnostics: diagnostics).run()
            return (plan, diagnostics)
        }
    }

    /// By line; what has none comes last. The sort is stable.
    private static func sorted(_ errors: [ConfigurationError]) -> [ConfigurationError] {
        errors.enumerated().sorted {
            ($0.element.line ?? .max, $0.offset) < ($1.element.line ?? .max, $1.offset)
        }.map(\.element)
    }
}
