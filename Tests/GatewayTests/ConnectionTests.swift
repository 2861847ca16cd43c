import CLinux
import HTTPWire
import TestSupport
import Testing

@testable import Gateway

/// A connection whose kernel buffer is as small as it gets, and its peer.
private func connect(_ loop: EventLoop, sendBuffer: Int32? = 1) -> (Connection, Peer) {
    let (descriptor, peer) = socketPair(sendBuffer: sendBuffer)
    return (Connection(fd: descriptor, loop: loop, limits: WireLimits(), connecting: false), peer)
}

/// What an operation failed with; nil when it did not.
private func failure(_ body: () async throws(IOFailure) -> Void) async -> IOFailure? {
    do throws(IOFailure) {
        try await body()
        return nil
    } catch {
        return error
    }
}

@Suite(.timeLimit(.minutes(2)))
struct ConnectionTests {
    @Test(arguments: [0, 1, 100, 10_000, 300_000], [0, 1, 5000, 400_000])
    func headAndBodyArriveWholeAndInOrderThroughATinyKernelBuffer(head: Int, body: Int) async throws {
        try await withLoop { loop in
            let (connection, peer) = connect(loop)
            var random = SeededGenerator(seed: UInt64(head + body))
            let (headBytes, bodyBytes) = (random.bytes(head), random.bytes(body))
            let rest: [UInt8] = [1, 2, 3]
            connection.output.append(headBytes)
            let source = Buffer(pool: loop.blocks)
            source.append(bodyBytes + rest)
            async let received = offThread { peer.receive(head + body) }
            #expect(
                await failure { () throws(IOFailure) in try await connection.flush(with: source, body, timeout: 60_000)
                } == nil)
            #expect(await received == headBytes + bodyBytes)
            #expect(connection.output.isEmpty && source.bytes.elementsEqual(rest))
            connection.close()
        }
    }

    @Test func writesOfEveryKindArriveInTheirOrder() async throws {
        try await withLoop { loop in
            let (connection, peer) = connect(loop)
            var random = SeededGenerator(seed: 11)
            let parts = (0..<3).map { _ in random.bytes(150_000) }
            async let received = offThread { peer.receive(450_000) }
            let source = Buffer(pool: loop.blocks)
            source.append(parts[1])
            connection.output.append(parts[0])
            #expect(await failure { () throws(IOFailure) in try await connection.flush(timeout: 60_000) } == nil)
            #expect(
                await failure { () throws(IOFailure) in try await connection.write(source, 150_000, timeout: 60_000) }
                    == nil)
            let last = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 150_000)
            defer { last.deallocate() }
            _ = last.initialize(from: parts[2])
            #expect(
                await failure { () throws(IOFailure) in
                    try await connection.write(bytes: UnsafeBufferPointer(last), timeout: 60_000)
                } == nil)
            #expect(await received == parts.flatMap { $0 })
            connection.close()
        }
    }

    @Test func readingCollectsWhatCameAndThenSaysThatThePeerHasClosed() async throws {
        try await withLoop { loop in
            let (connection, peer) = connect(loop, sendBuffer: nil)
            var random = SeededGenerator(seed: 3)
            let bytes = random.bytes(500_000)
            async let sent = offThread {
                let isSent = peer.send(bytes)
                peer.close()
                return isSent
            }
            var end: IOFailure?
            while end == nil {
                end = await failure { () throws(IOFailure) in try await connection.fill(timeout: 60_000) }
            }
            #expect(await sent && end == .closed)
            #expect(connection.input.bytes.elementsEqual(bytes))
            #expect(connection.hungUp && connection.isGone && !connection.isQuiet)
            connection.close()
        }
    }

    @Test func readingGivesUpAfterItsTimeAndWorksAgainAfterwards() async throws {
        try await withLoop { loop in
            let (connection, peer) = connect(loop)
            let start = loop.now
            #expect(await failure { () throws(IOFailure) in try await connection.fill(timeout: 30) } == .timeout)
            #expect(loop.now >= start + 30 && connection.deadline == 0)
            #expect(
                await failure { () throws(IOFailure) in try await connection.waitReadable(timeout: 30) } == .timeout)
            peer.send("late")
            #expect(await failure { () throws(IOFailure) in try await connection.fill(timeout: 60_000) } == nil)
            #expect(connection.input.bytes.elementsEqual("late".utf8))
            connection.close()
        }
    }

    @Test func writingGivesUpWhenThePeerTakesNothing() async throws {
        try await withLoop { loop in
            let (connection, peer) = connect(loop)
            connection.output.append([UInt8](repeating: 1, count: 2_000_000))
            #expect(await failure { () throws(IOFailure) in try await connection.flush(timeout: 30) } == .timeout)
            #expect(!connection.output.isEmpty && connection.deadline == 0)
            connection.close()
            withExtendedLifetime(peer) {}
        }
    }

    @Test func anInterruptionEndsTheOneWaitThatItMeets() async throws {
        try await withLoop { loop in
            let (connection, peer) = connect(loop)
            connection.interrupt(.aborted)
            loop.schedule(after: 5) { connection.interrupt(.aborted) }
            #expect(await failure { () throws(IOFailure) in try await connection.fill(timeout: 60_000) } == .aborted)
            peer.send("x")
            #expect(await failure { () throws(IOFailure) in try await connection.fill(timeout: 60_000) } == nil)
            connection.output.append([UInt8](repeating: 1, count: 2_000_000))
            loop.schedule(after: 5) { connection.interrupt(.aborted) }
            #expect(await failure { () throws(IOFailure) in try await connection.flush(timeout: 60_000) } == .aborted)
            connection.close()
        }
    }

    @Test func closingEndsAWaitAndEverythingAfterIt() async throws {
        try await withLoop { loop in
            let (connection, peer) = connect(loop)
            loop.schedule(after: 5) { connection.close() }
            #expect(await failure { () throws(IOFailure) in try await connection.fill(timeout: 60_000) } == .aborted)
            #expect(!connection.isOpen && !connection.isQuiet)
            #expect(await failure { () throws(IOFailure) in try await connection.fill(timeout: 60_000) } == .aborted)
            connection.output.append("x")
            #expect(await failure { () throws(IOFailure) in try await connection.flush(timeout: 60_000) } == .aborted)
            #expect(await offThread { peer.receiveAll() } == "")
        }
    }

    @Test func writingToAPeerThatHasGoneFails() async throws {
        try await withLoop { loop in
            let (connection, peer) = connect(loop)
            peer.close()
            connection.output.append([UInt8](repeating: 1, count: 2_000_000))
            #expect(await failure { () throws(IOFailure) in try await connection.flush(timeout: 60_000) } == .reset)
            connection.close()
        }
    }

    @Test func aClientThatGoesAwayEndsTheWaitForItsBackend() async throws {
        try await withLoop { loop in
            let (client, clientPeer) = connect(loop)
            let (backend, backendPeer) = connect(loop)
            client.partner = backend
            loop.schedule(after: 5) { clientPeer.close() }
            #expect(await failure { () throws(IOFailure) in try await backend.fill(timeout: 60_000) } == .aborted)
            client.close()
            backend.close()
            withExtendedLifetime(backendPeer) {}
        }
    }

    @Test func aPipelinedRequestIsNoReasonToGiveTheBackendUp() async throws {
        try await withLoop { loop in
            let (client, clientPeer) = connect(loop)
            let (backend, backendPeer) = connect(loop)
            client.partner = backend
            loop.schedule(after: 5) {
                clientPeer.send("next")
                loop.schedule(after: 5) { backendPeer.send("answer") }
            }
            #expect(await failure { () throws(IOFailure) in try await backend.fill(timeout: 60_000) } == nil)
            client.close()
            backend.close()
        }
    }

    @Test func anEarlyAnswerInterruptsTheReadingOfTheRestOfTheBody() async throws {
        try await withLoop { loop in
            let (client, clientPeer) = connect(loop)
            let (backend, backendPeer) = connect(loop)
            backend.earlyAnswerInterrupts = client
            loop.schedule(after: 5) { backendPeer.send("HTTP/1.1 413") }
            #expect(await failure { () throws(IOFailure) in try await client.fill(timeout: 60_000) } == .aborted)
            #expect(backend.hasArrivals)
            client.close()
            backend.close()
            withExtendedLifetime(clientPeer) {}
        }
    }

    @Test func aConnectionThatWaitsForNothingHoldsNoMemory() async throws {
        try await withLoop { loop in
            let (connection, peer) = connect(loop)
            #expect(await failure { () throws(IOFailure) in try await connection.fill(timeout: 1) } == .timeout)
            connection.output.append("x")
            connection.output.consume(1)
            #expect(connection.input.capacity > 0 && connection.output.capacity > 0)
            nonisolated(unsafe) let shared = connection
            let isReleased = Task.immediate(executorPreference: loop) {
                defer { peer.send("x") }
                return await eventually(on: loop) { shared.input.capacity == 0 && shared.output.capacity == 0 }
            }
            #expect(await failure { () throws(IOFailure) in try await connection.waitReadable(timeout: 60_000) } == nil)
            #expect(await isReleased.value)
            connection.close()
        }
    }

    @Test func aDeadlineThatWasSetByAClockThatStoodStillIsNotOverYet() async throws {
        try await withLoop { loop in
            let (connection, peer) = connect(loop)
            // As if the process had been stopped: the loop reads its clock once per turn.
            usleep(1_500_000)
            async let sent: Void = offThread {
                usleep(200_000)
                peer.send([1])
            }
            #expect(await failure { () throws(IOFailure) in try await connection.fill(timeout: 1_000) } == nil)
            await sent
            // Afterwards time passes as ever.
            connection.input.consume(connection.input.count)
            #expect(await failure { () throws(IOFailure) in try await connection.fill(timeout: 100) } == .timeout)
            connection.close()
        }
    }

    @Test func aConnectionThatIsClosedInTheMomentOfItsTimeoutIsGivenUp() async throws {
        try await withLoop { loop in
            let (connection, peer) = connect(loop)
            loop.schedule(after: 20) {
                connection.timedOut()
                connection.close()
            }
            let given = await failure { () throws(IOFailure) in
                #expect(try !connection.receive())
                _ = try await connection.waitReadableBriefly(timeout: 60_000)
            }
            #expect(given == .aborted)
            peer.close()
        }
    }
}
