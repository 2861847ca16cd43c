/// A value as a table of a store holds it.
package enum StoredValue: Sendable, Equatable {
    case null
    /// A number, or a flag as 0 or 1.
    case integer(Int64)
    case text(String)
    case bytes([UInt8])

    /// Byte by byte: Swift takes two texts for the same that are only spelt differently, and a key is not.
    package static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.integer(let left), .integer(let right)): left == right
        case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
        case (.bytes(let left), .bytes(let right)): left == right
        default: false
        }
    }

    /// About how many bytes it takes.
    package var size: Int {
        switch self {
        case .null: 1
        case .integer: 8
        case .text(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        }
    }
}

/// A table that every store of the journal has, with the columns that all of them have: what a move from one store to another
/// carries. What a store derives from these (digests, lanes, owners) is its own.
package struct JournalTable: Sendable {
    /// What a column holds.
    package enum Kind: Sendable { case flag, small, medium, integer, text, bytes }

    package struct Column: Sendable {
        package let name: String
        package let kind: Kind
    }

    package let name: String
    package let columns: [Column]
    /// How many of the first columns tell a row from every other.
    package let keyCount: Int

    private init(_ name: String, key keyCount: Int, _ columns: (Kind, [String])...) {
        self.name = name
        self.keyCount = keyCount
        self.columns = columns.flatMap { kind, names in names.map { Column(name: $0, kind: kind) } }
    }

    package var keys: [Column] { Array(columns.prefix(keyCount)) }

    /// Where a column is in a row.
    package func place(_ column: String) -> Int { columns.firstIndex { $0.name == column } ?? 0 }

    package static let change = JournalTable(
        "change", key: 1, (.integer, ["sequence", "accepted_at"]), (.text, ["user", "record"]),
        (.integer, ["revision"]),
        (.text, ["payload_hash"]), (.medium, ["record_count"]), (.flag, ["has_revision"]),
        (.text, ["idempotency_key", "outgoing_key"]), (.flag, ["holds_key"]),
        (.text, ["fingerprint", "method", "target"]), (.small, ["side"]), (.flag, ["dual_write", "is_answered"]),
        (.medium, ["answered_status"]), (.small, ["served_by"]), (.bytes, ["answer_header_lines", "answer_body"]),
        (.text, ["legacy_state"]), (.medium, ["legacy_attempts", "legacy_refusals", "legacy_last_status"]),
        (.integer, ["legacy_next_attempt_at"]),
        (.text, ["new_state"]), (.medium, ["new_attempts", "new_refusals", "new_last_status"]),
        (.integer, ["new_next_attempt_at"]))

    package static let batchRecord = JournalTable(
        "batch_record", key: 2, (.integer, ["sequence"]), (.medium, ["ordinal"]), (.text, ["record"]),
        (.integer, ["revision"]), (.text, ["payload_hash"]))

    package static let changeBody = JournalTable(
        "change_body", key: 1, (.integer, ["sequence"]), (.bytes, ["header_lines", "conditional_lines", "body"]))

    package static let recordRevision = JournalTable(
        "record_revision", key: 3, (.text, ["user", "record"]), (.integer, ["revision", "sequence"]),
        (.text, ["payload_hash", "idempotency_key"]))

    package static let rollout = JournalTable(
        "rollout", key: 1, (.medium, ["id"]), (.integer, ["generation"]), (.text, ["plan", "stage"]),
        (.medium, ["percent_hundredths"]), (.text, ["state"]), (.integer, ["since"]), (.text, ["details"]))

    package static let event = JournalTable(
        "event", key: 1, (.integer, ["sequence", "at"]), (.text, ["actor", "action", "before", "after", "reason"]))

    package static let pin = JournalTable("pin", key: 1, (.text, ["user"]), (.small, ["side"]), (.integer, ["since"]))

    package static let history = JournalTable(
        "history", key: HistoryFigure.keys.count, (.medium, ["resolution"]), (.integer, ["at"]), (.text, ["instance"]),
        (.integer, HistoryFigure.all.map(\.column)), (.text, HistoryFigure.texts.map(\.column)))

    /// All of them. A change comes before what belongs to it.
    package static let all = [change, batchRecord, changeBody, recordRevision, rollout, event, pin, history]
}
