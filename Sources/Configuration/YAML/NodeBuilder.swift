/// Builds the node tree of one document; JSON is the subset of YAML that it is.
///
/// Keys given twice are collected in `problems` and the first one stays, so that the rest of the file is still judged.
struct NodeBuilder {
    /// Longest file that is read.
    static let maximumBytes = 1 << 20
    /// Deepest nesting; the contract's deepest key lies at 5.
    static let maximumDepth = 32
    /// Most nodes with every alias counted as often as it is used, so that nested aliases cannot explode.
    static let maximumNodes = 50_000

    private static let stringTag = "tag:yaml.org,2002:str"

    private let stream: EventStream
    private var anchors: [String: (node: Node, weight: Int)] = [:]
    private var weight = 0
    private(set) var problems: [YAMLProblem] = []

    private init(stream: EventStream) { self.stream = stream }

    /// Parses a text.
    ///
    /// - Returns: the document's root, nil when the text holds none, and keys that are given twice.
    /// - Throws: the first thing that makes the text unreadable.
    static func parse(_ text: [UInt8]) throws(YAMLProblem) -> (root: Node?, problems: [YAMLProblem]) {
        guard text.count <= maximumBytes else {
            throw YAMLProblem(line: 1, message: "the file is too long", accepted: "at most \(maximumBytes) bytes")
        }
        var builder = NodeBuilder(stream: try EventStream(text))
        let root = try builder.document()
        return (root, builder.problems)
    }

    private mutating func document() throws(YAMLProblem) -> Node? {
        var root: Node?
        while true {
            let event = try stream.next()
            switch event.kind {
            case .streamEnd: return root
            case .documentStart:
                if root != nil {
                    throw YAMLProblem(
                        line: event.line, message: "a second document begins here", accepted: "one document a file")
                }
                root = try node(try stream.next(), path: "", depth: 0)
            case .documentEnd, .other: continue
            case .alias, .scalar, .sequenceStart, .sequenceEnd, .mappingStart, .mappingEnd:
                throw YAMLProblem(line: event.line, message: "malformed YAML")
            }
        }
    }

    private mutating func node(_ event: YAMLEvent, path: String, depth: Int) throws(YAMLProblem) -> Node {
        if depth > Self.maximumDepth {
            throw YAMLProblem(
                line: event.line, keyPath: path, message: "nested too deep",
                accepted: "at most \(Self.maximumDepth) levels")
        }
        if let tag = event.tag, tag != Self.stringTag, tag != "!" {
            throw YAMLProblem(
                line: event.line, keyPath: path, message: "tags are not supported", value: tag,
                accepted: "values without tags")
        }
        let before = weight
        try count(1, line: event.line)
        let content: Node.Content
        switch event.kind {
        case .scalar(let scalar): content = .scalar(scalar)
        case .sequenceStart: content = .sequence(try items(path: path, depth: depth))
        case .mappingStart: content = .mapping(try entries(path: path, depth: depth))
        case .alias(let name):
            // An anchor is known once its node is complete, so no node can hold itself.
            guard let known = anchors[name] else {
                throw YAMLProblem(
                    line: event.line, keyPath: path, message: "no anchor before this alias", value: "*" + name,
                    accepted: "the name of an anchor further up")
            }
            try count(known.weight, line: event.line)
            return Node(content: known.node.content, line: event.line)
        case .documentStart, .documentEnd, .streamEnd, .sequenceEnd, .mappingEnd, .other:
            throw YAMLProblem(line: event.line, keyPath: path, message: "malformed YAML")
        }
        let node = Node(content: content, line: event.line)
        if let anchor = event.anchor { anchors[anchor] = (node, weight - before) }
        return node
    }

    private mutating func items(path: String, depth: Int) throws(YAMLProblem) -> [Node] {
        var items: [Node] = []
        while true {
            let event = try stream.next()
            if case .sequenceEnd = event.kind { return items }
            items.append(try node(event, path: "\(path)[\(items.count)]", depth: depth + 1))
        }
    }

    private mutating func entries(path: String, depth: Int) throws(YAMLProblem) -> [Node.Entry] {
        var entries: [Node.Entry] = []
        var lines: [String: Int] = [:]
        while true {
            let event = try stream.next()
            if case .mappingEnd = event.kind { return entries }
            let key = try node(event, path: path, depth: depth + 1)
            guard case .scalar(let scalar) = key.content else {
                throw YAMLProblem(
                    line: key.line, message: "a key must be a single value, not \(key.kindName)", accepted: "a name")
            }
            let keyPath = path.isEmpty ? scalar.text : path + "." + scalar.text
            let value = try node(try stream.next(), path: keyPath, depth: depth + 1)
            if let first = lines[scalar.text] {
                problems.append(
                    YAMLProblem(
                        line: key.line, keyPath: keyPath, message: "the key is given twice (first on line \(first))",
                        value: scalar.text, accepted: "each key once"))
                continue
            }
            lines[scalar.text] = key.line
            entries.append(Node.Entry(key: scalar.text, keyLine: key.line, value: value))
        }
    }

    private mutating func count(_ nodes: Int, line: Int) throws(YAMLProblem) {
        weight += nodes
        if weight > Self.maximumNodes {
            throw YAMLProblem(
                line: line, message: "too many values, aliases counted as often as they are used",
                accepted: "at most \(Self.maximumNodes)")
        }
    }
}
