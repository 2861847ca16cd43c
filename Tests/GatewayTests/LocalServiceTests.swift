import CLinux
import Synchronization
import Testing

@testable import Gateway

/// A connection to a service on this machine.
private func connected(_ port: UInt16) throws -> Peer {
    let address = try #require(resolve(host: "127.0.0.1", port: port, passive: false).first)
    let descriptor = address.connect()
    try #require(descriptor >= 0)
    var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    try #require(CLinux.poll(&poll, 1, 30_000) > 0)
    return Peer(descriptor)
}

extension Peer {
    /// Reads an answer of a known body length: head and body.
    fileprivate func answer() -> (head: String, body: String) {
        var head = ""
        while !head.hasSuffix("\r\n\r\n") {
            let byte = receive(1)
            guard !byte.isEmpty else { return (head, "") }
            head += String(decoding: byte, as: UTF8.self)
        }
        let length = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }?.dropFirst(16)
        return (head, String(decoding: receive(length.flatMap { Int($0) } ?? 0), as: UTF8.self))
    }
}

/// Says back what it was asked.
private let echo: LocalService.Handler = { request in
    var response = ServiceResponse(
        status: request.path == "/empty" ? 204 : 200, contentType: "text/plain",
        text: request.path == "/empty"
            ? "" : "\(request.method) \(request.path) \(request.query) \(String(decoding: request.body, as: UTF8.self))"
    )
    response.headers.append(("X-Peer", request.peer))
    response.headers.append(("X-Said", request.header("x-say") ?? "nothing"))
    return response
}

/// Runs a service for the length of a test.
private func withService(
    bodyMaxBytes: Int = 1000, _ handler: @escaping LocalService.Handler = echo,
    _ body: (UInt16) throws -> Void
) throws {
    let service = LocalService(bodyMaxBytes: bodyMaxBytes, handler: handler)
    try service.start(address: "127.0.0.1:0")
    defer { service.stop() }
    try body(service.port)
}

