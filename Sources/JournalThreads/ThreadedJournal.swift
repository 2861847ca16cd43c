package import Journal

/// A journal with its threads: one that writes and one that reads, on a connection each. Safe from any thread.
package final class ThreadedJournal: WriteJournal, JournalAccess {
    package let writer: JournalWriter
    private let reader: JournalReaderThread

    /// - Parameters:
    ///   - store: belongs to the writing thread from now on.
    ///   - reader: belongs to the reading thread from now on.
    ///   - retention: settled rows older than this are pruned; nil: never.
    ///   - onGroup: called after each transaction, on the writing thread.
    package init(
        store: sending any JournalStore, reader: sending any JournalReading, limits: JournalLimits = JournalLimits(),
        retention: Retention? = nil, onGroup: @escaping @Sendable (GroupReport) -> Void = { _ in }
    ) {
        self.reader = JournalReaderThread(reader: reader, limit: limits.queuedReads)
        writer = JournalWriter(store: store, limits: limits, retention: retention, onGroup: onGroup)
    }

    package func start(onAdmitted: @escaping @Sendable (AdmittedGroup) -> Void) {
        reader.start()
        writer.start(onAdmitted: onAdmitted)
    }

    package func submit(_ submission: Submission, completion: @escaping @Sendable (Admission) -> Void) {
        writer.submit(submission, completion: completion)
    }

    package func post(_ update: JournalUpdate) { writer.post(update) }

    package func post(_ update: JournalUpdate, kept: @escaping @Sendable () -> Void) { writer.post(update, kept: kept) }

    package func load(
        _ sequence: Sequence64, completion: @escaping @Sendable (Result<StoredChange?, JournalError>) -> Void
    ) {
        reader.perform { connection in
            completion(
                connection.flatMap { reader in Self.result { () throws(JournalError) in try reader.load(sequence) } })
        }
    }

    package func outstanding(
        _ query: OutstandingQuery, completion: @escaping @Sendable (Result<[OutstandingChange], JournalError>) -> Void
    ) {
        // First the writer: the page must show what was posted before. Then the reader, so that writes do not wait for it.
        writer.whenKept { [reader] failure in
            if let failure { return completion(.failure(failure)) }
            reader.perform { connection in
                completion(
                    connection.flatMap { reader in
                        Self.result { () throws(JournalError) in try reader.outstanding(query) }
                    })
            }
        }
    }

    package func read<Value: Sendable>(
        _ work: @escaping @Sendable (any JournalReading) throws(JournalError) -> Value
    ) async throws(JournalError) -> Value {
        let result: Result<Value, JournalError> = await withCheckedContinuation { continuation in
            reader.perform { connection in
                continuation.resume(
                    returning: connection.flatMap { reader in
                        Self.result { () throws(JournalError) in try work(reader) }
                    })
            }
        }
        return try result.get()
    }

    package func write<Value: Sendable>(
        _ work: @escaping @Sendable (any JournalStore) throws(JournalError) -> Value
    ) async throws(JournalError) -> Value {
        let result: Result<Value, JournalError> = await withCheckedContinuation { continuation in
            writer.perform { store in
                guard let store else {
                    continuation.resume(returning: .failure(JournalError(.closed, "the journal is closed")))
                    return
                }
                continuation.resume(returning: Self.result { () throws(JournalError) in try work(store) })
            }
        }
        return try result.get()
    }

    /// Waits until every update posted so far is durable; false when that took too long. Blocks: not for a loop.
    package func flush(timeoutMilliseconds: UInt64) -> Bool { writer.flush(timeoutMilliseconds: timeoutMilliseconds) }

    /// Keeps what has arrived and ends both threads. Blocks: not for a loop.
    /// - Returns: false when updates were left that the disk did not take.
    @discardableResult
    package func close(timeoutMilliseconds: UInt64 = 5_000) -> Bool {
        reader.close()
        return writer.close(timeoutMilliseconds: timeoutMilliseconds)
    }

    private static func result<Value>(
        _ body: () throws(JournalError) -> Value
    ) -> Result<Value, JournalError> {
        do throws(JournalError) {
            return .success(try body())
        } catch {
            return .failure(error)
        }
    }
}
