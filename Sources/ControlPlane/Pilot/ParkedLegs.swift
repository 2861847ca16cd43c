import Journal
import JournalThreads

/// Legs that were refused for good and wait for an operator.
struct ParkedLegs: Sendable, Equatable {
    var count = 0
    /// When the newest change with one was accepted, in milliseconds since 1970; nil with none.
    var lastMilliseconds: Int64?

    /// How long the store may take, in milliseconds.
    private static let patienceMilliseconds = 500
    /// Rows a look, and looks: behind more than these with a leg to legacy only, none to new is looked for.
    private static let pageRows = 200
    private static let pagesMax = 5

    /// Those to new; nil when the store does not say.
    static func toNew(in journal: ThreadedJournal) async -> ParkedLegs? {
        await within(milliseconds: patienceMilliseconds) {
            try? await journal.read { reader throws(JournalError) in
                let count = try reader.counts().parkedNew
                return ParkedLegs(count: count, lastMilliseconds: count > 0 ? try newest(reader) : nil)
            }
        }
    }

    private static func newest(_ reader: any JournalReading) throws(JournalError) -> Int64? {
        var cursor: Sequence64?
        for _ in 0..<pagesMax {
            let rows = try reader.rows(parkedOnly: true, before: cursor, limit: pageRows)
            if let row = rows.first(where: { $0.legs.new.state == .parked }) { return row.acceptedMilliseconds }
            guard rows.count == pageRows else { return nil }
            cursor = rows.last?.sequence
        }
        return nil
    }
}
