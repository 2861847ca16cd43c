import Configuration

/// Configuration and plan from arbitrary bytes: settings or findings, the same each time, and a finding is one line that says
/// where and what.
struct YAMLFuzz {
    /// Where the configuration ends and the plan that it may name begins.
    private static let separator = Array("\n=== plan\n".utf8)
    /// A value that a message must not repeat: the seeds have it where secrets stand.
    private static let secret = "hunter2"

    func run(_ input: UnsafeBufferPointer<UInt8>) {
        let bytes = Array(input)
        let cut = bytes.indices.first { bytes[$0...].starts(with: Self.separator) } ?? bytes.count
        let configuration = Array(bytes[..<cut])
        let plan = cut == bytes.count ? bytes : Array(bytes[(cut + Self.separator.count)...])
        let first = load(configuration, plan)
        require(first == load(configuration, plan), "two readings differ: \(first)")
        // The plan alone, which a configuration need not name to be right.
        let backends = "backends: {legacy: {url: \"http://a\"}, new: {url: \"http://b\"}}\nplan: plan.yaml\n"
        _ = load(Array(backends.utf8), plan)
    }

    private func load(_ configuration: [UInt8], _ plan: [UInt8]) -> [String] {
        let files = ConfigurationFiles { path, _ in
            if path.hasSuffix("cutover.yaml") { return .success(configuration) }
            if path.hasSuffix("plan.yaml") { return .success(plan) }
            if path.hasSuffix("missing") { return .failure(ConfigurationFiles.Failure(reason: "No such file")) }
            return .success(Array("a key".utf8))
        }
        switch ConfigurationLoader.load(file: "cutover.yaml", files: files) {
        case .ok(let settings, let warnings):
            warnings.forEach { isSound($0, configuration, plan) }
            require(!settings.listeners.isEmpty, "accepted without a listener")
            return ["\(settings)"] + warnings.map(\.description)
        case .errors(let errors):
            require(!errors.isEmpty, "refused without a reason")
            errors.forEach { isSound($0, configuration, plan) }
            return errors.map(\.description)
        }
    }

    private func isSound(_ finding: ConfigurationError, _ configuration: [UInt8], _ plan: [UInt8]) {
        let text = finding.description
        require(!finding.file.isEmpty && !finding.problem.isEmpty, "a finding without file or problem: \(text)")
        require(!text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f }, "more than one line: \(text)")
        require(text.utf8.count < 4_000, "a finding of \(text.utf8.count) bytes")
        let key = finding.keyPath.split(separator: ".").last ?? ""
        require(key != "password" || finding.value?.contains(Self.secret) != true, "a secret: \(text)")
        guard let line = finding.line else { return }
        // What a line ends with is YAML's business (CR, NEL and the separators of Unicode count, too): no more than one a byte.
        let bytes = finding.file.hasSuffix("plan.yaml") ? plan : configuration
        require(line >= 1 && line <= bytes.count + 1, "line \(line) of \(bytes.count) bytes")
    }
}
