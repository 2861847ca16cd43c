import Testing

/// Each safeguard is taken away once: the simulation must miss it, or it proves nothing about it.
struct SafeguardTests {
    /// More seeds than any of them needs.
    private static let seeds: ClosedRange<UInt64> = 1...300

    /// The first violation without a safeguard; nil when nobody misses it.
    private static func firstViolation(_ switches: Switches) -> (seed: UInt64, text: String)? {
        for seed in seeds {
            if let violation = Simulation(seed: seed, switches: switches).run().first { return (seed, violation) }
        }
        return nil
    }

    @Test(arguments: Safeguard.allCases)
    func aSafeguardThatIsTakenAwayIsMissed(safeguard: Safeguard) async {
        let found = await onOwnThread { Self.firstViolation(safeguard.switches) }
        print("without \(safeguard): \(found.map { "seed \($0.seed): \($0.text)" } ?? "nothing")")
        #expect(found != nil, "nobody misses \(safeguard)")
    }
}

/// What keeps the promises.
enum Safeguard: CaseIterable, Sendable {
    case sync, lanes, behind, recovery, keys, outgoingKeys

    /// Everything but this one.
    var switches: Switches {
        var switches = Switches()
        switch self {
        case .sync: switches.ignoresSyncs = true
        case .lanes: switches.hasNoLanes = true
        case .behind: switches.ignoresOutstanding = true
        case .recovery: switches.doesNotRecover = true
        case .keys: switches.ignoresKeys = true
        case .outgoingKeys: switches.changesOutgoingKeys = true
        }
        return switches
    }
}
