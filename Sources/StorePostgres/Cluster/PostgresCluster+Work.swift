internal import Journal
internal import JournalThreads

// The working thread: one job after the other.
extension PostgresCluster {
    private enum Turn {
        case job(ClusterAgenda.Job, id: Int64)
        case refuse([@Sendable (Bool) -> Void])
        case leave
    }

    func runWork() {
        while true {
            onTurn()
            switch nextTurn() {
            case .leave: return
            case .refuse(let late): for answer in late { answer(false) }
            case .job(let job, let id):
                do throws(JournalError) {
                    try perform(job, id)
                    monitor.locked { shared.agenda.succeeded() }
                } catch {
                    failed(job)
                }
            }
        }
    }

    /// Waits for something to do.
    private func nextTurn() -> Turn {
        monitor.locked {
            while true {
                if shared.isLeaving { return .leave }
                let now = monotonicNanoseconds()
                let late = shared.agenda.passed(now)
                if !late.isEmpty {
                    shared.figures.lateAnnouncements += UInt64(late.count)
                    return .refuse(late)
                }
                if let id = shared.lease.id {
                    if let job = shared.agenda.next(now) { return .job(job, id: id) }
                    monitor.wait(until: shared.agenda.wakeAt(now))
                } else {
                    // Fenced: the lease thread joins anew. Only those who wait have to be told in time.
                    monitor.wait(until: min(shared.agenda.deadline, now + ClusterTimes.glanceNanoseconds))
                }
            }
        }
    }

    private func failed(_ job: ClusterAgenda.Job) {
        let askers: [@Sendable (Bool) -> Void] = monitor.locked {
            shared.agenda.failed(monotonicNanoseconds())
            guard job == .lookUp else { return [] }
            defer { shared.agenda.askers = [] }
            return shared.agenda.askers
        }
        for answer in askers { answer(false) }
    }

    private func perform(_ job: ClusterAgenda.Job, _ id: Int64) throws(JournalError) {
        switch job {
        case .arriveTakingOver(let takesExpired): try arriveTakingOver(id, takesExpired: takesExpired)
        case .takeOver(let gone): try takeOver(gone, id)
        case .report: try report(id)
        case .lookUp: try lookUp(id)
        case .acknowledge: try storeAcknowledged(id)
        case .tellFailing: try storeFailing(id)
        case .openRound: try openRound(id)
        case .openArrival: try openArrival(id)
        case .check: try check(id)
        case .watch: try lookAtWatched()
        case .clean:
            // First, so that a store which refuses it is not asked again and again.
            monitor.locked { shared.agenda.cleaned(monotonicNanoseconds()) }
            _ = try workConnection.query(ClusterQueries.clean)
        }
    }

    /// Changes the agenda, unless the lease that it was done for was lost meanwhile.
    func settle(_ id: Int64, _ body: (inout ClusterAgenda) -> Void) {
        monitor.locked {
            if shared.lease.id == id { body(&shared.agenda) }
        }
    }

    // MARK: Announcements and versions

    /// Looks up what is outstanding at others, tells it, and only then says that it has.
    private func lookUp(_ id: Int64) throws(JournalError) {
        let (number, untold, acknowledged, askers) = monitor.locked {
            let agenda = shared.agenda
            return (agenda.announcement, agenda.reports.map { -$0.number }, agenda.acknowledged, agenda.askers.count)
        }
        let begin = monotonicNanoseconds()
        let limit = ClusterLimits.foreignUsers
        let rows = try workConnection.query(
            ClusterQueries.foreign,
            PostgresParameters().int64(id).int64s(untold).int64(Int64(limit + 1)))
        let pause = max(ClusterTimes.refreshNanoseconds, 10 * (monotonicNanoseconds() - begin))
        let foreign = Self.foreign(rows, limit: limit)
        telling.locked {
            guard let events = monitor.locked({ shared.lease.id == id ? shared.events : nil }) else { return }
            events.foreign(foreign)
            // The end of an arrival: what is told now was looked up when everybody knew of this gateway.
            tell(
                monitor.locked {
                    guard shared.agenda.arrival == .lookUp, shared.agenda.reports.isEmpty else { return .nothing }
                    shared.agenda.arrival = nil
                    defer { monitor.wakeAll() }
                    return shared.lease.arrived(id, now: monotonicNanoseconds())
                })
        }
        if monitor.locked({ shared.agenda.seen != number }) { try setSeen(id, number, acknowledged) }
        let answered: [@Sendable (Bool) -> Void] = monitor.locked {
            if shared.lease.id == id {
                shared.agenda.lookUpAt = foreign.isEmpty ? nil : monotonicNanoseconds() + pause
            }
            defer { shared.agenda.askers.removeFirst(askers) }
            return Array(shared.agenda.askers.prefix(askers))
        }
        for answer in answered { answer(true) }
    }

