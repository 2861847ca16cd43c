internal import CYAML

/// What libyaml found next, copied out of its memory.
struct YAMLEvent {
    enum Kind {
        case documentStart
        case documentEnd
        case streamEnd
        case alias(String)
        case scalar(Node.Scalar)
        case sequenceStart
        case sequenceEnd
        case mappingStart
        case mappingEnd
        case other
    }
    var kind: Kind
    /// Counted from 1.
    var line: Int
    var anchor: String?
    var tag: String?
}

/// Owns one libyaml parser and the bytes that it reads; the only place that touches libyaml.
///
/// Not shared between threads. The parser keeps a pointer to the bytes, and both live exactly as long as this object,
/// which is why the pointers are safe.
final class EventStream {
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let bytes: UnsafeMutableBufferPointer<UInt8>

    init(_ text: [UInt8]) throws(YAMLProblem) {
        bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.count)
        _ = bytes.update(fromContentsOf: text)
        parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        guard yaml_parser_initialize(parser) == 1 else {
            // yaml_parser_initialize has freed what it took; deinit deletes a zeroed parser, which is allowed.
            parser.initialize(to: yaml_parser_t())
            throw YAMLProblem(line: 1, message: "no memory left to read the file")
        }
        yaml_parser_set_input_string(parser, bytes.baseAddress, text.count)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
        bytes.deallocate()
    }

    /// The next event; libyaml's own message and line when the text is malformed. Not to be called after `streamEnd`.
    func next() throws(YAMLProblem) -> YAMLEvent {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw problem() }
        defer { yaml_event_delete(&event) }
        let line = Int(event.start_mark.line) + 1
        switch event.type {
        case YAML_DOCUMENT_START_EVENT: return YAMLEvent(kind: .documentStart, line: line)
        case YAML_DOCUMENT_END_EVENT: return YAMLEvent(kind: .documentEnd, line: line)
        case YAML_STREAM_END_EVENT: return YAMLEvent(kind: .streamEnd, line: line)
        case YAML_ALIAS_EVENT:
            return YAMLEvent(kind: .alias(Self.string(event.data.alias.anchor) ?? ""), line: line)
        case YAML_SCALAR_EVENT: return Self.scalar(event, line: line)
        case YAML_SEQUENCE_START_EVENT:
            let start = event.data.sequence_start
            return YAMLEvent(
                kind: .sequenceStart, line: line, anchor: Self.string(start.anchor), tag: Self.string(start.tag))
        case YAML_SEQUENCE_END_EVENT: return YAMLEvent(kind: .sequenceEnd, line: line)
        case YAML_MAPPING_START_EVENT:
            let start = event.data.mapping_start
            return YAMLEvent(
                kind: .mappingStart, line: line, anchor: Self.string(start.anchor), tag: Self.string(start.tag))
        case YAML_MAPPING_END_EVENT: return YAMLEvent(kind: .mappingEnd, line: line)
        default: return YAMLEvent(kind: .other, line: line)
        }
    }

    private static func scalar(_ event: yaml_event_t, line: Int) -> YAMLEvent {
        let scalar = event.data.scalar
        let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
        let isPlain = scalar.style == YAML_PLAIN_SCALAR_STYLE && scalar.tag == nil
        return YAMLEvent(
            kind: .scalar(Node.Scalar(text: text, isPlain: isPlain)), line: line, anchor: string(scalar.anchor),
            tag: string(scalar.tag))
    }

    private static func string(_ pointer: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        pointer.map { String(cString: $0) }
    }

    private func problem() -> YAMLProblem {
        let state = parser.pointee
        let message = state.problem.map { String(cString: $0) } ?? "malformed YAML"
        guard state.error != YAML_READER_ERROR else {
            // The reader knows an offset only: bytes that are no UTF-8, control characters.
            let newlines = bytes.prefix(state.problem_offset).count { $0 == UInt8(ascii: "\n") }
            return YAMLProblem(line: newlines + 1, message: message)
        }
        let line = fileLine(state.problem_mark)
        var text = message
        if let context = state.context.map({ String(cString: $0) }) {
            let start = fileLine(state.context_mark)
            text += start == line ? " (\(context))" : " (\(context) that began on line \(start))"
        }
        return YAMLProblem(
            line: line, message: text, accepted: isIndentedWithTab(line) ? "spaces, not tabs, to indent" : nil)
    }

    /// libyaml puts the end of a text without a final newline on a line of its own.
    private func fileLine(_ mark: yaml_mark_t) -> Int {
        let newlines = bytes.count { $0 == UInt8(ascii: "\n") }
        let lines = bytes.last == UInt8(ascii: "\n") ? newlines : newlines + 1
        return min(Int(mark.line) + 1, max(lines, 1))
    }

    /// What libyaml says about a tab ("cannot start any token") does not name it.
    private func isIndentedWithTab(_ line: Int) -> Bool {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: line, omittingEmptySubsequences: false)
        guard lines.indices.contains(line - 1) else { return false }
        let white = lines[line - 1].prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        return white.contains(UInt8(ascii: "\t"))
    }
}
