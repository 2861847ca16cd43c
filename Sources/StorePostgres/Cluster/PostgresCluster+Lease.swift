internal import Journal
internal import JournalThreads

/// What the lease thread knows by itself.
struct LeaseTurn {
    var renewAt: UInt64 = 0
    var glanceAt: UInt64 = 0
    /// When the store answered last; nil: never.
    var answeredAt: UInt64?
    /// The version of the shared state that was told last.
    var version: Int64?
    var observations = ClusterObservations()
    var backoff = ClusterBackoff(ClusterTimes.retryNanoseconds)
}

/// A gateway's row, as a glance shows it.
private struct Glanced {
    var lease: ClusterObservations.Lease
    var hasEnded: Bool
    var failing: FailingGates

    var isLiving: Bool { !hasEnded && !lease.isExpired }
}

extension PostgresCluster {
    /// After this long without an answer the store was away: the others may not have reached it either.
    private static let awayNanoseconds: UInt64 = 2_000_000_000

    /// Makes a row.
    /// - Parameter endsNamesakes: at the start. A gateway that was fenced has no earlier run; and should somebody have copied
    ///   its data directory, the two must not fence each other for ever.
    func join(endsNamesakes: Bool) throws(JournalError) {
        let acknowledged = monitor.locked { shared.agenda.acknowledged }
        let sentAt = monotonicNanoseconds()
        let parameters = PostgresParameters().text(name).boolean(endsNamesakes).int64(acknowledged)
        let id: Int64
        do throws(JournalError) {
            id = try leaseConnection.query(ClusterQueries.join, parameters).integer(0, 0)
        } catch {
            // The earlier run was stopped in the middle of a group: its session still holds its row.
            guard error.kind == .busy, endsNamesakes else { throw error }
            try freeNamesakes()
            id = try leaseConnection.query(ClusterQueries.join, parameters).integer(0, 0)
        }
        telling.locked {
            let isIn: Bool = monitor.locked {
                guard case .arrive = shared.lease.joined(id, sentAt: sentAt) else { return false }
                shared.isAlone = false
                shared.agenda.begin(.takeOver(takesExpired: endsNamesakes), storedAcknowledged: acknowledged)
                // A new row names nothing.
                shared.agenda.storedFailing = []
                monitor.wakeAll()
                return true
            }
            if isIn { membership.join(as: id) }
        }
        leaseTurn.renewAt = sentAt + ClusterTimes.renewalNanoseconds
        leaseTurn.glanceAt = 0
    }

    private func freeNamesakes() throws(JournalError) {
        let rows = try leaseConnection.query(ClusterQueries.namesakes, PostgresParameters().text(name))
        _ = try leaseConnection.query(
            ClusterQueries.free, PostgresParameters().int64s((0..<rows.count).map { rows.integer($0, 0) }))
    }

    func runLease() {
        while !monitor.locked({ shared.isLeaving }) {
            onTurn()
            do throws(JournalError) {
                try leaseTurnOnce()
                leaseTurn.backoff.reset()
            } catch {
                lostContact()
                wake.wait(milliseconds: Int32(leaseTurn.backoff.pause() / 1_000_000))
                continue
            }
            waitForLeaseTurn()
        }
    }

    private func leaseTurnOnce() throws(JournalError) {
        let now = monotonicNanoseconds()
        let id: Int64? = monitor.locked {
            shared.lease.passed(now)
            return shared.lease.id
        }
        guard let id else { return try join(endsNamesakes: false) }
        guard now >= min(leaseTurn.renewAt, leaseTurn.glanceAt) else { return }
        let isRenewing = now >= leaseTurn.renewAt
        let parameters = PostgresParameters().int64(id)
        var commands = [(statement: ClusterQueries.glance, parameters: parameters)]
        if isRenewing { commands.insert((statement: ClusterQueries.renew, parameters: parameters), at: 0) }
        let results = try leaseConnection.run(commands, timeoutMilliseconds: Self.leaseTimeoutMilliseconds)
        guard let rows = results.last else { return }
        leaseTurn.glanceAt = now + ClusterTimes.glanceNanoseconds
        if isRenewing { leaseTurn.renewAt = now + ClusterTimes.renewalNanoseconds }
        glanced(rows, id: id, sentAt: now, isRenewed: isRenewing ? results[0].affected == 1 : nil)
    }

