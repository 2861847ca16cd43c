/// One thing that is wrong with the configuration, the plan or the flags.
///
/// Its text is one line: `FILE:LINE: key.path: what is wrong with "value"; accepted: …; did you mean …?`; parts that do
/// not apply are left out. Secrets never reach it: the value is redacted when the error is made.
package struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Path of the file as it was given, or `command line`.
    package let file: String
    /// Line in the file, counted from 1; nil where there is none (flags, a file that cannot be read).
    package let line: Int?
    /// Dotted path of the key, `routes[2].match`; empty when the whole file is meant.
    package let keyPath: String
    /// The value as it was written, redacted and shortened.
    package let value: String?
    package let problem: String
    package let accepted: String?
    package let suggestion: String?

    package init(
        file: String, line: Int?, keyPath: String, value: String? = nil, problem: String, accepted: String? = nil,
        suggestion: String? = nil
    ) {
        self.file = file
        self.line = line
        self.keyPath = Redaction.shown(keyPath, limit: 200)
        self.value = value.map { Redaction.shown($0, keyPath: keyPath) }
        self.problem = problem
        self.accepted = accepted
        self.suggestion = suggestion.map { Redaction.shown($0) }
    }

    package var description: String {
        var text = file
        if let line { text += ":\(line)" }
        text += ": "
        if !keyPath.isEmpty { text += keyPath + ": " }
        text += problem
        if let value { text += " \"\(value)\"" }
        if let accepted { text += "; accepted: \(accepted)" }
        if let suggestion { text += "; did you mean \(suggestion)?" }
        return text
    }
}

/// Something that is accepted and yet deserves a word; the same shape and text as an error.
package typealias ConfigurationWarning = ConfigurationError
