package import Rollout

/// One or both backends.
package struct SideSet: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package init(_ side: Side) { self.init(rawValue: 1 << side.rawValue) }

    package static let legacy = SideSet(.legacy)
    package static let new = SideSet(.new)
    package static let both: SideSet = [.legacy, .new]
}

/// A value per side.
struct PerSide<Value: Sendable>: Sendable {
    var legacy: Value
    var new: Value

    init(_ both: Value) {
        legacy = both
        new = both
    }

    subscript(side: Side) -> Value {
        get { side == .legacy ? legacy : new }
        // In place: a getter and a setter would copy a collection on every change.
        _modify {
            switch side {
            case .legacy: yield &legacy
            case .new: yield &new
            }
        }
    }
}

extension Side {
    /// Its place in an array with an element for each side.
    var index: Int { Int(rawValue) }
}
