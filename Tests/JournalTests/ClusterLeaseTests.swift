import Journal
import TestSupport
import Testing

@Suite struct ClusterLeases {
    private let second: UInt64 = 1_000_000_000

    /// A lease that is held, renewed last at `sentAt`.
    private func held(_ id: Int64 = 7, sentAt: UInt64) -> ClusterLease {
        var lease = ClusterLease()
        _ = lease.joined(id, sentAt: sentAt)
        _ = lease.arrived(id, now: sentAt)
        return lease
    }

    @Test func whoHasJoinedDeliversOnlyOnceItKnowsWhatTheOthersKnow() {
        var lease = ClusterLease()
        #expect(lease.joined(7, sentAt: second) == .arrive(id: 7))
        #expect(!lease.isHeld(at: second))
        #expect(lease.renewed(7, sentAt: 2 * second, now: 2 * second) == .nothing)
        #expect(lease.arrived(7, now: 3 * second) == .extend(until: 7 * second))
        #expect(lease.isHeld(at: 3 * second))
    }

    @Test func theRightIsCountedFromWhenTheRenewalWasSent() {
        var lease = held(sentAt: 0)
        #expect(lease.renewed(7, sentAt: second, now: 4 * second) == .extend(until: 6 * second))
        #expect(lease.isHeld(at: 6 * second - 1))
        #expect(!lease.isHeld(at: 6 * second))
    }

    @Test func theRightEndsBeforeTheStoreLetsOthersTakeTheChanges() {
        #expect(ClusterTimes.rightNanoseconds < UInt64(ClusterTimes.leaseSeconds) * second)
        #expect(ClusterTimes.renewalNanoseconds * 4 <= ClusterTimes.rightNanoseconds)
    }

    @Test func aRenewalAfterAGapArrivesAnew() {
        var lease = held(sentAt: 0)
        lease.passed(5 * second)
        #expect(lease.state == .lapsed(id: 7))
        #expect(lease.renewed(7, sentAt: 9 * second, now: 9 * second) == .arrive(id: 7))
        #expect(!lease.isHeld(at: 9 * second))
        #expect(lease.arrived(7, now: 10 * second) == .extend(until: 14 * second))
    }

    @Test func aStoppedProcessThatHearsItsAnswerLateHasNoRight() {
        // Stopped between the renewal and its answer, for half a minute: nothing told it that time has passed.
        var lease = held(sentAt: 0)
        #expect(lease.renewed(7, sentAt: second, now: 31 * second) == .nothing)
        #expect(lease.state == .lapsed(id: 7))
        #expect(lease.renewed(7, sentAt: 31 * second, now: 31 * second) == .arrive(id: 7))
    }

    @Test func aGapIsSeenThoughTheRenewalAfterItIsQuick() {
        var lease = held(sentAt: 0)
        #expect(lease.renewed(7, sentAt: 6 * second, now: 6 * second) == .arrive(id: 7))
    }

    @Test func whatWasLookedUpBeforeTheStoreWentAwayDoesNotCount() {
        var lease = ClusterLease()
        _ = lease.joined(7, sentAt: 0)
        #expect(lease.arrived(7, now: 5 * second) == .nothing)
        #expect(lease.state == .lapsed(id: 7))
    }

    @Test func aGapWhileItArrivesBeginsTheArrivalAnew() {
        var lease = ClusterLease()
        _ = lease.joined(7, sentAt: 0)
        #expect(lease.renewed(7, sentAt: second, now: second) == .nothing)
        // The others have stopped waiting for it, and may have forgotten that it had made itself known.
        #expect(lease.renewed(7, sentAt: 9 * second, now: 9 * second) == .arrive(id: 7))
    }

    @Test func theFenceIsToldOnce() {
        var lease = held(sentAt: 0)
        #expect(lease.ended(7) == .fence(id: 7))
        #expect(lease.ended(7) == .nothing)
        #expect(!lease.isHeld(at: 0))
        #expect(lease.joined(8, sentAt: second) == .arrive(id: 8))
        #expect(lease.ended(7) == .nothing)
        #expect(lease.renewed(7, sentAt: second, now: second) == .nothing)
        #expect(lease.arrived(7, now: second) == .nothing)
        #expect(lease.id == 8)
    }

    @Test func whoHasLeftHasNothingAndJoinsNoMore() {
        var lease = held(sentAt: 0)
        #expect(lease.leave() == 7)
        #expect(lease.state == .left)
        #expect(lease.renewed(7, sentAt: second, now: second) == .nothing)
        #expect(lease.ended(7) == .nothing)
        #expect(lease.joined(9, sentAt: second) == .nothing)
        #expect(lease.leave() == nil)
    }

