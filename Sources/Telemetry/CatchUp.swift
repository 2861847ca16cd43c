/// How fast the outstanding legs of a backend are settled, and when none is left.
package struct CatchUp: Sendable, Equatable {
    /// Legs settled per second.
    package var legsPerSecond: Double
    /// Estimated seconds until none is outstanding; 0 when none is, nil while they do not become fewer or nothing is known yet.
    package var secondsLeft: Double?

    package init(legsPerSecond: Double = 0, secondsLeft: Double? = 0) {
        self.legsPerSecond = legsPerSecond
        self.secondsLeft = secondsLeft
    }
}

/// The readings of the last half minute of one backend's outstanding legs. Pushed once a second by one thread; bounded by its window.
package struct CatchUpWindow: Sendable {
    private struct Reading: Sendable {
        var time: UInt64
        var settled: Int
        var outstanding: Int
    }

    /// The span that rates are told over, in ns.
    package static let window: UInt64 = 30_000_000_000
    /// Readings are at least so far apart, in ns: with the window it bounds how many are kept.
    package static let resolution: UInt64 = 500_000_000

    private var readings: [Reading] = []

    package init() {}

    /// Keeps a reading, unless the last one is younger than `resolution`.
    /// - Parameters:
    ///   - now: monotonic, in ns.
    ///   - settled: legs settled since the start.
    ///   - outstanding: legs outstanding now.
    package mutating func push(now: UInt64, settled: Int, outstanding: Int) {
        if let last = readings.last, now < last.time + Self.resolution { return }
        readings.append(Reading(time: now, settled: settled, outstanding: outstanding))
        let expired = readings.dropFirst().prefix { now - $0.time >= Self.window }.count
        readings.removeFirst(expired)
    }

    /// The rate since the oldest reading kept, and the time that is left at that rate.
    ///
    /// What arrives meanwhile counts too: a backlog of more than a second's work ends when it shrinks, and only then. A smaller one is
    /// the legs that are always under way.
    package func catchUp(now: UInt64, settled: Int, outstanding: Int) -> CatchUp {
        guard let first = readings.first, now > first.time else {
            return CatchUp(secondsLeft: outstanding == 0 ? 0 : nil)
        }
        let seconds = Double(now - first.time) / 1e9
        let rate = Double(max(0, settled - first.settled)) / seconds
        if outstanding == 0 { return CatchUp(legsPerSecond: rate, secondsLeft: 0) }
        if Double(outstanding) <= rate { return CatchUp(legsPerSecond: rate, secondsLeft: Double(outstanding) / rate) }
        let shrinking = Double(first.outstanding - outstanding) / seconds
        // Right after an outage the window still sees the backlog grow: what was settled in it says more than nothing.
        return CatchUp(
            legsPerSecond: rate, secondsLeft: shrinking > 0 ? Double(outstanding) / shrinking : nil)
    }
}
