import CLinux
import HTTPWire

/// A socket whose reads and writes suspend the calling task when the kernel says EAGAIN.
///
/// Edge-triggered: the flags say when a system call is worth trying, so that a short read is not followed by a second
/// one just to see EAGAIN. Confined to its loop's thread; one reader and one writer at a time.
final class Connection: Channel {
    let input: Buffer
    let output: Buffer
    let head: MessageHead
    /// A pooled connection that has carried a request before: its peer may have closed it meanwhile.
    var reused = false
    /// The first byte went out, so the connect succeeded.
    private(set) var isConnected: Bool
    private(set) var hungUp = false
    /// The backend connection that works for this client: given up when the client goes away.
    var partner: Connection?
    /// While this backend connection takes in a request body: the client whose reading is interrupted when the backend
    /// answers early (or hangs up) instead of taking the rest.
    var earlyAnswerInterrupts: Connection?
    /// Called when something happens while the connection is `isIdle`: pooled connections close themselves here.
    var onIdleEvent: (() -> Void)?
    /// The request under way was sent before on another connection, which broke: the backend may have applied it then.
    var carriesRepeat = false
    /// The backend answered before it had the whole request: nothing more can be sent on this connection.
    var isSpent = false
    /// When it was given back to its pool, in loop milliseconds.
    var idleSince: UInt64 = 0
    /// In a pool, with no task waiting for it.
    var isIdle = false
    /// What passes is encrypted by this; set before the first byte.
    private(set) var tls: TLSStream?
    /// Not a socket but a stream of an HTTP/2 connection, which has its bytes.
    private(set) var stream: HTTP2Stream?

    private unowned(unsafe) let loop: EventLoop
    private var canRead: Bool
    private var canWrite: Bool
    private var reader: UnsafeContinuation<Void, Never>?
    private var writer: UnsafeContinuation<Void, Never>?
    private var interruption: IOFailure?

    /// - Parameters:
    ///   - connecting: the descriptor's connect is still under way: the first write waits for it.
    ///   - listening: clients are accepted from it; other loops may do so, too.
    ///   - predecessor: has stood for the descriptor on the loop so far.
    init(
        fd: Int32, loop: EventLoop, limits: WireLimits, connecting: Bool, listening: Bool = false,
        insteadOf predecessor: Channel? = nil
    ) {
        self.loop = loop
        input = Buffer(pool: loop.blocks)
        output = Buffer(pool: loop.blocks)
        head = MessageHead(limits: limits)
        canRead = !connecting
        canWrite = !connecting
        isConnected = !connecting
        super.init(fd: fd)
        if let predecessor {
            loop.hand(over: predecessor, to: self)
        } else {
            loop.add(self, for: listening ? EventLoop.listening : EventLoop.talking)
        }
    }

    /// The gateway's end of a stream of an HTTP/2 connection; it has no descriptor.
    init(stream: HTTP2Stream, loop: EventLoop, limits: WireLimits) {
        self.loop = loop
        self.stream = stream
        input = Buffer(pool: loop.blocks)
        output = Buffer(pool: loop.blocks)
        head = MessageHead(limits: limits)
        canRead = true
        canWrite = true
        isConnected = true
        super.init(fd: -1)
        loop.add(self, for: EventLoop.talking)
    }

    var isOpen: Bool { slot >= 0 }

    /// What passes between the client and the gateway is encrypted.
    var isSecure: Bool { tls != nil || stream?.session.client.tls != nil }

    func close() {
        partner = nil
        earlyAnswerInterrupts = nil
        onIdleEvent = nil
        if isOpen { loop.close(self) }
        tls?.descriptorClosed()
        if let stream {
            self.stream = nil
            stream.connectionClosed()
        }
        interrupt(.aborted)
    }

    // MARK: Loop side

