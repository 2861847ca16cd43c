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

    private struct Entry: Sendable {
        let method: [UInt8]?
        let path: CompiledPath
        let recordSegment: Int?
        let userSegment: Int?
    }

    /// The routes themselves, for what to do with what matched.
    package let routes: [Route]
    private let entries: [Entry]

    package init(_ routes: [Route]) {
        self.routes = routes
        entries = routes.map { route in
            let path = route.pattern.path
            return Entry(
                method: route.pattern.method.map { Array($0.utf8) }, path: CompiledPath(path),
                recordSegment: path.segmentIndex(ofVariable: "record"),
                userSegment: path.segmentIndex(ofVariable: "user_id"))
        }
    }

    /// Index of the first route that matches a method and a path without its query; nil when none does.
    ///
    /// A target that is no path (`OPTIONS *`) matches no route.
    package func match(
        method: UnsafePointer<UInt8>, _ methodCount: Int, path: UnsafePointer<UInt8>, _ pathCount: Int
    ) -> Int? {
        for index in entries.indices {
            if let wanted = entries[index].method, !equals(wanted, method, methodCount) { continue }
            if entries[index].path.matches(path, pathCount) { return index }
        }
        return nil
    }

    /// The bytes of a variable in a path that route `index` has matched, still percent-encoded; nil when the route has
    /// no such variable.
    package func capture(
        _ variable: Variable, route index: Int, path: UnsafePointer<UInt8>, _ pathCount: Int
    ) -> ByteRange? {
        let entry = entries[index]
        let segment =
            switch variable {
            case .record: entry.recordSegment
            case .userID: entry.userSegment
            }
        guard let segment else { return nil }
        return CompiledPath.segment(segment, of: path, pathCount)
    }

    private func equals(_ wanted: [UInt8], _ method: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        guard wanted.count == count else { return false }
        for offset in 0..<count where wanted[offset] != method[offset] { return false }
        return true
    }
}