@Suite(.timeLimit(.minutes(2)))
struct LocalServiceTests {
    @Test func severalRequestsGoOverOneConnection() throws {
        try withService { port in
            let client = try connected(port)
            client.send("GET /a%20b?x=%31&y HTTP/1.1\r\nHost: h\r\nX-Say: hello\r\n\r\n")
            let first = client.answer()
            #expect(first.head.hasPrefix("HTTP/1.1 200 OK\r\n") && first.body == "GET /a%20b x=%31&y ")
            #expect(first.head.contains("X-Peer: 127.0.0.1\r\n") && first.head.contains("X-Said: hello\r\n"))
            #expect(!first.head.contains("Connection: close"))
            client.send("POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe")
            client.send("llo")
            #expect(client.answer().body == "POST /b  hello")
            client.send(
                "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")
            #expect(client.answer().body == "POST /c  abc")
            // Two at once.
            client.send("GET /d HTTP/1.1\r\nHost: h\r\n\r\nGET /e HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(client.answer().body == "GET /d  " && client.answer().body == "GET /e  ")
        }
    }

    @Test func aRequestMayComeByteByByte() throws {
        try withService { port in
            let client = try connected(port)
            for byte in "POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nok".utf8 { client.send([byte]) }
            #expect(client.answer().body == "POST /slow  ok")
        }
    }

    @Test func whoeverAsksForTheEndGetsIt() throws {
        try withService { port in
            for request in ["GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "GET /a HTTP/1.0\r\n\r\n"] {
                let client = try connected(port)
                client.send(request)
                let all = client.receiveAll()
                #expect(all.contains("Connection: close\r\n") && all.hasSuffix("\r\n\r\nGET /a  "))
            }
        }
    }

    @Test func anAnswerToHeadHasLengthAndNoBody() throws {
        try withService { port in
            let client = try connected(port)
            client.send(
                "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\nGET /empty HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            let all = client.receiveAll()
            #expect(all.contains("Content-Length: 9\r\n") && !all.contains("HEAD /a"))
            let second = all.split(separator: "HTTP/1.1 204 ")
            #expect(second.count == 2 && second.last?.contains("Content-Length") == false && all.hasSuffix("\r\n\r\n"))
        }
    }

    @Test func aBodyOverTheLimitIsRefused() throws {
        try withService(bodyMaxBytes: 10) { port in
            let exact = try connected(port)
            exact.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\nConnection: close\r\n\r\n0123456789")
            #expect(exact.receiveAll().hasPrefix("HTTP/1.1 200 "))
            let announced = try connected(port)
            announced.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n")
            let refusal = announced.receiveAll()
            #expect(refusal.hasPrefix("HTTP/1.1 413 ") && refusal.contains("\"status\":413"))
            #expect(refusal.contains("application/problem+json") && refusal.contains("Connection: close\r\n"))
            let chunked = try connected(port)
            chunked.send("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n0123456789a\r\n")
            #expect(chunked.receiveAll().hasPrefix("HTTP/1.1 413 "))
        }
    }

    @Test(arguments: [
        ("NONSENSE\r\n\r\n", 400), ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: h\r\nA : b\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        ("GET /\(String(repeating: "a", count: 9000)) HTTP/1.1\r\nHost: h\r\n\r\n", 414),
        ("GET / HTTP/1.1\r\nHost: h\r\nA: \(String(repeating: "a", count: 17_000))\r\n\r\n", 431),
        ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505),
    ])
    func whatIsNoRequestIsRefusedAndTheConnectionClosed(request: String, status: Int) throws {
        try withService { port in
            let client = try connected(port)
            client.send(request)
            let answer = client.receiveAll()
            #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.contains("\"status\":\(status),"))
        }
    }

    @Test func whoeverWaitsForLeaveToSendABodyGetsIt() throws {
        try withService { port in
            let client = try connected(port)
            client.send("POST /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            #expect(client.answer().head == "HTTP/1.1 100 Continue\r\n\r\n")
            client.send("ok")
            #expect(client.answer().body == "POST /a  ok")
        }
    }

    @Test func anEndlessAnswerComesInPiecesUntilItsEnd() throws {
        try withService({ _ in
            var response = ServiceResponse(status: 200, headers: [("Content-Type", "text/event-stream")])
            response.stream = { stream in
                for number in 1...3 {
                    guard await stream.send("data: \(number)\n\n") else { return }
                    await stream.sleep(milliseconds: 1)
                }
            }
            return response
        }) { port in
            let client = try connected(port)
            client.send("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
            let all = client.receiveAll()
            let chunks = (1...3).map { "9\r\ndata: \($0)\n\n\r\n" }.joined() + "0\r\n\r\n"
            #expect(all.contains("Transfer-Encoding: chunked\r\n") && !all.contains("Content-Length"))
            #expect(all.hasSuffix("\r\n\r\n" + chunks))
            let old = try connected(port)
            old.send("GET /stream HTTP/1.0\r\n\r\n")
            let plain = old.receiveAll()
            #expect(plain.hasSuffix("\r\n\r\ndata: 1\n\ndata: 2\n\ndata: 3\n\n") && !plain.contains("chunked"))
            let head = try connected(port)
            head.send("HEAD /stream HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(head.receiveAll().hasSuffix("Connection: close\r\n\r\n"))
        }
    }

    @Test func anAnswerThatBreaksOffIsSeenToBeNoWhole() throws {
        try withService({ _ in
            var response = ServiceResponse(status: 200)
            response.stream = { stream in
                _ = await stream.send("half")
                stream.abandon()
            }
            return response
        }) { port in
            let client = try connected(port)
            client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(client.receiveAll().hasSuffix("\r\n\r\n4\r\nhalf\r\n"))
        }
    }

    /// Waits for something else than its connection, as a stream of events does.
    private func waits(_ told: CountDown) -> LocalService.Handler {
        return { _ in
            var response = ServiceResponse(status: 200)
            response.stream = { stream in
                _ = await stream.send("begun")
                await withCheckedContinuation { continuation in
                    stream.whenGone { continuation.resume() }
                }
                told.one()
            }
            return response
        }
    }

    @Test func aStreamIsToldWhenItsClientGoesAway() throws {
        let told = CountDown(2)
        try withService(waits(told)) { port in
            for request in ["GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"] {
                let client = try connected(port)
                client.send(request)
                #expect(!client.receive(1).isEmpty)
                client.close()
            }
            #expect(told.wait(milliseconds: 30_000))
        }
    }

    @Test func aStreamIsToldWhenTheServiceStops() throws {
        let told = CountDown(1)
        let service = LocalService(handler: waits(told))
        try service.start(address: "127.0.0.1:0")
        let client = try connected(service.port)
        client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        var seen = ""
        while !seen.hasSuffix("begun\r\n") { seen += String(decoding: client.receive(1), as: UTF8.self) }
        service.stop()
        #expect(told.wait(milliseconds: 30_000))
        #expect(!client.receiveAll().contains("0\r\n"))
    }

    @Test func aClientThatReadsNothingIsGivenUp() throws {
        let told = CountDown(1)
        try withService({ _ in
            var response = ServiceResponse(status: 200)
            response.stream = { stream in
                let piece = String(repeating: "x", count: 1 << 16)
                while await stream.send(piece) {}
                told.one()
            }
            return response
        }) { port in
            let client = try connected(port)
            client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(told.wait(milliseconds: 90_000))
            client.close()
        }
    }

    @Test func everyAnswerHasTheCommonFieldsUnlessItHasItsOwn() throws {
        let service = LocalService(
            bodyMaxBytes: 10, commonFields: [("X-Common", "yes"), ("content-type", "none"), ("X-Said", "common")],
            handler: echo)
        try service.start(address: "127.0.0.1:0")
        defer { service.stop() }
        for request in [
            "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "BAD\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n",
        ] {
            let client = try connected(service.port)
            client.send(request)
            let all = client.receiveAll()
            #expect(all.contains("X-Common: yes\r\n") && !all.contains("none"))
            #expect(all.contains("X-Said: \(request.hasPrefix("GET") ? "nothing" : "common")\r\n"))
        }
    }

    @Test func whoeverOnlyHoldsConnectionsOpenKeepsNobodyOut() throws {
        let full = Atomic<Int>(0)
        let service = LocalService(
            connectionsMax: 4, bodyPartMilliseconds: 600_000, idleMilliseconds: 600_000,
            whenFull: { full.add(1, ordering: .relaxed) }, handler: echo)
        try service.start(address: "127.0.0.1:0")
        defer { service.stop() }
        // Served, so the others have been without a request for longer than this one, in spite of its age.
        let served = try connected(service.port)
        let (silent, half) = (try connected(service.port), try connected(service.port))
        half.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe")
        let other = try connected(service.port)
        other.send("GET /other HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(other.answer().body == "GET /other  ")
        served.send("GET /served HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(served.answer().body == "GET /served  ")
        for (loser, name) in [(silent, "a"), (half, "b")] {
            let client = try connected(service.port)
            client.send("GET /\(name) HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(client.answer().body == "GET /\(name)  ")
            #expect(loser.receiveAll() == "")
            client.close()
            // Its place is free once the next one is served without anybody having to go.
            served.send("GET /still HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(served.answer().body == "GET /still  ")
        }
        #expect(full.load(ordering: .relaxed) >= 1)
    }

    @Test func whatIsBeingAnsweredIsNotClosedToMakeRoom() throws {
        let (begun, release) = (CountDown(2), CountDown(1))
        let service = LocalService(connectionsMax: 2) { request in
            var response = ServiceResponse(status: 200, contentType: "text/plain", text: "")
            response.stream = { stream in
                begun.one()
                while !release.wait(milliseconds: 0) { await stream.sleep(milliseconds: 5) }
                _ = await stream.send("whole")
            }
            return response
        }
        try service.start(address: "127.0.0.1:0")
        defer { service.stop() }
        let clients = [try connected(service.port), try connected(service.port)]
        for client in clients { client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
        #expect(begun.wait(milliseconds: 60_000))
        let late = try connected(service.port)
        #expect(late.receiveAll() == "")
        release.one()
        for client in clients { #expect(client.receiveAll().contains("whole")) }
    }

    @Test func aBodyThatStopsIsA408() throws {
        let service = LocalService(bodyPartMilliseconds: 50, handler: echo)
        try service.start(address: "127.0.0.1:0")
        defer { service.stop() }
        let client = try connected(service.port)
        client.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe")
        let all = client.receiveAll()
        #expect(
            all.hasPrefix("HTTP/1.1 408 ") && all.contains("\"status\":408") && all.contains("Connection: close\r\n"))
    }

    @Test func aRefusalHasARequestIDAndReachesWhoeverSendsFirst() throws {
        try withService(bodyMaxBytes: 1000) { port in
            for request in [
                "BAD\r\n\r\n", "GET /\(String(repeating: "x", count: 70_000)) HTTP/1.1\r\nHost: h\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "x", count: 200_000))\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n\(String(repeating: "x", count: 4_000_000))",
            ] {
                let client = try connected(port)
                client.send(request)
                let all = client.receiveAll()
                #expect(all.hasPrefix("HTTP/1.1 4") && all.contains("\"request_id\":\""), "\(all.prefix(200))")
            }
        }
    }

    @Test func severalClientsAreServedWhileOneIsSlow() throws {
        try withService { port in
            let slow = try connected(port)
            slow.send("POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nh")
            for number in 0..<20 {
                let client = try connected(port)
                client.send("GET /\(number) HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(client.answer().body == "GET /\(number)  ")
            }
            slow.send("ello")
            #expect(slow.answer().body == "POST /slow  hello")
        }
    }

    @Test func stoppingClosesEveryConnectionAndTheListener() throws {
        let service = LocalService(handler: echo)
        try service.start(address: "127.0.0.1:0")
        let idle = try connected(service.port)
        let busy = try connected(service.port)
        busy.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(busy.answer().body == "GET /  ")
        idle.send("GET / HT")
        // The accepting of both is certain once a third, later one is answered.
        let last = try connected(service.port)
        last.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(last.answer().body == "GET /  ")
        service.stop()
        #expect(idle.receiveAll() == "" && busy.receiveAll() == "" && last.receiveAll() == "")
        let again = LocalService(handler: echo)
        try again.start(address: "127.0.0.1:\(service.port)")
        again.stop()
    }

    @Test func anAddressThatCannotBeBoundIsSaidWithItsReason() {
        for address in ["nowhere", "127.0.0.1", "host.invalid:0", "203.0.113.1:1"] {
            let service = LocalService(handler: echo)
            do throws(ListenError) {
                try service.start(address: address)
                Issue.record("\(address) was bound")
            } catch {
                #expect(error.text.contains(address))
            }
        }
    }
}
