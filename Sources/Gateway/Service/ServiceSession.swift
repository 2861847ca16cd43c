import CLinux
import HTTPWire
import Values

/// One connection of a `LocalService`. Confined to its loop.
final class ServiceSession {
    let connection: Connection
    /// Since when no whole request has come, in nanoseconds of the monotonic clock; nil while one is being answered. Finer than the loop's
    /// milliseconds, in which several connections of a moment would have waited equally long.
    private(set) var waitingSince: UInt64?
    private let loop: EventLoop
    private let peer: String
    private let bodyMaxBytes: Int
    private let bodyPartMilliseconds: Int64
    private let idleMilliseconds: Int64
    private let commonFields: [(name: String, value: String)]

    /// - Parameters:
    ///   - bodyPartMilliseconds: how long the next part of a body may take.
    ///   - idleMilliseconds: how long the next request may take to begin.
    init(
        connection: Connection, loop: EventLoop, peer: String, bodyMaxBytes: Int, bodyPartMilliseconds: Int64,
        idleMilliseconds: Int64,
        commonFields: [(name: String, value: String)]
    ) {
        self.bodyPartMilliseconds = bodyPartMilliseconds
        self.idleMilliseconds = idleMilliseconds
        self.connection = connection
        self.loop = loop
        waitingSince = clinux_monotonic_nanoseconds()
        self.peer = peer
        self.bodyMaxBytes = bodyMaxBytes
        self.commonFields = commonFields
    }

    /// Answers requests until either side is done.
    func serve(_ handler: LocalService.Handler) async {
        do throws(IOFailure) {
            while let (request, keepAlive) = try await readRequest() {
                waitingSince = nil
                let response = await handler(request)
                let isHead = request.method == "HEAD"
                if let stream = response.stream {
                    guard try await send(response, stream, toHead: isHead) else { return }
                    break
                }
                try await send(response, toHead: isHead, keepAlive: keepAlive)
                if !keepAlive { break }
                waitingSince = clinux_monotonic_nanoseconds()
            }
            if connection.isOpen { connection.finishWriting() }
        } catch {}
    }

    private func readRequest() async throws(IOFailure) -> (ServiceRequest, Bool)? {
        let head = connection.head
        if connection.input.isEmpty {
            repeat {
                try await connection.waitReadable(timeout: idleMilliseconds)
            } while try !connection.receive() && !connection.holdsPartOfRecord
        }
        head.reset()
        let deadline = loop.now + 10_000
        parsing: while true {
            if !connection.input.isEmpty {
                switch head.parseRequest(connection.input.readable, connection.input.count) {
                case .complete: break parsing
                case .incomplete: break
                case .refused(let fault):
                    try await refuse(fault.status, "\(fault.text)")
                    return nil
                }
            }
            let left = Int64(deadline) - Int64(loop.now)
            if left <= 0 { throw .timeout }
            try await connection.fill(within: left)
        }
        var request = describe(head, connection.input.readable)
        var scanner = BodyScanner.request(head)
        let keepAlive = head.keepAlive
        if head.contentLength > bodyMaxBytes {
            try await refuse(413, "the body is larger than \(bodyMaxBytes) bytes")
            return nil
        }
        if head.expectsContinue, connection.input.count == head.length {
            connection.output.append("HTTP/1.1 100 Continue\r\n\r\n")
            try await connection.flush(timeout: 10_000)
        }
        connection.input.consume(head.length)
        while true {
            let used = scanner.scan(connection.input.readable, connection.input.count) { p, count in
                request.body.append(contentsOf: UnsafeBufferPointer(start: p, count: count))
            }
            guard let used else {
                try await refuse(400, "the body's framing is broken")
                return nil
            }
            connection.input.consume(used)
            if request.body.count > bodyMaxBytes {
                try await refuse(413, "the body is larger than \(bodyMaxBytes) bytes")
                return nil
            }
            if scanner.isDone { return (request, keepAlive) }
            do throws(IOFailure) { try await connection.fill(timeout: bodyPartMilliseconds) } catch {
                guard error == .timeout else { throw error }
                try await refuse(
                    408, "the body did not come whole: nothing more of it for \(bodyPartMilliseconds / 1000) s")
                return nil
            }
        }
    }

