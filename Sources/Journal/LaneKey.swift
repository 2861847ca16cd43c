/// A lane: the changes whose legs must reach each backend in the order of acceptance.
///
/// It keeps 64 bits of a keyed hash in place of the names, so that 100,000 outstanding changes stay small. Should two lanes
/// ever share a hash, they become one lane: the order only gets stricter. The hash is seeded per process, so nobody outside
/// can choose such a pair.
package struct LaneKey: Hashable, Sendable {
    private let identity: Int

    private init(_ tag: UInt8, _ user: String, _ record: String) {
        var hasher = Hasher()
        hasher.combine(tag)
        hasher.combine(user)
        hasher.combine(record)
        identity = hasher.finalize()
    }

    /// The lane of one record of a user (nil: of nobody in particular).
    package static func record(_ record: String, user: String?) -> LaneKey {
        LaneKey(user == nil ? 1 : 0, user ?? "", record)
    }

    /// The lane of a user, where the route names no record.
    package static func user(_ user: String) -> LaneKey { LaneKey(2, user, "") }

    /// The lane of every anonymous write that names no record.
    package static let anonymous = LaneKey(3, "", "")

    /// The lanes of a change: its records, else its user, else the anonymous lane.
    package static func lanes(user: String?, records: [String]) -> [LaneKey] {
        if !records.isEmpty { return records.map { .record($0, user: user) } }
        if let user { return [.user(user)] }
        return [.anonymous]
    }
}
