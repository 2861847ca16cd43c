import CLinux
import Gateway
import Journal
import Rollout
import JournalThreads

/// Several gateways on one store: no user may be read from a side that lacks a write which some gateway has acknowledged.
///
/// Between two states, users move. While gateways disagree, one may read a side that another does not write first any more
/// (or not yet). So a change has two steps. *Armed*: a gateway knows the new state, still decides by the old one, and
/// announces what its writes leave outstanding to the side that users move to. *In force*: every gateway that lives is armed,
/// and what is outstanding elsewhere has been looked up. A change that only leads back waits at most a second: then it is in
/// force whatever the others say, because the way back must not depend on them.
extension RolloutController {
    /// The longest that a move back waits for the other gateways, in milliseconds (contract §5: within 1 s).
    static let moveBackWaitMilliseconds = 900
    /// The longest that a raise waits: longer than a lease, after which a silent gateway counts no more.
    static let raiseWaitMilliseconds = 12_000

    /// Whether other gateways may use the store. How many do is not asked: one may be joining right now.
    var isShared: Bool { cluster != nil }

    /// Puts what was decided in force: at once where the store is not shared, else as soon as the others are armed.
    /// - Returns: warnings for whoever asked.
    func bringIntoForce(_ next: RolloutState) async -> [String] {
        let target = Decided(state: next, pins: pins)
        if target == inForce { return [] }
        guard let cluster else {
            putInForce(next)
            return []
        }
        arming += 1
        let mine = arming
        let sides = sidesUsersMoveTo(from: inForce, to: target)
        let isRaising = sides.contains(.new)
        publish(announcing: sides)
        let wait = isRaising ? Self.raiseWaitMilliseconds : Self.moveBackWaitMilliseconds
        var isArmed = false
        if let version = try? await journal.read({ reader throws(JournalError) in try reader.sharedVersion() }) {
            cluster.acknowledge(version)
            isArmed = await cluster.isAcknowledged(version, timeoutMilliseconds: Int64(wait))
        }
        let isKnown = await cluster.refreshForeign()
        // Whoever decided something newer meanwhile puts that in force.
        guard mine == arming else { return [] }
        putInForce(next)
        return isArmed && isKnown
            ? [] : ["in force here; not every gateway of the store has confirmed it yet"]
    }

    /// In force within a second at the latest, whatever store and other gateways do.
    func putInForceSoon(_ next: RolloutState) {
        Task {
            try? await Task.sleep(for: .milliseconds(Self.moveBackWaitMilliseconds))
            if inForce.state.generation < next.generation { putInForce(next) }
        }
    }

    /// Whether some user may move to legacy.
    func isMovingBack(from old: Decided, to next: Decided) -> Bool {
        sidesUsersMoveTo(from: old, to: next).contains(.legacy)
    }

    private func sidesUsersMoveTo(from old: Decided, to next: Decided) -> SideSet {
        var sides: SideSet = []
        if next.state.percentHundredths > old.state.percentHundredths { sides.insert(.new) }
        if next.state.percentHundredths < old.state.percentHundredths { sides.insert(.legacy) }
        if next.state.condition == .rolledBack, old.state.condition != .rolledBack { sides.insert(.legacy) }
        for (user, pin) in next.pins where old.pins[user]?.side != pin.side { sides.insert(SideSet(pin.side)) }
        // Whoever is let go may turn out on either side.
        if old.pins.keys.contains(where: { next.pins[$0] == nil }) { sides.formUnion(.both) }
        return sides
    }

    // MARK: What other gateways decided

    /// Another gateway has changed rollout or pins: reads them and puts them in force here too.
    package func adoptShared() async {
        guard !isAdopting else {
            adoptsAgain = true
            return
        }
        isAdopting = true
        defer { isAdopting = false }
        repeat {
            adoptsAgain = false
            while await !readShared() {
                // The store is away again, or this connection to it was: what was announced is not announced twice.
                if isEnded { return }
                try? await Task.sleep(for: .milliseconds(250))
            }
            _ = await bringIntoForce(state)
            // Nothing to move is to be acknowledged all the same: the others wait for it.
            if let version = try? await journal.read({ reader throws(JournalError) in try reader.sharedVersion() }) {
                cluster?.acknowledge(version)
            }
        } while adoptsAgain
    }

    /// Takes over what the store holds, unless what is decided here is newer and only not durable yet.
    /// - Returns: false when the store could not be read.
    func readShared() async -> Bool {
        do throws(JournalError) {
            let (record, stored) = try await journal.read { reader throws(JournalError) in
                (try reader.loadRollout(), try reader.pins())
            }
            pins = Dictionary(stored.map { ($0.user, $0) }, uniquingKeysWith: { $1 })
            guard let record, let kept = Self.state(in: record) else { return true }
            var seen = machine.adopting(kept, atMilliseconds: clinux_wall_milliseconds())
            // The plan of this gateway's file may differ; the generation is the store's all the same.
            seen.generation = record.generation
            see(record, as: seen)
            return true
        } catch {
            if error.kind == .closed { isEnded = true }
            return false
        }
    }

    /// Before this gateway serves anybody: every other one is armed for the state that it begins in.
    func joinShared() async {
        guard let cluster, await readShared() else { return }
        putInForce(state)
        guard let version = try? await journal.read({ reader throws(JournalError) in try reader.sharedVersion() })
        else {
            return
        }
        cluster.acknowledge(version)
        _ = await cluster.isAcknowledged(version, timeoutMilliseconds: Int64(Self.raiseWaitMilliseconds))
        _ = await cluster.refreshForeign()
    }
}
