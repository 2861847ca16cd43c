import CLinux
import Configuration
import Rollout
import Synchronization
import Telemetry
import Testing

@testable import Gateway

/// A backend's listening socket: the kernel makes the connections, the test takes them when it wants to.
private final class Listener {
    let descriptor: Int32
    let port: UInt16

    init() throws {
        let bound = try Gateway.bind("127.0.0.1:0", count: 1)
        descriptor = bound.descriptors[0]
        port = bound.port
    }

    deinit { close(descriptor) }

    /// Takes the connection that has waited longest.
    func accept() -> Peer? {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard CLinux.poll(&poll, 1, 30_000) > 0 else { return nil }
        var peer = sockaddr_storage()
        let accepted = clinux_accept(descriptor, &peer)
        return accepted >= 0 ? Peer(accepted) : nil
    }
}

private func pool(
    _ loop: EventLoop, port: UInt16, connections: Int = 256, workers: Int = 1, connectTimeout: Int64 = 60_000
) -> UpstreamPool {
    var settings = BackendSettings()
    settings.host = "127.0.0.1"
    settings.port = port
    settings.maxConnections = connections
    settings.connectTimeoutMilliseconds = connectTimeout
    let shared = SharedBackend(settings, breaker: BreakerSettings())
    shared.endpoint.refresh()
    return UpstreamPool(
        side: .new, settings: settings, workers: workers, shared: shared, loop: loop, metrics: LoopMetrics())
}

extension UpstreamPool {
    /// Connections as the metrics count them: connecting, active, idle.
    fileprivate var counted: [UInt64] {
        let snapshot = MetricsSnapshot(of: [metrics])
        return [.connecting, .active, .idle].map { snapshot.upstreamConnections(.new, $0) }
    }

    fileprivate func failure(fresh: Bool = false) async -> UpstreamFailure? {
        do throws(UpstreamFailure) {
            give(try await take(fresh: fresh), reusable: true)
            return nil
        } catch {
            return error
        }
    }
}

@Suite(.timeLimit(.minutes(2)))
struct UpstreamPoolTests {
    @Test func aConnectionIsUsedAgain() async throws {
        try await withLoop { loop in
            let listener = try Listener()
            let pool = pool(loop, port: listener.port)
            let first = try await pool.take()
            #expect(!first.reused && pool.counted == [0, 1, 0])
            pool.give(first, reusable: true)
            #expect(pool.counted == [0, 0, 1] && first.input.capacity == 0)
            let second = try await pool.take()
            #expect(second === first && second.reused && second.isOpen && pool.counted == [0, 1, 0])
            let third = try await pool.take()
            #expect(third !== first && pool.counted == [0, 2, 0])
            pool.discard(second)
            pool.give(third, reusable: false)
            #expect(!second.isOpen && !third.isOpen && pool.counted == [0, 0, 0])
        }
    }

    @Test func whatIsLeftInAConnectionKeepsItFromBeingUsedAgain() async throws {
        try await withLoop { loop in
            let listener = try Listener()
            let pool = pool(loop, port: listener.port)
            let unread = try await pool.take()
            unread.input.append("rest")
            pool.give(unread, reusable: true)
            let unsent = try await pool.take()
            unsent.output.append("rest")
            pool.give(unsent, reusable: true)
            #expect(unread !== unsent && !unread.isOpen && !unsent.isOpen && pool.counted == [0, 0, 0])
        }
    }

    @Test func aRequestOverTheLimitWaitsItsTimeAndFails() async throws {
        try await withLoop { loop in
            let listener = try Listener()
            let pool = pool(loop, port: listener.port, connections: 4, workers: 2, connectTimeout: 300)
            let held = [try await pool.take(), try await pool.take()]
            #expect(pool.isCrowded)
            let start = loop.now
            #expect(await pool.failure() == .exhausted)
            #expect(loop.now >= start + 300)
            let snapshot = MetricsSnapshot(of: [pool.metrics])
            #expect(snapshot.limitHits(.poolWait) == 1 && snapshot.limitHits(.poolWaitTime) == 1)
            #expect(pool.counted == [0, 2, 0])
            pool.give(held[0], reusable: true)
            #expect(!pool.isCrowded)
            #expect(await pool.failure() == nil)
            pool.discard(held[1])
            pool.retire()
        }
    }

    @Test(arguments: [true, false])
    func whoeverWaitsIsServedInTheOrderOfArrival(reusable: Bool) async throws {
        let served = Record<Int>()
        try await withLoop { loop in
            let listener = try Listener()
            let pool = pool(loop, port: listener.port, connections: 1)
            let held = try await pool.take()
            nonisolated(unsafe) let shared = pool
            let waiting = (0..<6).map { number in
                Task.immediate(executorPreference: loop) {
                    guard let connection = try? await shared.take() else { return }
                    served.add(number)
                    await loop.sleep(1)
                    shared.give(connection, reusable: reusable)
                }
            }
            pool.give(held, reusable: reusable)
            for task in waiting { await task.value }
            #expect(served.all == Array(0..<6))
            pool.retire()
            #expect(pool.counted == [0, 0, 0])
        }
    }

