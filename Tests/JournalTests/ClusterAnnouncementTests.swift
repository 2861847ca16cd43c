import Journal
import Synchronization
import Testing

@Suite struct ClusterAnnouncing {
    private let second: UInt64 = 1_000_000_000

    private final class Answers: Sendable {
        let given = Mutex<[String: Bool]>([:])
        func completion(_ name: String) -> @Sendable (Bool) -> Void {
            { answer in self.given.withLock { #expect($0.updateValue(answer, forKey: name) == nil) } }
        }
        var all: [String: Bool] { given.withLock { $0 } }
    }

    @Test func whoComesWhileARoundIsOpenedWaitsForTheNextOne() {
        var rounds = ClusterAnnouncements()
        let answers = Answers()
        #expect(rounds.add(now: 0, answers.completion("a")) == true)
        #expect(rounds.add(now: 0, answers.completion("b")) == true)
        let first = rounds.takeForRound()
        #expect(rounds.add(now: 0, answers.completion("c")) == true)
        rounds.opened(11, first)
        #expect(rounds.wantsRound)
        rounds.seen(upTo: 10).forEach { $0(true) }
        #expect(answers.all.isEmpty)
        rounds.seen(upTo: 11).forEach { $0(true) }
        #expect(answers.all == ["a": true, "b": true])
        rounds.opened(12, rounds.takeForRound())
        rounds.seen(upTo: 12).forEach { $0(true) }
        #expect(answers.all["c"] == true && rounds.isEmpty)
    }

    @Test func aLateRoundIsAnsweredNoAndALaterYesIsNotHeard() {
        var rounds = ClusterAnnouncements()
        let answers = Answers()
        _ = rounds.add(now: 0, answers.completion("a"))
        rounds.opened(1, rounds.takeForRound())
        _ = rounds.add(now: second, answers.completion("b"))
        #expect(rounds.deadline == 2 * second)
        #expect(rounds.passed(2 * second - 1).isEmpty)
        rounds.passed(2 * second).forEach { $0(false) }
        #expect(answers.all == ["a": false])
        #expect(rounds.seen(upTo: 1).isEmpty)
        #expect(rounds.deadline == 3 * second)
        rounds.end().forEach { $0(false) }
        #expect(answers.all == ["a": false, "b": false] && rounds.isEmpty && rounds.deadline == nil)
    }

    @Test func aRoundThatCouldNotBeOpenedWaitsOnInItsPlace() {
        var rounds = ClusterAnnouncements()
        let answers = Answers()
        _ = rounds.add(now: 0, answers.completion("a"))
        let taken = rounds.takeForRound()
        _ = rounds.add(now: second, answers.completion("b"))
        rounds.notOpened(taken)
        #expect(rounds.deadline == 2 * second)
        #expect(rounds.takeForRound().count == 2)
    }

    @Test func theLimitCountsThoseInRoundsToo() {
        var rounds = ClusterAnnouncements()
        for _ in 0..<ClusterLimits.waitingAnnouncements / 2 { _ = rounds.add(now: 0) { _ in } }
        rounds.opened(1, rounds.takeForRound())
        for _ in 0..<ClusterLimits.waitingAnnouncements / 2 { #expect(rounds.add(now: 0, { _ in }) == true) }
        #expect(rounds.add(now: 0, { _ in }) == false)
        _ = rounds.seen(upTo: 1)
        #expect(rounds.add(now: 0, { _ in }) == true)
    }
}
