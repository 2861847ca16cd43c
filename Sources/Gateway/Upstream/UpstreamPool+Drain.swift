import HTTPWire

extension UpstreamPool {
    /// Reads the rest of an answer that no client waits for, so that the connection can be used again; from the parsed head at
    /// the front of its input.
    /// - Parameter capture: gets a copy; fails when the body broke off.
    /// - Returns: false when the body's framing was broken.
    func drain(_ upstream: Connection, into capture: AnswerCapture?, toHead: Bool = false) async -> Bool {
        let head = upstream.head
        capture?.begin(upstream.input.readable, head)
        var scanner = BodyScanner.response(head, toHead: toHead)
        upstream.input.consume(head.length)
        while true {
            let used = scanner.scan(upstream.input.readable, upstream.input.count) { capture?.add($0, $1) }
            guard let used else {
                discard(upstream)
                capture?.fail()
                return false
            }
            upstream.input.consume(used)
            if scanner.isDone { break }
            do throws(IOFailure) { try await upstream.fill(timeout: timeout) } catch {
                if error == .closed, scanner.endsWithConnection { break }
                // The head has said what there is to say; a body that breaks off does not change it.
                discard(upstream)
                capture?.fail()
                return true
            }
        }
        capture?.complete()
        give(upstream, reusable: head.keepAlive && !scanner.endsWithConnection)
        return true
    }
}
