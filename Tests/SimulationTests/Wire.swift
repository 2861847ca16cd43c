import CLinux

/// One end of a local stream socket, with what has arrived and what is still to go out. Nothing waits: `pump` moves what
/// the kernel takes and gives.
final class Wire {
    private(set) var descriptor: Int32
    var input: [UInt8] = []
    private var output: [UInt8] = []
    /// The other end has closed, or broken off.
    private(set) var isEnded = false

    init(descriptor: Int32) { self.descriptor = descriptor }
    deinit { close() }

    var isOpen: Bool { descriptor >= 0 }

    func close() {
        if descriptor >= 0 { _ = CLinux.close(descriptor) }
        descriptor = -1
    }

    func send(_ bytes: [UInt8]) {
        output += bytes
        _ = flush()
    }

    /// Sends what waits and takes in what has arrived.
    /// - Returns: whether anything moved.
    func pump() -> Bool {
        guard isOpen else { return false }
        let hasSent = flush()
        return take(.max) || hasSent
    }

    /// Sends what waits. Returns whether anything moved.
    func flush() -> Bool {
        guard isOpen, !output.isEmpty else { return false }
        let count = output.withUnsafeBytes { clinux_send(descriptor, $0.baseAddress, $0.count) }
        if count > 0 { output.removeFirst(count) }
        // Who broke off hears nothing any more.
        if count < 0, count != -Int(EAGAIN) { output = [] }
        return count > 0
    }

    /// Moves up to so many arrived bytes into `input`.
    func take(_ limit: Int) -> Bool {
        guard isOpen, !isEnded, limit > 0 else { return false }
        var hasTaken = false
        var left = limit
        while left > 0 {
            let count = withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 8) { room in
                let count = clinux_recv(descriptor, room.baseAddress, min(left, room.count))
                if count > 0 { input += UnsafeRawBufferPointer(start: room.baseAddress, count: count) }
                return count
            }
            if count == -Int(EAGAIN) || count == -Int(EINTR) { return hasTaken }
            hasTaken = true
            if count <= 0 {
                isEnded = true
                return true
            }
            left -= count
        }
        return hasTaken
    }

    /// What has arrived and was not taken, at most 64 KiB.
    func peek() -> [UInt8] {
        guard isOpen else { return [] }
        return withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 8) { room in
            let count = recv(descriptor, room.baseAddress, room.count, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
            return count > 0 ? Array(UnsafeRawBufferPointer(start: room.baseAddress, count: count)) : []
        }
    }

    /// Whether the other end has closed.
    var hasHungUp: Bool {
        guard isOpen else { return true }
        var poll = pollfd(fd: descriptor, events: 0, revents: 0)
        return CLinux.poll(&poll, 1, 0) > 0
    }
}

/// A connected pair of sockets that do not block.
func socketPair() -> (Int32, Int32) {
    var descriptors: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    precondition(socketpair(AF_UNIX, kind, 0, &descriptors) == 0, "out of descriptors")
    return (descriptors[0], descriptors[1])
}
