import Testing

@testable import ControlPlane

@Suite struct AlertQueueTests {
    private var queue = AlertQueue()

    private mutating func sendable(now: Int64, atMost: Int = 1) -> [AlertQueue.Entry] {
        if case .send(let entries) = queue.next(now: now, atMost: atMost) { entries } else { [] }
    }

    private mutating func pause(now: Int64) -> Int64? {
        if case .wait(let pause) = queue.next(now: now, atMost: 1) { pause } else { 0 }
    }

    @Test mutating func alertsGoInTheirOrder() {
        for number in 1...5 { queue.push(alert(number), now: 0) }
        var seen: [String] = []
        while true {
            let entries = sendable(now: 0, atMost: 2)
            guard !entries.isEmpty else { break }
            seen += entries.map(\.alert.summary)
            queue.conclude(entries, .taken, now: 0, random: 0)
        }
        #expect(seen == (1...5).map { "number \($0)" })
        #expect(queue.counts == AlertCounts(sent: 5))
        #expect(pause(now: 0) == nil)
    }

    @Test mutating func aFailureIsTriedAgainLaterAndLaterFromOneSecondToOneMinute() {
        queue.push(alert(), now: 0)
        var now: Int64 = 0
        var pauses: [Int64] = []
        for _ in 0..<9 {
            queue.conclude(sendable(now: now), .later(after: nil), now: now, random: 0)
            pauses.append(pause(now: now) ?? -1)
            now += pauses.last ?? 0
        }
        #expect(pauses == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 48_000, 48_000, 48_000])
        #expect(queue.counts == AlertCounts(retried: 9))
        queue.conclude(sendable(now: now), .later(after: nil), now: now, random: 0.9999)
        #expect(
            pause(now: now).map { (59_000...60_000).contains($0) } == true, "apart from each other, a minute at most")
    }

    @Test mutating func aSuccessEndsTheBackOff() {
        queue.push(alert(1), now: 0)
        queue.push(alert(2), now: 0)
        for now: Int64 in [0, 100_000, 200_000] {
            queue.conclude(sendable(now: now), .later(after: nil), now: now, random: 0)
        }
        #expect(pause(now: 200_000) == 4_000)
        queue.conclude(sendable(now: 300_000), .taken, now: 300_000, random: 0)
        queue.conclude(sendable(now: 300_000), .later(after: nil), now: 300_000, random: 0)
        #expect(pause(now: 300_000) == 1_000)
    }

    @Test mutating func theReceiversWordOnWhenIsHonoured() {
        queue.push(alert(), now: 0)
        queue.conclude(sendable(now: 0), .later(after: 30_000), now: 0, random: 0.5)
        #expect(pause(now: 0) == 30_000)
        #expect(sendable(now: 29_999).isEmpty && sendable(now: 30_000).count == 1)
    }

    @Test mutating func aReceiverThatSaysNowOrNeverIsNotTakenAtItsWord() {
        queue.push(alert(), now: 0)
        queue.conclude(sendable(now: 0), .later(after: 0), now: 0, random: 0)
        #expect(pause(now: 0) == 1_000)
        queue.conclude(sendable(now: 1_000), .later(after: 10_000_000), now: 1_000, random: 0)
        #expect(pause(now: 1_000).map { $0 <= AlertQueue.ageMax } == true)
    }

    @Test mutating func anAlertIsGivenUpAfterAQuarterOfAnHour() {
        queue.push(alert(1), now: 0)
        queue.push(alert(2), now: 600_000)
        queue.conclude(sendable(now: 899_999), .later(after: nil), now: 899_999, random: 0)
        #expect(sendable(now: 901_000).map(\.alert.summary) == ["number 2"])
        #expect(queue.counts == AlertCounts(retried: 1, dropped: 1))
        let isLostTooEarly = queue.takeLostRaised()
        queue.conclude(sendable(now: 902_000), .taken, now: 902_000, random: 0)
        let isLost = queue.takeLostRaised()
        let isLostTwice = queue.takeLostRaised()
        #expect(
            !isLostTooEarly && isLost && !isLostTwice, "what is still raised is told anew, when there is room")
    }

    @Test mutating func whatIsRefusedIsNotTriedAgain() {
        queue.push(alert(1), now: 0)
        queue.push(alert(2), now: 0)
        queue.conclude(sendable(now: 0), .refused, now: 0, random: 0)
        #expect(sendable(now: 0).map(\.alert.summary) == ["number 2"])
        #expect(queue.counts == AlertCounts(refused: 1))
    }

    @Test mutating func whenItIsFullWhatMattersLeastGoesFirst() {
        queue.push(alert(1, .warning), now: 0)
        queue.push(alert(2, .critical), now: 0)
        queue.push(alert(3, .critical, endsAt: 5), now: 0)
        queue.push(alert(4, .info), now: 0)
        for number in 5...AlertQueue.limit { queue.push(alert(number), now: 0) }
        #expect(queue.entries.count == AlertQueue.limit && queue.counts.dropped == 0)
        var gone: [Int] = []
        for number in 1...4 {
            queue.push(alert(1000 + number), now: 0)
            let left = Set(queue.entries.map(\.alert.summary))
            gone += (1...AlertQueue.limit).filter { !left.contains("number \($0)") && !gone.contains($0) }
        }
        #expect(gone == [3, 4, 1, 2], "the resolved one, the message, the warning, then the oldest")
        #expect(queue.counts.dropped == 4 && queue.entries.count == AlertQueue.limit)
        queue.push(alert(9999, .info), now: 0)
        #expect(queue.entries.last?.alert.summary == "number 1004", "what comes late and matters least is not let in")
    }

    @Test mutating func whatIsDroppedWhileItIsOnItsWayIsCountedOnce() {
        queue.push(alert(1, .info), now: 0)
        let onItsWay = sendable(now: 0)
        for number in 2...(AlertQueue.limit + 1) { queue.push(alert(number), now: 0) }
        #expect(queue.counts.dropped == 1)
        queue.conclude(onItsWay, .refused, now: 0, random: 0)
        #expect(queue.counts == AlertCounts(dropped: 1) && queue.entries.count == AlertQueue.limit)
    }

    @Test mutating func whatIsToldAgainTakesThePlaceOfItsLastTelling() {
        for round in 0..<100 {
            var one = alert(1)
            one.summary = "round \(round)"
            queue.push(one, isRepeat: true, now: Int64(round))
            queue.push(alert(2), isRepeat: true, now: Int64(round))
        }
        #expect(queue.entries.map(\.alert.summary) == ["round 99", "number 2"])
    }

    @Test mutating func aRepeatThatDoesNotFitIsNoLoss() {
        for number in 1...AlertQueue.limit { queue.push(alert(number), now: 0) }
        for second in 0..<600 { queue.push(alert(5), isRepeat: true, now: Int64(second) * 1000) }
        #expect(queue.counts.dropped == 0 && queue.entries.count == AlertQueue.limit)
    }

    @Test mutating func withoutAReceiverNothingWaits() {
        for number in 1...3 { queue.push(alert(number), now: 0) }
        queue.clear()
        #expect(queue.entries.isEmpty && queue.counts.dropped == 3)
    }
}