    static func foreign(_ rows: PostgresRows, limit: Int) -> ForeignOutstanding {
        guard rows.count <= limit else { return ForeignOutstanding(everybody: .both) }
        var foreign = ForeignOutstanding()
        for row in 0..<rows.count {
            let stored = rows.text(row, 0)
            let user = stored.isEmpty ? nil : stored
            if rows.boolean(row, 1) { foreign.legacy.insert(user) }
            if rows.boolean(row, 2) { foreign.new.insert(user) }
        }
        return foreign
    }

    private func setSeen(_ id: Int64, _ number: Int64, _ acknowledged: Int64) throws(JournalError) {
        _ = try workConnection.query(
            ClusterQueries.setSeen, PostgresParameters().int64(id).int64(number).int64(acknowledged))
        settle(id) { agenda in
            agenda.seen = number
            agenda.storedAcknowledged = acknowledged
        }
    }

    private func storeAcknowledged(_ id: Int64) throws(JournalError) {
        let (seen, acknowledged) = monitor.locked { (shared.agenda.seen, shared.agenda.acknowledged) }
        // Not before the first look: the row would name an announcement that was not looked after.
        try setSeen(id, seen ?? 0, acknowledged)
        if seen == nil { settle(id) { $0.seen = nil } }
    }

    private func storeFailing(_ id: Int64) throws(JournalError) {
        let (label, failing) = monitor.locked { (shared.agenda.label, shared.agenda.failing) }
        _ = try workConnection.query(
            ClusterQueries.setFailing,
            PostgresParameters().int64(id).text(label).text(failing.joined(separator: " ")))
        settle(id) { $0.storedFailing = failing }
    }

    private func openRound(_ id: Int64) throws(JournalError) {
        let waiting = monitor.locked { shared.agenda.announcements.takeForRound() }
        do throws(JournalError) {
            let number = try workConnection.query(ClusterQueries.openRound).integer(0, 0)
            monitor.locked {
                shared.agenda.announcements.opened(number, waiting)
                shared.agenda.checkAt = 0
            }
        } catch {
            monitor.locked { shared.agenda.announcements.notOpened(waiting) }
            throw error
        }
    }

    private func openArrival(_ id: Int64) throws(JournalError) {
        let number = try workConnection.query(ClusterQueries.openRound).integer(0, 0)
        settle(id) { agenda in
            if agenda.arrival == .announce { agenda.arrival = .wait(number: number) }
            agenda.checkAt = 0
        }
    }

    private func check(_ id: Int64) throws(JournalError) {
        let rows = try workConnection.query(ClusterQueries.allSeen, PostgresParameters().int64(id))
        let answered = monitor.locked {
            shared.agenda.checked(
                announcement: rows.integerOrNil(0, 0), version: rows.integerOrNil(0, 1), now: monotonicNanoseconds())
        }
        for answer in answered { answer(true) }
    }

    // MARK: Changes of others that hold up lanes

    private func lookAtWatched() throws(JournalError) {
        let asked = monitor.locked { shared.agenda.watch.next() }
        var outstanding: [Sequence64: SideSet] = [:]
        do throws(JournalError) {
            let rows = try workConnection.query(ClusterQueries.watched, PostgresParameters().int64s(asked))
            for row in 0..<rows.count {
                outstanding[rows.integer(row, 0)] =
                    (rows.boolean(row, 1) ? SideSet.legacy : []).union(rows.boolean(row, 2) ? .new : [])
            }
        } catch {
            monitor.locked { shared.agenda.watch.failed(asked, retryAt: monotonicNanoseconds()) }
            throw error
        }
        telling.locked {
            let (news, events) = monitor.locked {
                (
                    shared.agenda.watch.answered(asked, outstanding: outstanding, now: monotonicNanoseconds()),
                    shared.events
                )
            }
            if !news.isEmpty { events?.settled(news) }
        }
    }
}
