internal import CLinux
internal import Gateway
internal import Synchronization

/// All clients: some threads, each with its own connection and its own users, at a steady pace.
final class Traffic: Sendable {
    private let isStopped = Atomic<Bool>(false)
    private let ended: CountDown
    private let players = Mutex<[[SampleUser]]>([])

    /// Client threads, each with one connection.
    static let threads = 8

    /// Starts the threads.
    /// - Parameter rate: requests a second of all together; fewer when the answers take longer.
    init(users: [SampleUser], gateway: String, tally: Tally, rate: Int, run: String, seed: UInt64) throws(DemoFailure) {
        ended = CountDown(Traffic.threads)
        let pause = UInt64(Traffic.threads) * 1_000_000_000 / UInt64(max(1, rate))
        for thread in 0..<Traffic.threads {
            let part = users.enumerated().filter { $0.offset % Traffic.threads == thread }.map(\.element)
            startThread(name: "client") { [self] in
                play(part, gateway, tally, pause: pause, run: run, seed: seed &+ UInt64(thread))
            }
        }
    }

    private func play(
        _ users: [SampleUser], _ gateway: String, _ tally: Tally, pause: UInt64, run: String, seed: UInt64
    ) {
        var played = users
        do throws(DemoFailure) {
            let client = try SyncClient(url: gateway)
            let player = Player(users: users, client: client, tally: tally, run: run, seed: seed)
            var due = clinux_monotonic_nanoseconds() &+ seed % pause
            while !isStopped.load(ordering: .relaxed) {
                let now = clinux_monotonic_nanoseconds()
                if now < due { usleep(UInt32(min(due - now, 100_000_000) / 1000)) }
                if clinux_monotonic_nanoseconds() < due { continue }
                // Who is late does not catch up: a slow machine gets less traffic, not a wave of it.
                due = max(due + pause, clinux_monotonic_nanoseconds())
                player.step()
            }
            played = player.users
        } catch {
            tally.complain(error.message)
        }
        players.withLock { $0.append(played) }
        ended.one()
    }

    /// Lets every request under way finish and returns the users with what they know. Blocks.
    func stop() -> [SampleUser] {
        isStopped.store(true, ordering: .relaxed)
        _ = ended.wait(milliseconds: 60_000)
        return players.withLock { $0.flatMap { $0 } }
    }
}
