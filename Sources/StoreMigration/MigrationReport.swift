/// What became of the rows of one table.
package struct MigratedTable: Sendable, Equatable {
    package var name: String
    /// Rows of the source.
    package var rows: Int64 = 0
    /// Rows that were read back from the target and are the same, column by column and byte by byte.
    package var verified: Int64 = 0
    /// Rows that are not the same, that the target lacks, or that only the target has.
    package var differing: Int64 = 0
    /// The first of them in words for an operator: places in the journal and names of columns, never users or contents.
    package var firstDiffering: [String] = []

    /// So many are told.
    static let told = 5

    init(_ name: String) { self.name = name }

    mutating func differs(_ words: String, count: Int64 = 1) {
        differing += count
        if firstDiffering.count < Self.told { firstDiffering.append(words) }
    }
}

/// What a move, or a look at one, came to.
package struct MigrationReport: Sendable, Equatable {
    /// Where the journal came from, and where it went, for messages.
    package var source: String
    package var target: String
    package var tables: [MigratedTable]
    /// The newest place given out in the source, after which the target goes on; 0: none.
    package var lastSequence: Int64

    package var differing: Int64 { tables.reduce(0) { $0 + $1.differing } }
    package var rows: Int64 { tables.reduce(0) { $0 + $1.rows } }
}
