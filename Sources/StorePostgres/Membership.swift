internal import Journal
internal import Synchronization

/// Which gateway of the shared store this process is at present. The cluster fills it; the store and its reader go by it.
/// Safe from any thread.
package final class Membership: Sendable {
    /// One group's right to be kept.
    struct Ticket: Equatable {
        var owner: Int64
        var group: Int64
    }

    private struct State {
        var owner: Int64?
        var lastGroup: Int64 = 0
        var confirmedGroup: Int64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// The id of this gateway's row; nil before it has joined, and between being fenced and joining anew.
    package var owner: Int64? { state.withLock { $0.owner } }

    /// This process is the gateway with this row from now on. Group numbers begin again.
    package func join(as owner: Int64) { state.withLock { $0 = State(owner: owner) } }

    /// This process is no gateway any more: groups are refused without asking the store.
    package func leave() { state.withLock { $0 = State() } }

    /// The number of the next group.
    func nextTicket() throws(JournalError) -> Ticket {
        let ticket: Ticket? = state.withLock { state in
            guard let owner = state.owner else { return nil }
            state.lastGroup += 1
            return Ticket(owner: owner, group: state.lastGroup)
        }
        guard let ticket else {
            throw JournalError(.fenced, "this gateway has no lease of the shared store at present")
        }
        return ticket
    }

    /// The group is known to be kept. Until then nobody gets to see its changes as work to be done (`confirmed`): should its
    /// fate stay unknown, it is disowned.
    func confirm(_ ticket: Ticket) {
        state.withLock { state in
            if state.owner == ticket.owner { state.confirmedGroup = max(state.confirmedGroup, ticket.group) }
        }
    }

    /// The owner, and the last group of it that is known to be kept; (0, 0) for no gateway.
    package var confirmed: (owner: Int64, group: Int64) {
        state.withLock { ($0.owner ?? 0, $0.confirmedGroup) }
    }
}
