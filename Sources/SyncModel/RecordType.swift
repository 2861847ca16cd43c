/// What a record is.
package enum RecordType: String, Sendable, CaseIterable {
    case document, highlight, note, progress

    /// The table that holds it. Five tables for four types: what stands for a text and where its reader is in it are one kind of row,
    /// the marks that readers make on a text are the other; and only marks are many enough to need a table of their own.
    package enum Table: String, Sendable, CaseIterable { case documents, highlights }

    package var table: Table {
        switch self {
        case .document, .progress: .documents
        case .highlight, .note: .highlights
        }
    }
}
