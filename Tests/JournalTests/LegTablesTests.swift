import Journal
import Rollout
import Testing

/// Runs that have found a fault which the first eighty did not.
private let seedsThatFailed = [536]

private let small = WindowLimits(windowMax: 12, pageMax: 4, crowded: 6, userMax: 3, refillBelow: 9)

@Suite struct Windows {
    /// Order, once only, never behind the truth, bounded, and everything arrives; over crashes. From seeds.
    @Test func whateverHappensEveryLegIsSentOnceInOrderAndTheWindowStaysBounded() {
        var wasDeferred = 0
        for seed in 1...80 {
            var gateway = PlayedGateway(seed: UInt64(seed), limits: small)
            for step in 0..<1_200 {
                gateway.step()
                if step % 7 == 0 { gateway.check() }
                if step % 400 == 399, seed % 2 == 0 { gateway.crash() }
                guard gateway.problems.isEmpty else { break }
            }
            gateway.finish()
            wasDeferred += gateway.deferredMost > 0 ? 1 : 0
            #expect(gateway.problems.isEmpty, "seed \(seed)")
            let late = gateway.rows.filter(\.legs.hasOutstanding).map(\.sequence)
            #expect(late.isEmpty, "seed \(seed): a leg never arrived")
            if !late.isEmpty { break }
            let changes = gateway.tables.lanes.count
            #expect(changes == 0, "seed \(seed)")
            for side in Side.allCases {
                let isOpen = gateway.tables.isOpen(side)
                #expect(isOpen, "seed \(seed): \(side) stayed closed")
                let (backlog, held) = (gateway.tables.backlog(side), gateway.tables.held(side))
                #expect(backlog == (0, nil) && held == 0, "seed \(seed)")
            }
            if !gateway.problems.isEmpty { break }
        }
        #expect(wasDeferred > 70, "the window is so small that nearly every run defers something: \(wasDeferred)")
    }

    /// The same with another gateway on the store, that dies again and again and whose changes are taken over page by page.
    @Test func whateverIsTakenOverWhileLegsAreDeferredEveryLegArrivesInOrder() {
        var (wasDeferred, takenOver) = (0, 0)
        for seed in Array(1...80) + seedsThatFailed {
            var gateway = PlayedGateway(seed: UInt64(seed), limits: small)
            gateway.neighbour = PlayedNeighbour(pageMax: 5)
            for step in 0..<1_200 {
                gateway.step()
                if step % 7 == 0 { gateway.check() }
                guard gateway.problems.isEmpty else { break }
            }
            gateway.finish()
            wasDeferred += gateway.deferredMost > 0 ? 1 : 0
            takenOver += gateway.neighbour?.takenOver ?? 0
            #expect(gateway.problems.isEmpty, "seed \(seed)")
            let late = gateway.rows.filter(\.legs.hasOutstanding).map(\.sequence)
            #expect(late.isEmpty, "seed \(seed): a leg never arrived")
            guard gateway.problems.isEmpty, late.isEmpty else { break }
        }
        #expect(wasDeferred > 70 && takenOver > 1_000, "\(wasDeferred) runs deferred, \(takenOver) taken over")
    }

    @Test func oneUserThatIsStuckForEverDoesNotKeepTheOthersWaiting() {
        for seed in 1...10 {
            var gateway = PlayedGateway(seed: UInt64(seed), limits: small)
            gateway.stuckUser = "user 1"
            for _ in 0..<1_500 { gateway.step() }
            gateway.finish()
            #expect(gateway.problems.isEmpty, "seed \(seed)")
            for row in gateway.rows where row.user != "user 1" {
                #expect(!gateway.truth[Int(row.sequence) - 1].hasOutstanding, "seed \(seed): \(row.sequence) starves")
            }
            gateway.stuckUser = nil
            gateway.finish()
            #expect(gateway.rows.allSatisfy { !$0.legs.hasOutstanding }, "seed \(seed): the stuck ones never arrived")
        }
    }
}
