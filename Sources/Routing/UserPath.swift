/// A path pattern as a source of the user id (`user.from: - path: …`).
///
/// Immutable, usable from any thread; looking for the id allocates nothing.
package struct UserPath: Sendable {
    private let paths: CompiledPaths
    private let path: CompiledPaths.Path
    private let segment: Int

    /// Takes `{user_id}`, or the only variable that there is; nil when neither exists.
    package init?(_ pattern: PathPattern) {
        let variables = pattern.segments.indices.filter { index in
            if case .variable = pattern.segments[index] { true } else { false }
        }
        let only = variables.count == 1 ? variables.first : nil
        guard let segment = pattern.segmentIndex(ofVariable: "user_id") ?? only else { return nil }
        var paths = CompiledPaths()
        self.path = paths.add(pattern)
        self.paths = paths
        self.segment = segment
    }

    /// The user id in a path without its query, still percent-encoded; nil when the path does not match.
    package func user(in path: UnsafePointer<UInt8>, _ count: Int) -> ByteRange? {
        paths.matches(self.path, path, count) ? CompiledPaths.segment(segment, of: path, count) : nil
    }
}
