/// The routes of the configuration, ready to match requests: the first that matches wins (contract §3).
///
/// Immutable, usable from any thread. A match allocates nothing and reads the path at most once a route.
package struct RouteTable: Sendable {
    /// The variables that routes may have.
    package enum Variable: Sendable {
        /// `{record}`
        case record
        /// `{user_id}`
        case userID
    }

    /// Plain numbers only, so that reading an entry counts no references.
    private struct Entry: Sendable {
        /// The method's part of `methods`; -1 for every method.
        var methodStart: Int
        var methodCount: Int
        var path: CompiledPaths.Path
        /// Index of the segment; -1 for none.
        var recordSegment: Int
        var userSegment: Int
    }

    /// The routes themselves, for what to do with what matched.
    package let routes: [Route]
    private let entries: [Entry]
    private let methods: [UInt8]
    private let paths: CompiledPaths

    package init(_ routes: [Route]) {
        var entries: [Entry] = []
        var methods: [UInt8] = []
        var paths = CompiledPaths()
        for route in routes {
            let method = route.pattern.method.map { Array($0.utf8) }
            let path = route.pattern.path
            entries.append(
                Entry(
                    methodStart: method == nil ? -1 : methods.count, methodCount: method?.count ?? 0,
                    path: paths.add(path), recordSegment: path.segmentIndex(ofVariable: "record") ?? -1,
                    userSegment: path.segmentIndex(ofVariable: "user_id") ?? -1))
            methods += method ?? []
        }
        self.routes = routes
        self.entries = entries
        self.methods = methods
        self.paths = paths
    }

    /// Index of the first route that matches a method and a path without its query; nil when none does.
    ///
    /// A target that is no path (`OPTIONS *`) matches no route.
    package func match(
        method: UnsafePointer<UInt8>, _ methodCount: Int, path: UnsafePointer<UInt8>, _ pathCount: Int
    ) -> Int? {
        find(method: method, methodCount, path: path, pathCount)
    }

    @inline(__always)
    func find<Bytes: BytePointer>(
        method: UnsafePointer<UInt8>, _ methodCount: Int, path: Bytes, _ pathCount: Int
    ) -> Int? {
        for index in entries.indices where isMethod(of: entries[index], method, methodCount) {
            if paths.matches(entries[index].path, path, pathCount) { return index }
        }
        return nil
    }

    /// The bytes of a variable in a path that route `index` has matched, still percent-encoded; nil when the route has
    /// no such variable.
    package func capture(
        _ variable: Variable, route index: Int, path: UnsafePointer<UInt8>, _ pathCount: Int
    ) -> ByteRange? {
        let segment =
            switch variable {
            case .record: entries[index].recordSegment
            case .userID: entries[index].userSegment
            }
        return segment < 0 ? nil : CompiledPaths.segment(segment, of: path, pathCount)
    }

    @inline(__always)
    private func isMethod(of entry: Entry, _ method: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        if entry.methodStart < 0 { return true }
        if entry.methodCount != count { return false }
        for offset in 0..<count where methods[entry.methodStart + offset] != method[offset] { return false }
        return true
    }
}
