/// A value of a YAML document with the line where it stands.
struct Node: Sendable {
    enum Content: Sendable {
        case scalar(Scalar)
        case sequence([Node])
        case mapping([Entry])
    }

    struct Scalar: Sendable, Equatable {
        var text: String
        /// False for quoted and block scalars and for `!!str`: those are strings whatever they look like.
        var isPlain: Bool

        /// The forms of null of the core schema (YAML 1.2.2 §10.3.2); a quoted empty string is a string.
        var isNull: Bool { isPlain && (text.isEmpty || text == "~" || text.lowercased() == "null") }
    }

    /// One `key: value` of a mapping.
    struct Entry: Sendable {
        var key: String
        var keyLine: Int
        var value: Node

        /// Where a reader looks: a single value itself, else the key, below which lists and mappings begin.
        var line: Int {
            if case .scalar(let scalar) = value.content, !scalar.isNull { return value.line }
            return keyLine
        }
    }

    var content: Content
    /// Counted from 1.
    var line: Int

    var isNull: Bool {
        if case .scalar(let scalar) = content { return scalar.isNull }
        return false
    }

    /// What the node is, for messages.
    var kindName: String {
        switch content {
        case .scalar: "a single value"
        case .sequence: "a list"
        case .mapping: "a mapping"
        }
    }
}

/// Why a text is no usable YAML document.
struct YAMLProblem: Error, Equatable {
    /// Counted from 1.
    var line: Int
    var keyPath: String
    var message: String
    /// The key or anchor in question.
    var value: String?
    var accepted: String?

    init(line: Int, keyPath: String = "", message: String, value: String? = nil, accepted: String? = nil) {
        self.line = line
        self.keyPath = keyPath
        self.message = message
        self.value = value
        self.accepted = accepted
    }
}
