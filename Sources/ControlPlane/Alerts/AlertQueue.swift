/// Alerts on their way, and when the next try is due. Pure: no I/O, time and randomness come as arguments.
///
/// In order: an alert never overtakes the one before it. While the receiver does not take them all of them wait, none longer than
/// `ageMax`, and no more than `limit`: then what matters least goes first, and is counted.
struct AlertQueue {
    static let limit = 256
    /// After this an alert is given up, in milliseconds.
    static let ageMax: Int64 = 15 * 60_000
    private static let pauseMin: Int64 = 1_000
    private static let pauseMax: Int64 = 60_000

    struct Entry {
        let number: UInt64
        var alert: Alert
        let enteredAt: Int64
        /// Was told before: of two of the same only the newer is of use.
        let isRepeat: Bool
    }

    /// What became of a try.
    enum Outcome: Equatable {
        case taken
        /// Not now. With the receiver's own word on when, in milliseconds.
        case later(after: Int64?)
        /// Never: trying again would not help.
        case refused
    }

    /// What there is to do now.
    enum Step {
        case send([Entry])
        /// Nothing for so many milliseconds; nil: until something comes.
        case wait(Int64?)
    }

    private(set) var entries: [Entry] = []
    private(set) var counts = AlertCounts()
    /// Something that is raised was dropped before anybody was told.
    private(set) var hasLostRaised = false
    private var numbers: UInt64 = 0
    private var failures = 0
    private var notBefore: Int64 = .min

    mutating func push(_ alert: Alert, isRepeat: Bool = false, now: Int64) {
        if isRepeat, let index = entries.firstIndex(where: { $0.isRepeat && $0.alert.fingerprint == alert.fingerprint })
        {
            entries[index].alert = alert
            return
        }
        numbers += 1
        entries.append(Entry(number: numbers, alert: alert, enteredAt: now, isRepeat: isRepeat))
        if entries.count > Self.limit { dropLeast() }
    }

    /// The oldest of those that matter least.
    private mutating func dropLeast() {
        let least = entries.map { weight($0) }.min()
        guard let index = entries.firstIndex(where: { weight($0) == least }) else { return }
        drop(entries.remove(at: index))
    }

    private func weight(_ entry: Entry) -> Int {
        if entry.isRepeat { return 0 }
        switch (entry.alert.status, entry.alert.severity) {
        case (.resolved, _), (_, .info): return 1
        case (_, .warning): return 2
        case (_, .critical): return 3
        }
    }

    /// A repeat that is dropped is no loss of its own: the next one follows.
    private mutating func drop(_ entry: Entry) {
        if !entry.isRepeat { counts.dropped += 1 }
        if entry.alert.status == .firing { hasLostRaised = true }
    }

    /// - Parameter atMost: how many alerts the format takes at once.
    mutating func next(now: Int64, atMost: Int) -> Step {
        expire(now: now)
        guard !entries.isEmpty else { return .wait(nil) }
        if now < notBefore { return .wait(notBefore - now) }
        return .send(Array(entries.prefix(atMost)))
    }

    private mutating func expire(now: Int64) {
        while let first = entries.first, now - first.enteredAt >= Self.ageMax { drop(entries.removeFirst()) }
    }

    /// A try is over. What was dropped meanwhile is not counted twice.
    /// - Parameter random: 0..<1.
    mutating func conclude(_ sent: [Entry], _ outcome: Outcome, now: Int64, random: Double) {
        let numbers = Set(sent.map(\.number))
        switch outcome {
        case .taken:
            counts.sent += UInt64(sent.count)
            failures = 0
            notBefore = .min
            entries.removeAll { numbers.contains($0.number) }
        case .refused:
            counts.refused += UInt64(entries.count { numbers.contains($0.number) })
            failures = 0
            notBefore = .min
            entries.removeAll { numbers.contains($0.number) }
        case .later(let wanted):
            counts.retried += UInt64(entries.count { numbers.contains($0.number) })
            notBefore = now + pause(wanted, random)
            failures += 1
        }
    }

    private func pause(_ wanted: Int64?, _ random: Double) -> Int64 {
        if let wanted { return min(max(wanted, Self.pauseMin), Self.ageMax) }
        // Apart, so that the gateways of a store do not come back all at once.
        let step = min(Self.pauseMin << min(failures, 10), Self.pauseMax * 4 / 5)
        return step + Int64(Double(step) / 4 * random)
    }

    /// The receiver is another one: it has not asked anybody to wait.
    mutating func forgetPause() {
        failures = 0
        notBefore = .min
    }

    /// Nobody is to be told any more.
    mutating func clear() {
        counts.dropped += UInt64(entries.count { !$0.isRepeat })
        entries = []
        hasLostRaised = false
        forgetPause()
    }

    /// Whether what is raised should be told anew; asked once. Not before there is room: it would only be dropped again.
    mutating func takeLostRaised() -> Bool {
        guard entries.isEmpty else { return false }
        defer { hasLostRaised = false }
        return hasLostRaised
    }
}

/// What became of alerts since the start.
struct AlertCounts: Sendable, Equatable {
    /// Taken by the receiver.
    var sent: UInt64 = 0
    /// Tries that are tried again.
    var retried: UInt64 = 0
    /// Given up: the queue was full, or the receiver away for too long.
    var dropped: UInt64 = 0
    /// Refused by the receiver for good.
    var refused: UInt64 = 0
}
