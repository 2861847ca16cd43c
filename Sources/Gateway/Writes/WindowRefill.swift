import Journal
import Rollout

/// Reads deferred legs back from the journal while there is room for them. Safe from any thread.
///
/// One page at a time a side; one that cannot be read, or brings nothing, is asked for again after `pauseMilliseconds`.
final class WindowRefill: Sendable {
    static let pauseMilliseconds: Int64 = 100

    private let coordinator: WriteCoordinator
    private let deliver: @Sendable ([OutstandingChange], Side) -> Void
    private let later: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// - Parameters:
    ///   - deliver: sends legs on their way; called on a thread of the journal.
    ///   - later: calls back after `pauseMilliseconds`.
    init(
        coordinator: WriteCoordinator, deliver: @escaping @Sendable ([OutstandingChange], Side) -> Void,
        later: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        self.coordinator = coordinator
        self.deliver = deliver
        self.later = later
    }

    /// Begins: from now on, every leg that is settled may call for a page.
    func start() {
        coordinator.setRefill { [self] side in read(side) }
        for side in Side.allCases { read(side) }
    }

    private func read(_ side: Side) {
        guard let query = coordinator.nextPage(side) else { return }
        coordinator.journal.outstanding(query) { [self] page in
            switch page {
            case .success(let rows):
                let refill = coordinator.take(rows, side)
                if !refill.deliveries.isEmpty { deliver(refill.deliveries, side) }
                if refill.isEmpty { later { [self] in read(side) } } else { read(side) }
            case .failure:
                // The page counts as under way until then, so that nobody asks in the meantime.
                later { [self] in
                    coordinator.pageFailed(side)
                    read(side)
                }
            }
        }
    }
}