    override func ready(_ events: UInt32) {
        let broken = events & (EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 || broken { canRead = true }
        if events & EPOLLOUT.rawValue != 0 || broken { canWrite = true }
        if events & EPOLLRDHUP.rawValue != 0 || broken { hungUp = true }
        if let tls { heard(events, broken, tls) }
        if canWrite { resumeWriter() }
        if canRead, !resumeReader(), tls == nil || hasArrivals {
            if isIdle { onIdleEvent?() }
            if let partner, isGone { partner.interrupt(.aborted) }
            if let client = earlyAnswerInterrupts {
                client.interrupt(.aborted)
                interrupt(.aborted)
            }
        }
    }

    /// The peer has closed and left nothing unread: like nginx, a client that half-closes while it waits is taken for gone.
    var isGone: Bool {
        guard hungUp else { return false }
        // What is unread may be no more than the farewell of the protocol.
        if let tls { return !tls.holdsData }
        if let stream { return stream.isRead }
        var byte: UInt8 = 0
        return recv(fd, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) <= 0
    }

    override func timedOut() {
        if isIdle { onIdleEvent?() } else { interrupt(.timeout) }
    }

    /// Makes the waiting read or write fail with `failure`.
    func interrupt(_ failure: IOFailure) {
        guard reader != nil || writer != nil else { return }
        interruption = failure
        _ = resumeReader()
        resumeWriter()
    }

    @inline(__always)
    private func resumeReader() -> Bool {
        guard let task = reader else { return false }
        reader = nil
        task.resume()
        return true
    }

    @inline(__always)
    private func resumeWriter() {
        guard let task = writer else { return }
        writer = nil
        task.resume()
    }

    // MARK: Task side

    /// Reads at least one more byte into `input`.
    /// - Parameter timeout: milliseconds.
    @inline(__always)
    func fill(timeout: Int64) async throws(IOFailure) {
        while true {
            if try receive() { return }
            loop.setDeadline(self, timeout)
            await withUnsafeContinuation { reader = $0 }
            deadline = 0
            if let failure = takeInterruption() { throw failure }
        }
    }

    /// Waits until the peer has sent something. After a second of silence it holds no memory for that any more.
    @inline(__always)
    func waitReadable(timeout: Int64) async throws(IOFailure) {
        if try await waitReadableBriefly(timeout: timeout) { return }
        try await waitReadableForLong(timeout: timeout - Connection.briefMilliseconds)
    }

    /// Waits until the peer has sent something, but only for the first second of `timeout`.
    /// - Returns: false when that second has passed and `timeout` has not.
    @inline(__always)
    func waitReadableBriefly(timeout: Int64) async throws(IOFailure) -> Bool {
        if canRead { return true }
        loop.setDeadline(self, min(timeout, Connection.briefMilliseconds))
        await withUnsafeContinuation { reader = $0 }
        deadline = 0
        guard let failure = takeInterruption() else { return true }
        guard failure == .timeout, timeout > Connection.briefMilliseconds else { throw failure }
        // Whoever closed it in that very moment found nobody waiting any more.
        guard isOpen else { throw .aborted }
        return canRead
    }

    /// After so long a silence a connection begins to do without memory.
    static let briefMilliseconds: Int64 = 1000

    private func waitReadableForLong(timeout: Int64) async throws(IOFailure) {
        input.releaseIfEmpty()
        output.releaseIfEmpty()
        if canRead { return }
        loop.setDeadline(self, timeout)
        await withUnsafeContinuation { reader = $0 }
        deadline = 0
        if let failure = takeInterruption() { throw failure }
    }

    /// Something has arrived (or the peer has hung up) that was not read yet.
    var hasArrivals: Bool {
        if let tls, canRead { canRead = tls.hasArrivals }
        return canRead
    }

    /// The next read asks the kernel, whatever it has told so far.
    func listenOnceMore() { canRead = true }

    /// The kernel has nothing more: the next read waits for an edge. For listening descriptors, which are not read.
    func readExhausted() { canRead = false }

    /// Nothing has arrived and the peer has not hung up: fit for the next request.
    var isQuiet: Bool { isOpen && !hungUp && !hasArrivals }

    /// One attempt to read; false means EAGAIN.
    @inline(__always)
    func receive() throws(IOFailure) -> Bool {
        guard canRead, isOpen else {
            if !isOpen { throw .aborted }
            return false
        }
        input.reserve(2048)
        let want = input.free
        if let tls { return try receive(want, tls) }
        if let stream {
            let n = try stream.read(into: input)
            if n == 0 { canRead = false }
            return n > 0
        }
        let n = clinux_recv(fd, input.writable, want)
        if n > 0 {
            input.produced(n)
            if n < want && !hungUp { canRead = false }
            return true
        }
        if n == 0 { throw .closed }
        if n == -Int(EAGAIN) || n == -Int(EINTR) {
            canRead = n == -Int(EINTR)
            return false
        }
        throw isConnected ? .reset : .refused
    }

    /// Writes all of `output`.
    @inline(__always)
    func flush(timeout: Int64) async throws(IOFailure) {
        try await write(output, output.count, timeout: timeout)
    }

    /// Writes all of `output`, unless the backend answers (and perhaps closes) before it has taken it all: then what it
    /// says counts, and nothing more is sent (RFC 9112 §9.3).
    func flushUnlessAnswered(timeout: Int64) async throws(IOFailure) {
        let whole = output.count
        earlyAnswerInterrupts = self
        defer { earlyAnswerInterrupts = nil }
        while true {
            do throws(IOFailure) { return try await flush(timeout: timeout) } catch {
                guard output.count < whole, isOpen else { throw error }
                switch earlyAnswer(after: error) {
                case .none: throw error
                case .interim: continue
                case .final:
                    output.clear()
                    isSpent = true
                    return
                }
            }
        }
    }

    /// Writes and consumes the first `count` bytes of a buffer.
    @inline(__always)
    func write(_ buffer: Buffer, _ count: Int, timeout: Int64) async throws(IOFailure) {
        var left = count
        while left > 0 {
            let n = try send(buffer.readable, left)
            if n > 0 {
                buffer.consume(n)
                left &-= n
            } else {
                try await waitWritable(timeout)
            }
        }
    }

    /// Writes `output` and then the first `count` bytes of `body`, together where the kernel takes them.
    @inline(__always)
    func flush(with body: Buffer, _ count: Int, timeout: Int64) async throws(IOFailure) {
        var count = count
        if tls != nil {
            count &-= join(body, count)
        } else if !output.isEmpty, canWrite, isOpen, count > 0, stream == nil {
            let n = clinux_send2(fd, output.readable, output.count, body.readable, count)
            if n > 0 {
                isConnected = true
                let fromHead = min(n, output.count)
                if n < output.count &+ count { canWrite = false }
                output.consume(fromHead)
                body.consume(n &- fromHead)
                if fromHead &+ count == n { return }
                try await flush(timeout: timeout)
                return try await write(body, count &- (n &- fromHead), timeout: timeout)
            }
        }
        try await flush(timeout: timeout)
        try await write(body, count, timeout: timeout)
    }

    /// Writes bytes that live elsewhere; the caller keeps them alive.
    func write(bytes: UnsafeBufferPointer<UInt8>, timeout: Int64) async throws(IOFailure) {
        guard let base = bytes.baseAddress else { return }
        var done = 0
        while done < bytes.count {
            let n = try send(base + done, bytes.count - done)
            if n > 0 { done += n } else { try await waitWritable(timeout) }
        }
    }

    /// Waits until a write is worth trying.
    func waitWritable(_ timeout: Int64) async throws(IOFailure) {
        if canWrite { return }
        // A backend may have spoken between two waits, when there was nobody to be interrupted.
        if earlyAnswerInterrupts != nil, hasArrivals { throw .aborted }
        let readersDeadline = reader == nil ? 0 : deadline
        loop.setDeadline(self, timeout)
        await withUnsafeContinuation { writer = $0 }
        deadline = reader == nil ? 0 : readersDeadline
        if let failure = takeInterruption() { throw failure }
    }

    /// Waits for a connect that is under way.
    @inline(__always)
    func finishConnecting(timeout: Int64) async throws(IOFailure) {
        if isConnected { return }
        try await waitWritable(timeout)
        if clinux_socket_error(fd) != 0 { throw .refused }
        isConnected = true
    }

    /// One attempt to send; 0 means EAGAIN.
    @inline(__always)
    private func send(_ p: UnsafePointer<UInt8>, _ count: Int) throws(IOFailure) -> Int {
        guard canWrite, isOpen else {
            if !isOpen { throw .aborted }
            return 0
        }
        if let tls { return try send(p, count, tls) }
        if let stream {
            let n = try stream.write(p, count)
            if n < count { canWrite = false }
            return n
        }
        let n = clinux_send(fd, p, count)
        if n >= 0 {
            isConnected = true
            if n < count { canWrite = false }
            return n
        }
        if n == -Int(EAGAIN) || n == -Int(EINTR) {
            canWrite = n == -Int(EINTR)
            return 0
        }
        throw isConnected ? .reset : .refused
    }

    /// Says that no more will be sent, so that the peer sees the end before the descriptor closes.
    func finishWriting() {
        if let stream { return stream.finishWriting() }
        tls?.finishWriting()
        _ = shutdown(fd, Int32(SHUT_WR))
    }

    /// Lets the peer read what it was sent before the descriptor goes: closing with unread input would reset the connection and
    /// take the answer with it (RFC 9112 §9.6). What it goes on to send is dropped.
    func closeGently() async {
        guard isOpen else { return }
        finishWriting()
        let end = loop.now &+ Connection.lingerMilliseconds
        var turns = 0
        do throws(IOFailure) {
            while loop.now < end {
                input.clear()
                try await fill(timeout: Int64(end &- loop.now))
                turns &+= 1
                // Who sends as fast as this reads would keep the loop to itself, and its clock from going on.
                if turns & 15 == 0 { await loop.yield() }
            }
        } catch {}
        close()
    }

    private static let lingerMilliseconds: UInt64 = 1000

    /// Closing will tell the peer that something is missing, where nothing else does: with TLS the farewell is left out, a stream
    /// of HTTP/2 is reset, and a bare connection ends in a reset, too.
    func endsInReset() {
        if isOpen, tls == nil, stream == nil { clinux_reset_on_close(fd) }
    }

    @inline(__always)
    private func takeInterruption() -> IOFailure? {
        if interruption == nil { return nil }
        defer { interruption = nil }
        return interruption
    }
}

// MARK: TLS

extension Connection {
    /// Encrypts what passes from now on, once both sides have agreed how. Before the first byte.
    /// - Parameter timeout: milliseconds for the whole handshake.
    func secure(with stream: TLSStream, timeout: Int64) async throws(TLSFailure) {
        tls = stream
        let end = loop.now &+ UInt64(max(0, timeout))
        while true {
            guard isOpen else { throw TLSFailure(.aborted) }
            let step = try stream.handshake()
            do throws(IOFailure) {
                let left = Int64(end) - Int64(loop.now)
                if step != .done, left <= 0 { throw .timeout }
                switch step {
                case .done:
                    // Data may have come together with the last flight: then no edge tells of it.
                    canRead = true
                    canWrite = true
                    return
                case .wantsRead:
                    canRead = stream.canRead
                    try await waitReadableOnce(left)
                case .wantsWrite:
                    canWrite = stream.canWrite
                    try await waitWritable(left)
                }
            } catch {
                throw TLSFailure(error)
            }
        }
    }

