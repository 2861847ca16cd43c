import CLinux
import Testing

@testable import Gateway

/// A channel that notes its events, and may do something about them.
private final class Probe: Channel {
    var masks: [UInt32] = []
    var timeouts = 0
    var onReady: (() -> Void)?
    var onTimeout: (() -> Void)?

    override func ready(_ events: UInt32) {
        masks.append(events)
        onReady?()
    }

    override func timedOut() {
        timeouts += 1
        onTimeout?()
    }

    var sawInput: Bool { masks.contains { $0 & EPOLLIN.rawValue != 0 } }
}

@Suite(.timeLimit(.minutes(2)))
struct EventLoopTests {
    @Test func workFromOtherThreadsIsDoneOnceAndInTheOrderOfEachThread() async throws {
        let done = Record<(thread: Int, number: Int, on: UInt)>()
        let own = try await withLoop { loop in
            await offThread {
                let left = CountDown(8 * 1000)
                concurrently(8) { thread in
                    for number in 0..<1000 {
                        loop.execute {
                            done.add((thread, number, currentThread()))
                            left.one()
                        }
                    }
                }
                #expect(left.wait(milliseconds: 60_000))
            }
            return currentThread()
        }
        #expect(done.all.count == 8000 && done.all.allSatisfy { $0.on == own })
        for thread in 0..<8 {
            #expect(done.all.filter { $0.thread == thread }.map(\.number) == Array(0..<1000))
        }
    }

    @Test func tasksThatOtherThreadsStartRunOnTheLoop() async throws {
        let threads = Record<UInt>()
        let own = try await withLoop { loop in
            await offThread {
                let left = CountDown(400)
                concurrently(4) { _ in
                    for _ in 0..<100 {
                        Task(executorPreference: loop) {
                            threads.add(currentThread())
                            left.one()
                        }
                    }
                }
                #expect(left.wait(milliseconds: 60_000))
            }
            return currentThread()
        }
        #expect(threads.all.count == 400 && threads.all.allSatisfy { $0 == own })
    }

    @Test func aTaskComesBackToItsLoopWhoeverResumesIt() async throws {
        try await withLoop { loop in
            let own = currentThread()
            await loop.sleep(1)
            #expect(currentThread() == own)
            let other = await offThread { currentThread() }
            #expect(other != own && currentThread() == own)
            await Task.yield()
            #expect(currentThread() == own)
            let other2 = await Task.detached { currentThread() }.value
            #expect(other2 != own && currentThread() == own)
        }
    }

    @Test func timersRunInTheOrderOfTheirTimesAndNeverEarly() async throws {
        try await withLoop { loop in
            let ran = Record<Int>()
            await withCheckedContinuation { continuation in
                let start = loop.now
                for milliseconds in [30, 10, 20, 10, -5, 0] as [Int64] {
                    loop.schedule(after: milliseconds) {
                        ran.add(Int(milliseconds))
                        #expect(loop.now >= start + UInt64(max(0, milliseconds)))
                        if milliseconds == 30 { continuation.resume() }
                    }
                }
            }
            #expect(ran.all == [-5, 0, 10, 10, 20, 30])
        }
    }

    @Test func aDeadlinePassesOnceAndNotBeforeItsTime() async throws {
        try await withLoop { loop in
            let (descriptor, peer) = socketPair()
            let probe = Probe(fd: descriptor)
            loop.add(probe)
            loop.setDeadline(probe, 100_000)
            loop.setDeadline(probe, 40)
            let deadline = probe.deadline
            await withCheckedContinuation { continuation in
                probe.onTimeout = { continuation.resume() }
            }
            #expect(loop.now >= deadline && probe.deadline == 0 && probe.timeouts == 1)
            loop.close(probe)
            withExtendedLifetime(peer) {}
        }
    }

    @Test func aChannelThatIsClosedHearsOfNoDeadline() async throws {
        try await withLoop { loop in
            let (descriptor, peer) = socketPair()
            let closed = Probe(fd: descriptor)
            loop.add(closed)
            loop.setDeadline(closed, 1)
            loop.close(closed)
            let (other, otherPeer) = socketPair()
            let heir = Probe(fd: other)
            loop.add(heir)
            loop.setDeadline(heir, 200)
            await withCheckedContinuation { continuation in
                heir.onTimeout = { continuation.resume() }
            }
            #expect(closed.timeouts == 0 && heir.timeouts == 1)
            loop.close(heir)
            withExtendedLifetime((peer, otherPeer)) {}
        }
    }

    @Test func eventsOfABatchThatNameAClosedChannelReachNobody() async throws {
        try await withLoop { loop in
            let pairs = (0..<2).map { _ in socketPair() }
            for pair in pairs { pair.peer.send("here") }
            let probes = pairs.map { Probe(fd: $0.descriptor) }
            let quiet = socketPair()
            // Both are readable in the same batch. Whoever comes first closes the other, whose place goes to a newcomer.
            let heir = Probe(fd: quiet.descriptor)
            await withCheckedContinuation { continuation in
                for (index, probe) in probes.enumerated() {
                    probe.onReady = {
                        guard heir.slot < 0 else { return }
                        let victim = probes[1 - index]
                        let place = victim.slot
                        loop.close(victim)
                        loop.add(heir)
                        #expect(heir.slot == place)
                    }
                    loop.add(probe)
                }
                heir.onReady = {
                    heir.onReady = nil
                    continuation.resume()
                }
            }
            #expect(probes.map(\.masks.count).sorted() == [0, 1])
            #expect(heir.masks.count == 1 && !heir.sawInput)
            for channel in probes + [heir] { loop.close(channel) }
            withExtendedLifetime((pairs.map(\.peer), quiet.peer)) {}
        }
    }

    @Test func aChannelIsClosedOnceHoweverOftenItIsAskedTo() async throws {
        try await withLoop { loop in
            let (descriptor, peer) = socketPair()
            let probe = Probe(fd: descriptor)
            loop.add(probe)
            loop.close(probe)
            // The number may belong to somebody else by now.
            let (other, otherPeer) = socketPair()
            loop.close(probe)
            #expect(await offThread { peer.receiveAll() } == "")
            let heir = Probe(fd: other)
            loop.add(heir)
            otherPeer.send("x")
            _ = await eventually(on: loop) { heir.sawInput }
            #expect(heir.sawInput)
            loop.close(heir)
        }
    }
}
