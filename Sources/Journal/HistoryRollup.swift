/// How rows of ten seconds become those of a minute and of ten minutes.
package enum HistoryRollup {
    /// A row as every resolution sees it: itself, and its part of the coarser spans that it lies in.
    ///
    /// What is stored for the same span is merged (`JournalStore.appendHistory`), in one transaction for all of these. So the
    /// coarser rows are the sums of the finer ones at any moment, wherever the process is killed, and nothing has to be made
    /// up for after a start. A row that never came is missing in the coarser ones, too, and shows in `coveredMilliseconds`;
    /// one that comes late, because the clock was set back, goes where its time is.
    package static func rows(from row: HistoryRow) -> [HistoryRow] {
        HistoryResolution.allCases.filter { $0.rawValue >= row.resolution.rawValue }.map { resolution in
            var part = row
            part.resolution = resolution
            part.atMilliseconds = resolution.begin(of: row.atMilliseconds)
            return part
        }
    }
}

/// The newest rows of one resolution, in memory: the same rules as in a store.
package struct HistoryWindow: Sendable {
    package let resolution: HistoryResolution
    /// Rows held; beyond it, the oldest go.
    package let capacity: Int
    /// Oldest first; in the order of places (`HistoryCursor`).
    package private(set) var rows: [HistoryRow] = []

    package init(_ resolution: HistoryResolution, capacity: Int) {
        self.resolution = resolution
        self.capacity = capacity
    }

    /// Adds a row, or merges it with the one of the same span. Rows of another resolution are passed over.
    package mutating func add(_ row: HistoryRow) {
        guard row.resolution == resolution else { return }
        // Almost always the newest, so looked for from the end.
        var place = rows.count
        while place > 0, row.cursor.isBefore(rows[place - 1]) == false, !rows[place - 1].isOfSameSpan(as: row) {
            place -= 1
        }
        if place > 0, rows[place - 1].isOfSameSpan(as: row) {
            rows[place - 1] = rows[place - 1].merged(with: row)
        } else {
            rows.insert(row, at: place)
            if rows.count > capacity { rows.removeFirst(rows.count - capacity) }
        }
    }

    /// Rows, newest first.
    /// - Parameters:
    ///   - from: none that begins before, in milliseconds since 1970.
    ///   - cursor: only those after this place; nil for the newest page.
    package func page(from: Int64, before cursor: HistoryCursor?, limit: Int) -> [HistoryRow] {
        var page: [HistoryRow] = []
        for row in rows.reversed() where row.atMilliseconds >= from {
            guard page.count < limit else { break }
            if cursor?.isBefore(row) ?? true { page.append(row) }
        }
        return page
    }
}
