import Synchronization

/// A lasting difference between what both sides answered. Never a value of the answers, unless asked for.
package struct Mismatch: Sendable {
    package struct Answer: Sendable {
        package var status: Int
        package var hash: String
    }
    package var sequence: Int64 = 0
    /// Milliseconds since 1970.
    package var atMilliseconds: Int64
    package var kind: String
    package var method: String
    package var target: String
    package var paths: [String]
    package var legacy: Answer
    package var new: Answer
    /// The differing values as JSON text, one pair per path; empty unless `shadow.keep_values`.
    package var values: [(legacy: String, new: String)] = []
}

/// The newest mismatches, for the operator. Shared by all threads.
///
/// Limit: 1000; the oldest makes room. The count of all is in the metrics.
package final class MismatchLog: Sendable {
    package static let limit = 1000
    private struct State {
        var ring: [Mismatch] = []
        var next: Int64 = 1
    }
    private let state = Mutex(State())

    package init() {}

    /// - Returns: whether the oldest had to go for it.
    @discardableResult
    func record(_ mismatch: Mismatch) -> Bool {
        state.withLock { state in
            var mismatch = mismatch
            mismatch.sequence = state.next
            let isFull = state.ring.count >= MismatchLog.limit
            if isFull {
                state.ring[Int((state.next - 1) % Int64(MismatchLog.limit))] = mismatch
            } else {
                state.ring.append(mismatch)
            }
            state.next += 1
            return isFull
        }
    }

    /// Newest first, those before `sequence`.
    package func page(before sequence: Int64?, limit: Int) -> [Mismatch] {
        let all = state.withLock { $0.ring }
        let sorted = all.sorted { $0.sequence > $1.sequence }
        return Array(sorted.filter { $0.sequence < sequence ?? .max }.prefix(limit))
    }

    /// The number of the newest mismatch; 0 when there was none.
    package var newest: Int64 { state.withLock { $0.next - 1 } }

    /// Those behind `sequence` that are kept, oldest first.
    package func behind(_ sequence: Int64) -> [Mismatch] {
        let behind = state.withLock { state in
            state.next - 1 > sequence ? state.ring.filter { $0.sequence > sequence } : []
        }
        return behind.sorted { $0.sequence < $1.sequence }
    }
}
