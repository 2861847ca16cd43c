package import Journal
package import SyncModel

/// What the service keeps its records in. Belongs to one thread; one store writes at a time.
package protocol SyncStoring: AnyObject {
    /// Decides and keeps a group of requests in one transaction: when it returns, what was accepted is on the disk and can be read.
    /// - Parameter now: milliseconds since 1970.
    /// - Returns: what has become of each request.
    func apply(_ requests: [[SyncChange]], now: Int64) throws(JournalError) -> [BatchOutcome]
}

/// Where a list goes on.
package struct RecordCursor: Sendable, Equatable {
    package var table: RecordType.Table
    package var after: String

    package init(table: RecordType.Table, after: String) {
        self.table = table
        self.after = after
    }

    /// The first record of all.
    package static let start = RecordCursor(table: .documents, after: "")

    /// As clients are given it.
    package var text: String { (table == .documents ? "d." : "h.") + after }

    /// Reads what clients send; the empty text is the start; nil for anything else.
    package init?(_ text: String) {
        if text.isEmpty {
            self = .start
        } else if text.hasPrefix("d.") {
            self.init(table: .documents, after: String(text.dropFirst(2)))
        } else if text.hasPrefix("h.") {
            self.init(table: .highlights, after: String(text.dropFirst(2)))
        } else {
            return nil
        }
    }
}

/// Highlights of one month.
package struct MonthOfHighlights: Sendable, Equatable {
    /// `2026-11`, in UTC.
    package var month: String
    package var highlights: Int64

    package init(month: String, highlights: Int64) {
        self.month = month
        self.highlights = highlights
    }
}

/// Reads of what was committed. Belongs to one thread at a time. Every list is bounded by its limit.
package protocol SyncReading: AnyObject {
    /// A record, tombstones included.
    func record(_ id: String, of user: String) throws(JournalError) -> SyncRecord?
    /// Records of one table in the order of their ids.
    /// - Parameter type: only those; nil: all. Then tombstones are among them, else they are not.
    func records(
        of user: String, from cursor: RecordCursor, type: RecordType?, limit: Int
    ) throws(JournalError) -> [SyncRecord]
    /// Changes of a user behind a place in the order of all changes. Whoever has read up to a place misses nothing: what commits
    /// later has a later place.
    func changes(of user: String, after sequence: Int64, limit: Int) throws(JournalError) -> [FeedEntry]
    /// Ids of users behind one, in their order.
    func users(after user: String, limit: Int) throws(JournalError) -> [String]
    /// - Parameter since: milliseconds since 1970; by the time at which a highlight was made.
    func highlights(since: Int64) throws(JournalError) -> [MonthOfHighlights]
}

extension SyncReading {
    /// One page of everything that a user has: first the documents, then what was marked in them.
    /// - Returns: the records and where to go on; nil at the end.
    package func page(
        of user: String, from cursor: RecordCursor, limit: Int
    ) throws(JournalError) -> (records: [SyncRecord], next: RecordCursor?) {
        var found = try records(of: user, from: cursor, type: nil, limit: limit)
        var table = cursor.table
        if table == .documents, found.count < limit {
            table = .highlights
            found += try records(
                of: user, from: RecordCursor(table: .highlights, after: ""), type: nil, limit: limit - found.count)
        }
        guard found.count >= limit, let last = found.last else { return (found, nil) }
        return (found, RecordCursor(table: last.type.table, after: last.record))
    }
}
