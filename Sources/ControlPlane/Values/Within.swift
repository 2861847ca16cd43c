import Synchronization

/// What work comes to, or nil when it takes too long: it then goes on, and nobody hears of it.
func within<Value: Sendable>(
    milliseconds: Int, _ work: @escaping @Sendable () async -> Value?
) async -> Value? {
    await withCheckedContinuation { continuation in
        let first = First(continuation)
        Task { first.resume(await work()) }
        Task {
            try? await Task.sleep(for: .milliseconds(milliseconds))
            first.resume(nil)
        }
    }
}

/// A continuation that several want to resume: the first one does.
private final class First<Value: Sendable>: Sendable {
    private let waiting: Mutex<CheckedContinuation<Value?, Never>?>

    init(_ continuation: CheckedContinuation<Value?, Never>) { waiting = Mutex(continuation) }

    func resume(_ value: Value?) {
        let continuation = waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
        continuation?.resume(returning: value)
    }
}
