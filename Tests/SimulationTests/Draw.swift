import TestSupport
import CLinux
import Configuration
import Journal
import Routing

/// What a seed sets before anything happens.
struct Draw {
    let users: Int
    let devices: Int
    let ownRecords: Int
    let sharedRecords: Int
    let hasBox: Bool
    let operations: Int
    /// Longest pause between two operations of a device, in milliseconds.
    let pause: Int
    /// Out of a hundred records so many are refused for ever by one backend.
    let poison: Int
    let saysNotFound: Bool
    /// Of legacy, and of new.
    let faults: [Faults]
    let settings: Settings
    /// How many second legs the gateway keeps in memory.
    let window: WindowLimits
    /// How long things go wrong at least, in nanoseconds.
    let duration: UInt64
    /// Instants in microseconds after the start.
    let crashMoments: [Int]
    let operatorMoments: [Int]
    let outageMoments: [Int]
    let diskMoments: [Int]
    let clockMoments: [Int]

    init(_ random: inout SeededGenerator) {
        users = 1 + random.below(3)
        devices = 1 + random.below(2)
        ownRecords = 1 + random.below(2)
        sharedRecords = 1 + random.below(2)
        hasBox = random.chance(30)
        operations = 4 + random.below(10)
        pause = [3, 30, 300][random.below(3)]
        poison = [0, 0, 0, 10][random.below(4)]
        saysNotFound = random.chance(50)
        let intensities = [0, 5, 15, 40]
        faults = [0, 1].map { _ in
            Faults(
                intensity: intensities[random.below(4)], usualDelay: [500, 3_000, 40_000][random.below(3)],
                slowDelay: 2_500_000)
        }
        let length = operations * pause * 1_000 + 50_000
        duration = UInt64(length) * 1_000
        func moments(_ most: Int) -> [Int] { (0..<random.below(most + 1)).map { _ in random.below(length) } }
        crashMoments = moments(3)
        // The first move sets out; later ones go back and forth.
        operatorMoments = [0] + moments([2, 12][random.below(2)])
        outageMoments = moments(2)
        diskMoments = random.chance(30) ? moments(3) : []
        clockMoments = random.chance(20) ? moments(2) : []
        settings = Draw.settings(&random)
        // A window that a handful of legs fill, in half of the runs.
        let most = 1 + random.below(6)
        window =
            random.chance(50)
            ? WindowLimits()
            : WindowLimits(
                windowMax: most, pageMax: 1 + random.below(most), crowded: 1 + random.below(most),
                userMax: 1 + random.below(2), refillBelow: 1 + random.below(most))
    }

    private static func settings(_ random: inout SeededGenerator) -> Settings {
        var settings = Settings()
        for path in [\Settings.legacy, \Settings.new] {
            settings[keyPath: path].host = "played"
            settings[keyPath: path].timeoutMilliseconds = 1_000
            settings[keyPath: path].connectTimeoutMilliseconds = 200
            settings[keyPath: path].maxConnections = random.chance(20) ? 2 : 64
        }
        settings.routes = [
            route("PUT /notes/{record}", .write), route("POST /notes/{record}", .write),
            route("DELETE /notes/{record}", .write), route("GET /**", .read), revised("PUT /docs/{id}"),
        ]
        settings.writes.retryMinMilliseconds = 20
        settings.writes.retryMaxMilliseconds = 1_000
        settings.writes.answersAfterBoth = random.chance(15)
        settings.shadow.shareHundredths = random.chance(30) ? 10_000 : 0
        settings.shadow.recheckAfterMilliseconds = 50
        settings.fallback.breaker.minRequests = [3, 20][random.below(2)]
        settings.fallback.breaker.openForMilliseconds = 700
        return settings
    }

    private static func route(_ text: String, _ kind: RouteKind) -> Route {
        guard let pattern = RoutePattern(text) else { preconditionFailure("\(text) is no pattern") }
        return Route(pattern: pattern, kind: kind)
    }

    /// A route whose records carry revisions, which are found in the body.
    private static func revised(_ text: String) -> Route {
        var route = route(text, .write)
        route.record = "/id"
        route.revision = "/rev"
        return route
    }
}

/// Part of the names of local sockets, which the machine has only once.
func processIdentifier() -> Int { Int(getpid()) }
