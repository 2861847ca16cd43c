import Gateway
import Journal
import JournalThreads

/// How what an earlier process, or another gateway, has left comes back, before anybody may connect.
extension GatewayParts {
    /// Tells the controller whom it commands.
    func attach() async {
        await controller.attach(dataPlane)
        await controller.attach(reverseSync)
        await controller.attach(onChange: { [alerts] in alerts.changed($0) })
    }

    /// The store is this gateway's alone: takes up what was outstanding when its last process ended.
    func recover() async throws(JournalError) {
        await controller.persistStart()
        try await countOutstanding()
        try await takeOverUnanswered()
        await reverseSync.resume()
    }

    /// The legs themselves come page by page while the gateway runs.
    private func countOutstanding() async throws(JournalError) {
        let pageMax = 10_000
        var last: Sequence64 = 0
        while true {
            let after = last
            let page = try await journal.read { reader throws(JournalError) in
                try reader.outstandingPlaces(after: after, limit: pageMax)
            }
            dataPlane.shared.coordinator.count(left: page)
            last = page.last?.sequence ?? last
            if page.count < pageMax { return }
        }
    }

    /// Changes that nobody was answered yet: as many as were under way.
    private func takeOverUnanswered() async throws(JournalError) {
        let pageMax = 1_000
        var last: Sequence64 = 0
        while true {
            let after = last
            let page = try await journal.read { reader throws(JournalError) in
                try reader.unanswered(after: after, limit: pageMax)
            }
            for change in page { dataPlane.recover(change) }
            last = page.last?.sequence ?? last
            if page.count < pageMax { return }
        }
    }

    /// Several gateways share the store: takes a place among them. What this gateway had left belongs to whoever took it over.
    /// - Parameter onFenced: another gateway has this one's place; any thread.
    func join(
        _ cluster: any JournalCluster, onFenced: @escaping @Sendable () -> Void
    ) async throws(JournalError) {
        dataPlane.shared.coordinator.standing.join(cluster)
        try cluster.start(clusterEvents(onFenced: onFenced))
        await controller.persistStart()
        await controller.joinShared()
    }

    /// What the other gateways make known, and who has to hear of it.
    private func clusterEvents(onFenced: @escaping @Sendable () -> Void) -> ClusterEvents {
        let (dataPlane, controller, journal) = (dataPlane, controller, storage.journal)
        let coordinator = dataPlane.shared.coordinator
        return ClusterEvents(
            leaseRenewed: { coordinator.standing.leaseRenewed(until: $0) },
            fenced: {
                coordinator.standing.fence()
                onFenced()
            },
            settled: { coordinator.settle(foreign: $0) },
            awaitAdmissions: { _ = waitFor { try? await journal.write { _ in } } },
            takenOver: { dataPlane.takeOver($1, takeover: $0, behind: $2) },
            foreign: { coordinator.standing.setForeign($0) },
            stateChanged: { _ in Task { await controller.adoptShared() } })
    }
}