    /// As `fill`, for what has to be there in time as a whole: the bytes of a record, of which nothing can be read before
    /// its last one, prolong nothing.
    @inline(__always)
    func fill(within timeout: Int64) async throws(IOFailure) {
        if tls == nil { return try await fill(timeout: timeout) }
        try await fillRecord(within: timeout)
    }

    private func fillRecord(within timeout: Int64) async throws(IOFailure) {
        let end = loop.now &+ UInt64(max(0, timeout))
        while try !receive() {
            let left = Int64(end) - Int64(loop.now)
            if left <= 0 { throw .timeout }
            try await waitReadableOnce(left)
        }
    }

    /// What the peer sends next is taken as it is: it has turned out not to speak TLS.
    func giveUpTLS() { tls = nil }

    private func waitReadableOnce(_ timeout: Int64) async throws(IOFailure) {
        if canRead { return }
        loop.setDeadline(self, timeout)
        await withUnsafeContinuation { reader = $0 }
        deadline = 0
        if let failure = takeInterruption() { throw failure }
    }

    /// A handshake is under way.
    var isSecuring: Bool { tls.map { !$0.isEstablished } ?? false }

    /// The beginning of a record has arrived, and not yet the rest.
    var holdsPartOfRecord: Bool { tls?.holdsPart ?? false }

    private func heard(_ events: UInt32, _ broken: Bool, _ tls: TLSStream) {
        let readable = events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 || broken
        let writable = events & EPOLLOUT.rawValue != 0 || broken
        let crossed = tls.heard(readable: readable, writable: writable, hungUp: hungUp)
        if crossed.read { canRead = true }
        if crossed.write { canWrite = true }
    }

    private func receive(_ want: Int, _ tls: TLSStream) throws(IOFailure) -> Bool {
        let n = try tls.read(input.writable, want)
        canRead = tls.isWorthReading
        input.produced(n)
        return n > 0
    }

    private func send(_ p: UnsafePointer<UInt8>, _ count: Int, _ tls: TLSStream) throws(IOFailure) -> Int {
        let n = try tls.write(p, count)
        canWrite = tls.isWorthWriting
        return n
    }

    /// Puts as much of a body behind what waits in `output` as goes out with it in one record.
    /// - Returns: how many bytes of the body that were.
    private func join(_ body: Buffer, _ count: Int) -> Int {
        guard !output.isEmpty else { return 0 }
        let fits = min(count, TLSStream.recordBytes - output.count)
        guard fits > 0 else { return 0 }
        output.append(body.readable, fits)
        body.consume(fits)
        return fits
    }
}
