package import Journal

/// What one group is: facts that could not be kept before, the new ones, and the writes that wait, in one transaction. Without
/// threads and clock, so that a simulation can drive it too. Not thread-safe.
package struct GroupCommit {
    /// Facts that the store did not take yet; they go with the next group. As many as legs were under way at most.
    package private(set) var retained: [JournalUpdate] = []

    package struct Outcome: Sendable {
        package var result: Result<CommittedGroup, JournalError>
        /// Facts in the transaction.
        package var updates: Int
    }

    package init() {}

    /// Runs one transaction. When the store refuses it, its facts are retained and its writes are not accepted.
    /// - Parameter now: milliseconds since 1970.
    package mutating func commit(_ group: WriteQueue.Group, to store: any JournalStore, now: Int64) -> Outcome {
        let updates = fold(retained.isEmpty ? group.updates : retained + group.updates)
        do throws(JournalError) {
            let committed = try store.commit(group.writes.map(\.submission), updates: updates, now: now)
            retained = []
            return Outcome(result: .success(committed), updates: updates.count)
        } catch {
            retained = updates
            return Outcome(result: .failure(error), updates: updates.count)
        }
    }

    /// The accepted writes of a committed group.
    package static func admitted(_ group: WriteQueue.Group, _ committed: CommittedGroup) -> AdmittedGroup {
        var admitted = AdmittedGroup(changes: [], foreign: committed.foreign)
        for (admission, write) in zip(committed.admissions, group.writes) {
            if case .accepted(let sequence) = admission {
                admitted.changes.append((sequence: sequence, submission: write.submission))
            }
        }
        return admitted
    }
}