    private func describe(_ head: MessageHead, _ p: UnsafePointer<UInt8>) -> ServiceRequest {
        func text(_ start: Int, _ end: Int) -> String {
            String(decoding: UnsafeBufferPointer(start: p + start, count: max(0, end - start)), as: UTF8.self)
        }
        var headers: [(name: String, value: String)] = []
        for i in 0..<head.fieldCount {
            let field = head.field(i)
            headers.append(
                (
                    String(decoding: field.name(in: p), as: UTF8.self).lowercased(),
                    String(decoding: field.value(in: p), as: UTF8.self)
                ))
        }
        return ServiceRequest(
            method: text(head.leading, head.methodEnd), path: text(head.pathStart, head.pathEnd),
            query: head.hasQuery ? text(head.queryStart, head.queryEnd) : "", headers: headers, body: [], peer: peer)
    }

    private func send(_ response: ServiceResponse, toHead: Bool, keepAlive: Bool) async throws(IOFailure) {
        let out = connection.output
        appendHead(response)
        if response.status != 204, response.status != 304 {
            out.append("Content-Length: ")
            out.append(decimal: response.body.count)
            out.append("\r\n")
        }
        out.append(keepAlive ? "\r\n" : "Connection: close\r\n\r\n")
        if !toHead { out.append(response.body) }
        try await connection.flush(timeout: 30_000)
    }

    /// Sends an answer that comes in pieces.
    /// - Returns: false when it is not whole: the connection is then to break.
    private func send(
        _ response: ServiceResponse, _ body: @Sendable (ServiceStream) async -> Void, toHead: Bool
    ) async throws(IOFailure) -> Bool {
        let isChunked = connection.head.minorVersion >= 1
        appendHead(response)
        if isChunked { connection.output.append("Transfer-Encoding: chunked\r\n") }
        connection.output.append("Connection: close\r\n\r\n")
        try await connection.flush(timeout: 10_000)
        if toHead { return true }
        let stream = ServiceStream(connection: connection, loop: loop, isChunked: isChunked)
        await body(stream)
        await stream.finish()
        return !stream.isAbandoned
    }

    private func appendHead(_ response: ServiceResponse) {
        let out = connection.output
        out.append("HTTP/1.1 ")
        out.append(decimal: response.status)
        out.append(byte: 32)
        out.append(StatusText.reason(response.status))
        out.append("\r\n")
        for (name, value) in response.headers { out.append(text: "\(name): \(value)\r\n") }
        for field in commonFields
        where !response.headers.contains(where: { $0.name.lowercased() == field.name.lowercased() }) {
            out.append(text: "\(field.name): \(field.value)\r\n")
        }
    }

    /// Whoever has spoken HTTP without TLS is told so in the same way.
    func sayThatThisIsTLS() async {
        guard connection.isOpen else { return }
        connection.giveUpTLS()
        do throws(IOFailure) { try await refuse(400, "this address speaks TLS: write https") } catch {}
    }

    private func refuse(_ status: Int, _ detail: String) async throws(IOFailure) {
        let body =
            "{\"type\":\"about:blank\",\"title\":\(jsonString("\(StatusText.reason(status))")),\"status\":\(status),"
            + "\"detail\":\(jsonString(detail)),\"request_id\":\(jsonString(randomRequestID()))}\n"
        var response = ServiceResponse(status: status, contentType: "application/problem+json", text: body)
        response.headers.append(("Cache-Control", "no-store"))
        try await send(response, toHead: false, keepAlive: false)
        connection.finishWriting()
        try await discardRest()
    }

    /// Reads on for a moment what the client still sends. If the connection were closed at once, the kernel would answer that with a
    /// reset, and a client that sends before it reads would never see why it was refused (RFC 9112 §9.6).
    private func discardRest() async throws(IOFailure) {
        let deadline = loop.now + ServiceSession.lingerMilliseconds
        var left = ServiceSession.lingerBytes
        while left > 0, loop.now < deadline {
            connection.input.consume(connection.input.count)
            try await connection.fill(timeout: Int64(deadline - loop.now))
            left -= connection.input.count
        }
    }

    /// How long, and how much, is read after a refusal.
    static let lingerMilliseconds: UInt64 = 2_000
    static let lingerBytes = 64 << 20
}
