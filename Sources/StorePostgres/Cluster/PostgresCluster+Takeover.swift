internal import Journal
internal import JournalThreads

// Taking the changes of gateways that are gone, on the working thread.
extension PostgresCluster {
    /// The first step of an arrival.
    func arriveTakingOver(_ id: Int64, takesExpired: Bool) throws(JournalError) {
        let rows = try workConnection.query(ClusterQueries.glance, PostgresParameters().int64(id))
        var gone: [ClusterAgenda.Gone] = []
        for row in 0..<rows.count where rows.integer(row, 0) != id {
            if rows.boolean(row, 3) {
                gone.append(.init(id: rows.integer(row, 0), expiresMicroseconds: nil))
            } else if takesExpired, rows.boolean(row, 2) {
                gone.append(.init(id: rows.integer(row, 0), expiresMicroseconds: rows.integer(row, 1)))
            }
        }
        // Page by page, each told before the next, until nothing is left, or others are the heirs.
        if !gone.isEmpty, try takeOver(gone, id) > 0 { return }
        settle(id) { agenda in
            if case .takeOver = agenda.arrival { agenda.arrival = .announce }
        }
    }

    /// Ends them, where that is still to be done, and makes a page of what they left outstanding this gateway's own.
    /// - Returns: how many changes it took.
    @discardableResult
    func takeOver(_ gone: [ClusterAgenda.Gone], _ id: Int64) throws(JournalError) -> Int64 {
        let number = try workConnection.query(ClusterQueries.takeoverNumber).integer(0, 0)
        // Noted before it is done: should the connection break just then, it is told all the same, if it was done.
        settle(id) { $0.reports.append(.init(number: number)) }
        let ids = gone.map(\.id)
        let moved: Int64
        var transaction: Int64?
        do throws(JournalError) {
            moved = try workConnection.transaction { () throws(JournalError) in
                // A dead gateway's locks are not waited for long. What was taken must outlive a crash of the store.
                try workConnection.script(
                    """
                    SET LOCAL lock_timeout TO 500; SET LOCAL synchronous_commit TO on;
                    SET LOCAL statement_timeout TO \(Self.takeOverTimeoutMilliseconds);
                    """)
                let parameters = PostgresParameters().int64(id).int64(number).int64s(ids)
                    .int64s(gone.map(\.expiresMicroseconds)).int64(Int64(ClusterLimits.page))
                let results = try workConnection.run(
                    [(ClusterQueries.takeOver, parameters)], timeoutMilliseconds: Self.takeOverTimeoutMilliseconds)
                guard let rows = results.last else { return 0 }
                transaction = rows.integer(0, 1)
                return rows.integer(0, 0)
            }
        } catch {
            settle(id) { agenda in
                // It got as far as the commit. Whether that was done is not known before the store has made up its mind.
                if let index = agenda.reports.firstIndex(where: { $0.number == number }) {
                    agenda.reports[index].uncertain = transaction
                }
            }
            if error.kind == .busy {
                _ = try workConnection.query(ClusterQueries.free, PostgresParameters().int64s(ids))
            }
            throw error
        }
        settle(id) { agenda in
            if moved == 0 { agenda.reports.removeAll { $0.number == number } }
            // More of them may be left; or the next glance shows what is.
            if moved < ClusterLimits.page { agenda.gone = [] }
        }
        return moved
    }

    /// Whether a transaction may still be committed.
    private func isUndecided(_ transaction: Int64) throws(JournalError) -> Bool {
        do throws(JournalError) {
            return try workConnection.query(ClusterQueries.fate, PostgresParameters().int64(transaction)).boolean(0, 0)
        } catch {
            // A store that came back from a crash knows nothing of a transaction that left no trace: it was not committed.
            if error.kind == .other { return false }
            throw error
        }
    }

    /// Tells one page of what was taken over, with what comes before it.
    func report(_ id: Int64) throws(JournalError) {
        guard let report = monitor.locked({ shared.agenda.reports.first }) else { return }
        if let transaction = report.uncertain, try isUndecided(transaction) {
            throw workConnection.failure(.busy, "has not decided on a takeover yet")
        }
        let page = try workConnection.query(
            ClusterQueries.takenPage,
            PostgresParameters().int64(id).int64(-report.number).int64(report.after).int64(Int64(ClusterLimits.page)))
        var changes: [OutstandingChange] = []
        for row in 0..<page.count { changes.append(try PostgresQueries.outstanding(page, row)) }
        var foreign: [OutstandingChange] = []
        if !changes.isEmpty {
            let before = try workConnection.query(
                ClusterQueries.before, PostgresParameters().int64(id).int64s(changes.map(\.sequence)))
            for row in 0..<before.count { foreign.append(try PostgresQueries.outstanding(before, row)) }
        }
        if !changes.isEmpty { monitor.locked { shared.events }?.awaitAdmissions() }
        telling.locked {
            let events: ClusterEvents? = monitor.locked {
                guard shared.lease.id == id, shared.agenda.reports.first?.number == report.number else { return nil }
                if let last = changes.last, changes.count == ClusterLimits.page {
                    shared.agenda.reports[0].after = last.sequence
                } else {
                    shared.agenda.reports.removeFirst()
                }
                shared.figures.takenOver += UInt64(changes.count)
                return shared.events
            }
            if !changes.isEmpty { events?.takenOver(report.number, changes, foreign) }
        }
    }
}
