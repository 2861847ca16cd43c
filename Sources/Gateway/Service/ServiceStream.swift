import CLinux

/// Sends a body in pieces, while nobody knows yet how long it gets. Confined to the service's loop.
///
/// Limits: what the kernel holds for the client is at most `kernelBytes`, so that a client that does not read is noticed soon; one
/// that takes nothing for `stalledMilliseconds` is given up.
package final class ServiceStream: @unchecked Sendable {
    static let kernelBytes: Int32 = 32 << 10
    static let stalledMilliseconds: Int64 = 10_000

    private let connection: Connection
    private let loop: EventLoop
    private let isChunked: Bool
    private(set) var isAbandoned = false
    private var isBroken = false
    /// The client took nothing for too long.
    package private(set) var isStalled = false
    private var goneAction: (@Sendable () -> Void)?

    /// - Parameter isChunked: the client understands chunks, and so can tell an end from a break.
    init(connection: Connection, loop: EventLoop, isChunked: Bool) {
        self.connection = connection
        self.loop = loop
        self.isChunked = isChunked
        var bytes = ServiceStream.kernelBytes
        setsockopt(connection.fd, SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Sends a piece; returns when the kernel has all of it.
    /// - Returns: false when the client is gone, or took nothing for too long.
    package func send(_ text: String) async -> Bool {
        guard !isGone else { return false }
        var text = text
        text.withUTF8 { append($0) }
        return await sent(isEmpty: text.isEmpty)
    }

    /// Sends a piece that is bytes already.
    package func send(_ bytes: [UInt8]) async -> Bool {
        guard !isGone else { return false }
        bytes.withUnsafeBufferPointer { append($0) }
        return await sent(isEmpty: bytes.isEmpty)
    }

    private func append(_ piece: UnsafeBufferPointer<UInt8>) {
        guard let base = piece.baseAddress, !piece.isEmpty else { return }
        if isChunked { connection.output.append(text: String(piece.count, radix: 16) + "\r\n") }
        connection.output.append(base, piece.count)
        if isChunked { connection.output.append("\r\n") }
    }

    private func sent(isEmpty: Bool) async -> Bool {
        if isEmpty { return true }
        await flush()
        return !isGone
    }

    /// Nobody listens any more. A client that half-closes while it waits is taken for gone.
    package var isGone: Bool { isBroken || isAbandoned || connection.hungUp || !connection.isOpen }

    /// Calls `action`, once, when the client goes away between two pieces, or has gone already.
    package func whenGone(_ action: @escaping @Sendable () -> Void) {
        goneAction = action
        connection.onIdleEvent = { [self] in tellIfGone() }
        watch()
    }

    /// What has been sent is not the whole: the client is to see a break, not an end.
    package func abandon() { isAbandoned = true }

    package func sleep(milliseconds: Int64) async { await loop.sleep(milliseconds) }

    /// Says that this was all, unless it was not.
    func finish() async {
        connection.isIdle = false
        connection.onIdleEvent = nil
        goneAction = nil
        guard isChunked, !isGone else { return }
        connection.output.append("0\r\n\r\n")
        await flush()
    }

    private func flush() async {
        // While something is written, what happens on the connection concerns the writer, time-outs included.
        connection.isIdle = false
        do throws(IOFailure) { try await connection.flush(timeout: ServiceStream.stalledMilliseconds) } catch {
            isBroken = true
            isStalled = error == .timeout
        }
        watch()
    }

    private func watch() {
        guard goneAction != nil else { return }
        connection.isIdle = true
        tellIfGone()
    }

    private func tellIfGone() {
        guard isGone, let action = goneAction else { return }
        goneAction = nil
        action()
    }
}
