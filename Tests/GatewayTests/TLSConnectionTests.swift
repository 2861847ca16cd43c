import CLinux
import Configuration
import HTTPWire
import TestSupport
import Testing

@testable import Gateway

/// A key that is known to everybody, and a certificate for localhost that it has signed itself.
private let certificatePEM = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg/XW90VSJhi1rd2Vk
    W4PCVlQsGzWPPpeJsLY6TejsN2WhRANCAATcaBTHooDEcqSqwJPRx0VCi9Ff8cus
    UuT0mdiRfFHza1aGx5ebwMFIVTz12hjQyAgT6rNUWjcXkyUEb9Dp7BY4
    -----END PRIVATE KEY-----
    -----BEGIN CERTIFICATE-----
    MIIBlDCCATugAwIBAgIUMSfp5/xTvlLI9V3aqxXmjqZhGaMwCgYIKoZIzj0EAwIw
    FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEzMDIyMjE1M1oYDzIxMjYxMTA2
    MjIyMTUzWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
    PQMBBwNCAATcaBTHooDEcqSqwJPRx0VCi9Ff8cusUuT0mdiRfFHza1aGx5ebwMFI
    VTz12hjQyAgT6rNUWjcXkyUEb9Dp7BY4o2kwZzAdBgNVHQ4EFgQU1wftNfP0b2D1
    V5Y6LCXVXTPvk5IwHwYDVR0jBBgwFoAU1wftNfP0b2D1V5Y6LCXVXTPvk5IwDwYD
    VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID
    RwAwRAIgHq1aak88nH568zrSGf463BcqUVcM2B1ngAebrIjpbOgCIBq6wnWGj9PP
    1T4RVq6A622PKCNKmYQ0p0m6Dqns0kus
    -----END CERTIFICATE-----

    """

/// Both ends of a connection whose kernel buffers are as small as they get, on one loop, after their handshake.
private func securePair(_ loop: EventLoop) async throws -> (server: Connection, client: Connection) {
    let file = try KeyFixture(certificatePEM)
    var findings: [FileFinding] = []
    let files = CertificateFiles(certificateFile: file.path, keyFile: file.path, keyPath: "tls")
    let server = try #require(TLSServer(TLSListenerSettings(certificates: [files]), findings: &findings))
    var backend = BackendSettings()
    backend.scheme = "https"
    backend.host = "localhost"
    backend.tls = TLSBackendSettings()
    // The clock of the machine may be anything.
    backend.tls?.verify = false
    let client = try #require(TLSClient(backend, side: "new", findings: &findings))
    var descriptors: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
    try #require(socketpair(AF_UNIX, kind, 0, &descriptors) == 0)
    for descriptor in descriptors {
        var size: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    let ends = descriptors.map { Connection(fd: $0, loop: loop, limits: WireLimits(), connecting: false) }
    let serverStream = try #require(server.stream(fd: descriptors[0]))
    let clientStream = try #require(client.stream(fd: descriptors[1], resuming: nil))
    let other = Companion(loop) {
        do throws(TLSFailure) { try await ends[0].secure(with: serverStream, timeout: 60_000) } catch {
            Issue.record("server: \(error.detail)")
        }
    }
    try await ends[1].secure(with: clientStream, timeout: 60_000)
    await other.ended()
    return (ends[0], ends[1])
}

/// Another task of the same loop.
private final class Companion: @unchecked Sendable {
    private var isDone = false
    private let loop: EventLoop

    init(_ loop: EventLoop, _ body: @escaping () async -> Void) {
        self.loop = loop
        let work = Work(body)
        Task.immediate(executorPreference: loop) {
            await work.body()
            self.isDone = true
        }
    }

    func ended() async { #expect(await eventually(on: loop) { self.isDone }) }

    /// Stays on the loop.
    private struct Work: @unchecked Sendable {
        let body: () async -> Void
        init(_ body: @escaping () async -> Void) { self.body = body }
    }
}

@Suite(.timeLimit(.minutes(2)))
struct TLSConnectionTests {
    @Test(arguments: [1, 100, 16_384, 70_000], [0, 1, 5000, 400_000])
    func headAndBodyArriveWholeThroughATinyKernelBuffer(head: Int, body: Int) async throws {
        try await withLoop { loop in
            let (server, client) = try await securePair(loop)
            var random = SeededGenerator(seed: UInt64(head + body))
            let (headBytes, bodyBytes) = (random.bytes(head), random.bytes(body))
            let rest: [UInt8] = [1, 2, 3]
            server.output.append(headBytes)
            let source = Buffer(pool: loop.blocks)
            source.append(bodyBytes + rest)
            let writer = Companion(loop) {
                do throws(IOFailure) { try await server.flush(with: source, body, timeout: 60_000) } catch {
                    Issue.record("\(error)")
                }
            }
            while client.input.count < head + body { try await client.fill(timeout: 60_000) }
            await writer.ended()
            #expect(client.input.bytes.elementsEqual(headBytes + bodyBytes))
            #expect(server.output.isEmpty && source.bytes.elementsEqual(rest))
            server.close()
            client.close()
        }
    }

    @Test func bothDirectionsAtOnceDoNotHoldEachOtherUp() async throws {
        try await withLoop { loop in
            let (server, client) = try await securePair(loop)
            var random = SeededGenerator(seed: 5)
            let (down, up) = (random.bytes(700_000), random.bytes(600_000))
            server.output.append(down)
            client.output.append(up)
            let tasks = [
                Companion(loop) { try? await server.flush(timeout: 60_000) },
                Companion(loop) { try? await client.flush(timeout: 60_000) },
                Companion(loop) {
                    while server.input.count < up.count, (try? await server.fill(timeout: 60_000)) != nil {}
                },
            ]
            while client.input.count < down.count { try await client.fill(timeout: 60_000) }
            for task in tasks { await task.ended() }
            #expect(client.input.bytes.elementsEqual(down) && server.input.bytes.elementsEqual(up))
            server.close()
            client.close()
        }
    }

    @Test func ticketsAreNoArrivalAndAFarewellIs() async throws {
        try await withLoop { loop in
            let (server, client) = try await securePair(loop)
            // Those of TLS 1.3 come behind the handshake.
            await loop.sleep(20)
            #expect(!client.hasArrivals && client.isQuiet)
            server.output.append([7])
            try await server.flush(timeout: 60_000)
            #expect(await eventually(on: loop) { client.hasArrivals } && !client.isQuiet)
            try await client.fill(timeout: 60_000)
            #expect(client.isQuiet)
            server.finishWriting()
            #expect(await eventually(on: loop) { client.isGone })
            var end: IOFailure?
            do throws(IOFailure) { try await client.fill(timeout: 60_000) } catch { end = error }
            #expect(end == .closed)
            server.close()
            client.close()
        }
    }

    @Test func anEndWithoutAFarewellIsABreak() async throws {
        try await withLoop { loop in
            let (server, client) = try await securePair(loop)
            server.close()
            var end: IOFailure?
            do throws(IOFailure) { try await client.fill(timeout: 60_000) } catch { end = error }
            #expect(end == .reset && client.isGone)
            client.close()
        }
    }
}
