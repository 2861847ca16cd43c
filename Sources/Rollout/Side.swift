/// One of the two backends; also the side that is authoritative for a user.
@usableFromInline package enum Side: UInt8, Sendable, CaseIterable, Codable {
    case legacy = 0
    case new = 1

    /// The other backend.
    @inlinable package var other: Side { self == .legacy ? .new : .legacy }

    /// The word that the contract uses.
    package var name: StaticString {
        switch self {
        case .legacy: "legacy"
        case .new: "new"
        }
    }
}