    @Test func nobodyOvertakesTheLine() async throws {
        let served = Record<String>()
        try await withLoop { loop in
            let listener = try Listener()
            let pool = pool(loop, port: listener.port, connections: 1)
            let held = try await pool.take()
            nonisolated(unsafe) let shared = pool
            let waiting = ["first", "second"].map { name in
                Task.immediate(executorPreference: loop) {
                    guard let connection = try? await shared.take() else { return }
                    served.add(name)
                    shared.give(connection, reusable: true)
                }
            }
            // The one that was called up has not run yet when the next request comes.
            pool.give(held, reusable: true)
            let connection = try await pool.take()
            served.add("newcomer")
            pool.give(connection, reusable: true)
            for task in waiting { await task.value }
            #expect(served.all == ["first", "second", "newcomer"])
            pool.retire()
        }
    }

    @Test func aPlaceThatIsFreeIsNotKeptFromANewcomer() async throws {
        try await withLoop { loop in
            let listener = try Listener()
            let pool = pool(loop, port: listener.port, connections: 2)
            let held = [try await pool.take(), try await pool.take()]
            nonisolated(unsafe) let shared = pool
            let waiting = Task.immediate(executorPreference: loop) { await shared.failure() }
            pool.discard(held[0])
            pool.give(held[1], reusable: true)
            let newcomer = try await pool.take()
            #expect(await waiting.value == nil)
            pool.give(newcomer, reusable: true)
            pool.retire()
            #expect(pool.counted == [0, 0, 0])
        }
    }

    @Test func aConnectionThatIsDiscardedMakesRoomForTheNextInLine() async throws {
        try await withLoop { loop in
            let listener = try Listener()
            let pool = pool(loop, port: listener.port, connections: 1)
            let held = try await pool.take()
            nonisolated(unsafe) let shared = pool
            let waiting = Task.immediate(executorPreference: loop) { await shared.failure() }
            pool.discard(held)
            #expect(await waiting.value == nil)
            pool.retire()
        }
    }

    @Test func anIdleConnectionThatTheBackendClosesIsNotUsedAgain() async throws {
        try await withLoop { loop in
            let listener = try Listener()
            let pool = pool(loop, port: listener.port)
            let first = try await pool.take()
            let peer = try #require(listener.accept())
            pool.give(first, reusable: true)
            peer.close()
            #expect(await eventually(on: loop) { pool.counted == [0, 0, 0] })
            #expect(!first.isOpen)
            let second = try await pool.take()
            #expect(second !== first && !second.reused)
            pool.discard(second)
        }
    }

    @Test func aCallerThatWantsAFreshConnectionGetsOneEvenAtTheLimit() async throws {
        try await withLoop { loop in
            let listener = try Listener()
            let pool = pool(loop, port: listener.port, connections: 1)
            let first = try await pool.take()
            pool.give(first, reusable: true)
            let second = try await pool.take(fresh: true)
            #expect(second !== first && !second.reused && !first.isOpen && pool.counted == [0, 1, 0])
            pool.discard(second)
        }
    }

    @Test func aCallerThatHadToWaitForAFreshConnectionGetsAFreshOne() async throws {
        try await withLoop { loop in
            let listener = try Listener()
            let pool = pool(loop, port: listener.port, connections: 1)
            let held = try await pool.take()
            nonisolated(unsafe) let shared = pool
            let waiting = Task.immediate(executorPreference: loop) {
                guard let connection = try? await shared.take(fresh: true) else { return false }
                defer { shared.discard(connection) }
                return !connection.reused
            }
            pool.give(held, reusable: true)
            #expect(await waiting.value && !held.isOpen)
            #expect(pool.counted == [0, 0, 0])
        }
    }

    @Test func aBackendThatRefusesIsSaidToBeUnreachableToEverybodyInLine() async throws {
        try await withLoop { loop in
            let port = try Listener().port
            let pool = pool(loop, port: port, connections: 1)
            nonisolated(unsafe) let shared = pool
            let callers = (0..<3).map { _ in Task.immediate(executorPreference: loop) { await shared.failure() } }
            for caller in callers { #expect(await caller.value == .connect) }
            #expect(pool.counted == [0, 0, 0])
        }
    }

    @Test func aBackendWithoutAnAddressIsUnreachable() async throws {
        try await withLoop { loop in
            var settings = BackendSettings()
            settings.host = "backend.invalid"
            let pool = UpstreamPool(
                side: .legacy, settings: settings, workers: 1,
                shared: SharedBackend(settings, breaker: BreakerSettings()),
                loop: loop, metrics: LoopMetrics())
            #expect(await pool.failure() == .connect)
        }
    }
}
