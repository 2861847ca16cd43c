/// A reader of one value: text in, a value or the reason out.
typealias Reader<Value> = (String) throws(ValueProblem) -> Value

/// A mapping of the file whose keys are known; reports what is wrong with it to the diagnostics of its file.
struct Section {
    let path: String
    let line: Int
    let diagnostics: Diagnostics
    private(set) var hasUnknownKeys = false
    private var entries: [String: Node.Entry] = [:]

    /// Reports keys that are not known; a null is an empty mapping, as when every key below is commented out.
    ///
    /// - Returns: nil after an error, when the node is no mapping.
    init?(_ node: Node, path: String, schema: Schema.Section, diagnostics: Diagnostics) {
        self.path = path
        line = node.line
        self.diagnostics = diagnostics
        if node.isNull { return }
        guard case .mapping(let entries) = node.content else {
            let what = path.isEmpty ? "the file is \(node.kindName)" : node.kindName
            diagnostics.error(
                path, line: node.line, "\(what) where a mapping is expected",
                accepted: schema.keys.joined(separator: ", "))
            return nil
        }
        for entry in entries {
            let keyPath = Self.join(path, entry.key)
            if schema.keys.contains(entry.key) {
                diagnostics.note(keyPath, line: entry.line, node: entry.value)
                self.entries[entry.key] = entry
            } else if schema.later.contains(entry.key) {
                diagnostics.error(keyPath, line: entry.keyLine, "not supported by this version")
            } else {
                hasUnknownKeys = true
                let suggestion = Schema.suggestion(for: entry.key, in: schema)
                if let suggestion, schema.keys.contains(suggestion) { diagnostics.presume(Self.join(path, suggestion)) }
                diagnostics.error(
                    keyPath, line: entry.keyLine, value: entry.key, "unknown key",
                    accepted: schema.keys.joined(separator: ", "), suggestion: suggestion)
            }
        }
    }

    static func join(_ path: String, _ key: String) -> String { path.isEmpty ? key : path + "." + key }

    func path(_ key: String) -> String { Self.join(path, key) }

    func has(_ key: String) -> Bool { entries[key] != nil }

    func node(_ key: String) -> Node? { entries[key]?.value }

    /// The given keys among some, in that order.
    func given(_ keys: [String]) -> [String] { keys.filter { entries[$0] != nil } }

    func requireKey(_ key: String, accepted: String? = nil) {
        if !has(key), !diagnostics.hasFailed(path(key)) {
            diagnostics.error(path(key), line: line, "missing", accepted: accepted)
        }
    }

    /// The value of a key, nil when it is not given or wrong (then reported).
    func value<T>(_ key: String, _ read: Reader<T>) -> T? {
        guard let entry = entries[key] else { return nil }
        return Self.value(entry.value, path: path(key), line: entry.keyLine, diagnostics, read)
    }

    /// Overwrites a default where the key is given and right.
    func set<T>(_ target: inout T, _ key: String, _ read: Reader<T>) {
        if let value = value(key, read) { target = value }
    }

    /// The same for numbers and booleans, which a quoted string is not.
    func setPlain<T>(_ target: inout T, _ key: String, _ read: Reader<T>) {
        if let value = plain(key, read) { target = value }
    }

    func plain<T>(_ key: String, _ read: Reader<T>) -> T? {
        // JSON has no other way to write 50%.
        if case .scalar(let scalar)? = node(key)?.content, !scalar.isPlain, !scalar.text.hasSuffix("%") {
            var suggestion: String?
            if (try? read(scalar.text)) != nil { suggestion = scalar.text + " without quotes" }
            diagnostics.error(
                path(key), line: entries[key]?.value.line, value: scalar.text,
                "a quoted string is no number or boolean", accepted: Self.accepted(by: read), suggestion: suggestion)
            return nil
        }
        return value(key, read)
    }

    /// The items of a list with their paths; nil when the key is not given or no list (then reported).
    func list(_ key: String, of accepted: String) -> [(node: Node, path: String)]? {
        guard let entry = entries[key] else { return nil }
        guard case .sequence(let nodes) = entry.value.content else {
            let what = entry.value.isNull ? "no value" : entry.value.kindName
            diagnostics.error(path(key), line: entry.value.line, "\(what) where a list is expected", accepted: accepted)
            return nil
        }
        return nodes.enumerated().map { index, node in
            let item = "\(path(key))[\(index)]"
            diagnostics.note(item, line: node.line)
            return (node, item)
        }
    }

    /// The values of a list of single values, those that are wrong left out (and reported).
    func values<T>(_ key: String, of accepted: String, _ read: Reader<T>) -> [T]? {
        list(key, of: accepted)?.compactMap {
            Self.value($0.node, path: $0.path, line: $0.node.line, diagnostics, read)
        }
    }

    func section(_ key: String, _ schema: Schema.Section) -> Section? {
        guard let node = node(key) else { return nil }
        return Section(node, path: path(key), schema: schema, diagnostics: diagnostics)
    }

    /// What a reader takes, as it says itself of what it does not; nil when it takes anything.
    private static func accepted<T>(by read: Reader<T>) -> String? {
        do throws(ValueProblem) {
            _ = try read("")
            return nil
        } catch {
            return error.accepted
        }
    }

    /// Reads a single value; reports lists, mappings and nulls.
    static func value<T>(
        _ node: Node, path: String, line: Int, _ diagnostics: Diagnostics, _ read: Reader<T>
    ) -> T? {
        guard case .scalar(let scalar) = node.content else {
            diagnostics.error(
                path, line: node.line, "\(node.kindName) where a single value is expected",
                accepted: accepted(by: read))
            return nil
        }
        if scalar.isNull {
            diagnostics.error(path, line: line, "no value", accepted: accepted(by: read))
            return nil
        }
        do throws(ValueProblem) {
            return try read(scalar.text)
        } catch {
            diagnostics.error(path, line: node.line, value: scalar.text, error)
            return nil
        }
    }
}