    /// Waits for a notification, for `leave`, or until something is due.
    private func waitForLeaseTurn() {
        let now = monotonicNanoseconds()
        let due = min(leaseTurn.renewAt, leaseTurn.glanceAt)
        if due > now, leaseConnection.isConnected {
            // A connection that breaks now is found broken by the next turn.
            try? leaseConnection.wait(milliseconds: Int32((due - now) / 1_000_000 + 1), wake: wake.descriptor)
        }
        for notification in leaseConnection.notifications() {
            switch PostgresSchema.Channel(rawValue: notification.channel) {
            case .state, .announcement, .left: leaseTurn.glanceAt = 0
            case .seen:
                monitor.locked {
                    shared.agenda.checkAt = 0
                    monitor.wakeAll()
                }
            case nil: break
            }
        }
    }

    private func lostContact() {
        monitor.locked {
            shared.lease.passed(monotonicNanoseconds())
            shared.figures.isConnected = false
        }
        leaseTurn.renewAt = 0
        leaseTurn.glanceAt = 0
    }
}

// MARK: - What a glance shows

extension PostgresCluster {
    /// - Parameter isRenewed: whether the renewal that was sent before the glance has found the row; nil: none was sent.
    private func glanced(_ rows: PostgresRows, id: Int64, sentAt: UInt64, isRenewed: Bool?) {
        let now = monotonicNanoseconds()
        if let before = leaseTurn.answeredAt, now - before > Self.awayNanoseconds { leaseTurn.observations.lostSight() }
        leaseTurn.answeredAt = now
        let gateways = (0..<rows.count).map { row in
            Glanced(
                lease: .init(
                    id: rows.integer(row, 0), expiresMicroseconds: rows.integer(row, 1), isExpired: rows.boolean(row, 2)
                ),
                hasEnded: rows.boolean(row, 3),
                failing: FailingGates(
                    gateway: rows.text(row, 6), gates: rows.text(row, 7).split(separator: " ").map(String.init)))
        }
        let isMine = isRenewed ?? gateways.contains { $0.lease.id == id && !$0.hasEnded }
        let others = gateways.filter { $0.lease.id != id }
        let expired = leaseTurn.observations.saw(others.filter { !$0.hasEnded }.map(\.lease), now: now)
        let gone =
            others.filter(\.hasEnded).map { ClusterAgenda.Gone(id: $0.lease.id, expiresMicroseconds: nil) }
            + expired.map { ClusterAgenda.Gone(id: $0.id, expiresMicroseconds: $0.expiresMicroseconds) }
        // The row that says so is this gateway's own, or another's: every row names the counters.
        let counters = rows.count > 0 ? (version: rows.integer(0, 4), announcement: rows.integer(0, 5)) : nil
        monitor.locked {
            shared.figures.isConnected = true
            shared.figures.lastContactMilliseconds = wallMilliseconds()
            let living = others.count(where: \.isLiving) + (isMine ? 1 : 0)
            shared.figures.members = living
            shared.figures.failing = others.filter { $0.isLiving && !$0.failing.gates.isEmpty }.map(\.failing)
            // A row that has expired may be renewed yet, but arrives anew then.
            shared.isAlone = isMine && living == 1
            if let counters { shared.agenda.announcement = counters.announcement }
            if isMine { shared.agenda.gone = gone.sorted { $0.id < $1.id } }
            monitor.wakeAll()
        }
        if let isRenewed, isRenewed { renewed(id, sentAt: sentAt) }
        if !isMine { ended(id) }
        if let counters, counters.version != leaseTurn.version {
            leaseTurn.version = counters.version
            telling.locked { monitor.locked { shared.events }?.stateChanged(counters.version) }
        }
    }

    private func renewed(_ id: Int64, sentAt: UInt64) {
        telling.locked {
            let action = monitor.locked {
                let action = shared.lease.renewed(id, sentAt: sentAt, now: monotonicNanoseconds())
                if case .arrive = action {
                    shared.isAlone = false
                    shared.agenda.begin(
                        .takeOver(takesExpired: false), storedAcknowledged: shared.agenda.storedAcknowledged)
                    monitor.wakeAll()
                }
                return action
            }
            tell(action)
        }
    }

    /// The row was ended by another gateway, or is gone.
    private func ended(_ id: Int64) {
        // To join at once.
        leaseTurn.glanceAt = 0
        telling.locked {
            let action = monitor.locked {
                let action = shared.lease.ended(id)
                if case .fence = action {
                    shared.isAlone = false
                    shared.agenda.abandon()
                    shared.figures.fenced += 1
                }
                return action
            }
            tell(action)
        }
    }

    /// Tells what an event of the lease came to. Inside `telling.locked`, so that what is told keeps its order.
    func tell(_ action: ClusterLease.Action) {
        guard let events = monitor.locked({ shared.events }) else { return }
        switch action {
        case .extend(let until): events.leaseRenewed(until)
        case .fence:
            // Groups are refused from here on, before anybody hears why.
            membership.leave()
            events.fenced()
        case .arrive, .nothing: break
        }
    }
}
