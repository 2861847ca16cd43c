import Configuration

/// The smallest file that is right.
let minimal = """
    backends:
      legacy: {url: "http://127.0.0.1:7001"}
      new: {url: "http://127.0.0.1:7002"}

    """

/// Files that exist only in a test.
func files(_ contents: [String: String] = [:]) -> ConfigurationFiles {
    ConfigurationFiles { path, _ in
        contents[path].map { .success(Array($0.utf8)) } ?? .failure(.init(reason: "No such file or directory"))
    }
}

/// Loads text as `cutover.yaml` of the working directory.
func load(
    _ text: String, flags: ConfigurationFlags = ConfigurationFlags(), files contents: [String: String] = [:]
) -> ConfigurationOutcome {
    ConfigurationLoader.load(text: text, file: "cutover.yaml", flags: flags, files: files(contents))
}

extension ConfigurationOutcome {
    var messages: [String] {
        if case .errors(let errors) = self { errors.map(\.description) } else { [] }
    }
    var settings: Settings? {
        if case .ok(let settings, _) = self { settings } else { nil }
    }
    var warnings: [String] {
        if case .ok(_, let warnings) = self { warnings.map(\.description) } else { [] }
    }
}