    /// Whatever comes in whatever order: the right never lasts longer than from the last renewal that succeeded, and after every
    /// gap there is an arrival.
    @Test(arguments: 0..<200 as Range<UInt64>) func noOrderOfEventsGivesARightThatTheStoreDoesNotKnow(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var lease = ClusterLease()
        var now: UInt64 = 0
        var nextID: Int64 = 1
        var lastSuccess: UInt64 = 0
        var arrivedSinceGap = false
        for _ in 0..<400 {
            now += UInt64.random(in: 0...(2 * second), using: &random)
            let action: ClusterLease.Action
            switch Int.random(in: 0..<10, using: &random) {
            case 0 where lease.state == .outside:
                lastSuccess = now
                action = lease.joined(nextID, sentAt: now)
                nextID += 1
                arrivedSinceGap = false
            case 1..<6:
                guard let id = lease.id else { continue }
                let sent = now
                now += UInt64.random(in: 0...(Bool.random(using: &random) ? second : 7 * second), using: &random)
                if now >= lastSuccess + ClusterTimes.rightNanoseconds { arrivedSinceGap = false }
                lastSuccess = sent
                action = lease.renewed(id, sentAt: sent, now: now)
            case 6, 7:
                guard let id = lease.id else { continue }
                if case .arriving = lease.state, now < lastSuccess + ClusterTimes.rightNanoseconds {
                    arrivedSinceGap = true
                }
                action = lease.arrived(id, now: now)
            case 8 where Int.random(in: 0..<5, using: &random) == 0:
                guard let id = lease.id else { continue }
                action = lease.ended(id)
                #expect(action == .fence(id: id))
            default:
                lease.passed(now)
                action = .nothing
            }
            if case .extend(let until) = action {
                #expect(until == lastSuccess + ClusterTimes.rightNanoseconds)
            }
            if lease.isHeld(at: now) {
                #expect(now < lastSuccess + ClusterTimes.rightNanoseconds)
                #expect(arrivedSinceGap)
            }
        }
    }
}

@Suite struct ClusterSights {
    private let second: UInt64 = 1_000_000_000

    private func lease(_ id: Int64, _ expires: Int64, expired: Bool) -> ClusterObservations.Lease {
        ClusterObservations.Lease(id: id, expiresMicroseconds: expires, isExpired: expired)
    }

    @Test func aLeaseIsTakenWhenItIsExpiredAndWasNotRenewedForLong() {
        var sights = ClusterObservations()
        #expect(sights.saw([lease(1, 100, expired: false)], now: 0).isEmpty)
        #expect(sights.saw([lease(1, 100, expired: true)], now: 5 * second - 1).isEmpty)
        #expect(sights.saw([lease(1, 100, expired: true)], now: 5 * second) == [lease(1, 100, expired: true)])
    }

    @Test func aStoreWhoseClockIsSetForwardFencesNobody() {
        var sights = ClusterObservations()
        for tick in 0..<20 as Range<Int64> {
            // All look expired for a moment, and are renewed a second later at most.
            #expect(sights.saw([lease(1, tick, expired: tick == 10)], now: UInt64(tick) * second).isEmpty)
        }
    }

    @Test func aStoreThatWasAwayGivesEveryoneTimeToComeBack() {
        var sights = ClusterObservations()
        _ = sights.saw([lease(1, 100, expired: false)], now: 0)
        sights.lostSight()
        #expect(sights.saw([lease(1, 100, expired: true)], now: 60 * second).isEmpty)
        #expect(sights.saw([lease(1, 100, expired: true)], now: 65 * second).count == 1)
    }

    @Test func whoIsGoneFromTheListIsForgotten() {
        var sights = ClusterObservations()
        _ = sights.saw([lease(1, 100, expired: true)], now: 0)
        _ = sights.saw([], now: second)
        #expect(sights.saw([lease(1, 100, expired: true)], now: 9 * second).isEmpty)
    }

    @Test func whatIsExpiredIsTakenWithinTenSecondsOfTheLastRenewal() {
        var sights = ClusterObservations()
        // Looks come every second, the first one just before the last renewal.
        var taken: UInt64?
        for tick in 0..<20 as Range<UInt64> where taken == nil {
            let now = tick * second
            let expires: Int64 = tick == 0 ? 5 : 6
            if !sights.saw([lease(1, expires, expired: tick > UInt64(expires))], now: now).isEmpty { taken = now }
        }
        #expect(taken.map { $0 <= 8 * second } == true)
    }
}
