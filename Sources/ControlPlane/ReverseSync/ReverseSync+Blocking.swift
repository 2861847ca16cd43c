import Gateway
import Journal
import JournalThreads
import Values

/// The journal as a run sees it: from a thread that may wait.
extension ReverseSync {
    func read<Value: Sendable>(
        _ work: @escaping @Sendable (any JournalReading) throws(JournalError) -> Value
    ) throws(JournalError) -> Value {
        let journal = journal
        return try blocking { () async throws(JournalError) in try await journal.read(work) }
    }

    /// Runs on the journal's thread, when everything that was posted before is kept.
    func write<Value: Sendable>(
        _ work: @escaping @Sendable (any JournalStore) throws(JournalError) -> Value
    ) throws(JournalError) -> Value {
        let journal = journal
        return try blocking { () async throws(JournalError) in try await journal.write(work) }
    }

    private func blocking<Value: Sendable>(
        _ work: @escaping @Sendable () async throws(JournalError) -> Value
    ) throws(JournalError) -> Value {
        let result = waitFor { () async -> Result<Value, JournalError> in
            do throws(JournalError) { return .success(try await work()) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// - Parameter skippedOnly: see `JournalReading.unshared`.
    func unshared(
        after sequence: Sequence64, skippedOnly: Bool, limit: Int = ReverseSync.page
    ) throws(JournalError) -> [UnsharedChange] {
        try read { reader throws(JournalError) in
            try reader.unshared(after: sequence, skippedOnly: skippedOnly, limit: limit)
        }
    }

    func load(_ sequence: Sequence64) throws(JournalError) -> StoredChange? {
        try read { reader throws(JournalError) in try reader.load(sequence) }
    }

    /// Waits until every write that waits for the journal now has been admitted or refused.
    func waitForSubmissions() throws(JournalError) {
        let waiting = journal.writer.figures.queueDepth
        let before = journal.writer.figures.submissions
        // Work runs between two groups; a group takes the oldest writes first, as many as fit into it.
        for _ in 0..<64 {
            _ = try write { _ in true }
            let figures = journal.writer.figures
            if figures.queueDepth == 0 || figures.submissions >= before + UInt64(waiting) { return }
        }
    }

    /// Keeps an event of a run's end.
    func note(_ report: ReverseSyncReport, _ order: ReverseSyncOrder) {
        let controller = controller
        let isIdle = report.total == 0 && report.failure == nil && report.isAutomatic
        // After every restart it is looked whether anything is missing; nothing is no news.
        guard !isIdle else { return }
        let outcome = JSONValue.object(report.outcomeMembers)
        waitFor {
            await controller.note(
                "reverse-sync", before: .object([("missing", .number("\(report.total)"))]), after: outcome,
                ChangeOrigin(actor: order.actor, reason: order.reason))
        }
    }
}
