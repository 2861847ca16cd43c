/// A change that new decided over while legacy was not written: its leg to legacy was `skipped` from the start, and stays so
/// until a reverse sync takes it there.
///
/// Not to be taken for a change whose leg to legacy was skipped because new refused it or failed: that one is in the list,
/// too, and never is `isMissing`.
package struct UnsharedChange: Sendable, Equatable {
    package var sequence: Sequence64
    /// When it was accepted, in milliseconds since 1970.
    package var acceptedMilliseconds: Int64
    package var user: String?
    package var records: [String]
    /// False: new is still deciding over it.
    package var isAnswered: Bool
    package var legs: Legs

    package init(
        sequence: Sequence64, acceptedMilliseconds: Int64, user: String?, records: [String], isAnswered: Bool,
        legs: Legs
    ) {
        self.sequence = sequence
        self.acceptedMilliseconds = acceptedMilliseconds
        self.user = user
        self.records = records
        self.isAnswered = isAnswered
        self.legs = legs
    }

    /// New has it and legacy does not.
    package var isMissing: Bool { wasAccepted && legs.legacy.state == .skipped }

    /// New took it, whatever has become of the leg to legacy since.
    package var wasAccepted: Bool { legs.new.state == .applied }
}
