import CLinux
import Synchronization
import TestSupport
import Testing

@testable import Gateway

extension SeededGenerator {
    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
}

/// Runs a body as a task of a loop that has a thread of its own, and ends that thread afterwards.
func withLoop<Value: Sendable>(_ body: @escaping @Sendable (EventLoop) async throws -> Value) async throws -> Value {
    let loop = EventLoop()
    let ended = CountDown(1)
    startThread(name: "loop") {
        loop.run()
        ended.one()
    }
    let result = await Task(executorPreference: loop) { try await body(loop) }.result
    loop.stop()
    #expect(await offThread { ended.wait(milliseconds: 30_000) })
    return try result.get()
}

/// Blocking work, on a thread of its own.
func offThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        startThread(name: "helper") { continuation.resume(returning: work()) }
    }
}

/// Runs a body on several threads at once and blocks until all are done.
func concurrently(_ threads: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let done = CountDown(threads)
    for thread in 0..<threads {
        startThread(name: "helper") {
            body(thread)
            done.one()
        }
    }
    #expect(done.wait(milliseconds: 60_000))
}

/// The thread of the caller, as a number.
func currentThread() -> UInt { UInt(pthread_self()) }

/// Waits for something that another party brings about; false after half a minute.
func eventually(on loop: EventLoop, _ condition: () -> Bool) async -> Bool {
    for _ in 0..<30_000 {
        if condition() { return true }
        await loop.sleep(1)
    }
    return false
}

/// A list that several threads add to.
final class Record<Element: Sendable>: Sendable {
    private let list = Mutex<[Element]>([])

    func add(_ element: Element) { list.withLock { $0.append(element) } }
    var all: [Element] { list.withLock { $0 } }
}

/// A connected socket with calls that block, for the party that is not under test.
final class Peer: Sendable {
    let descriptor: Int32
    private let isClosed = Atomic<Bool>(false)

    init(_ descriptor: Int32) { self.descriptor = descriptor }
    deinit { close() }

    func close() {
        if !isClosed.exchange(true, ordering: .relaxed) { _ = CLinux.close(descriptor) }
    }

    /// Sends everything; false when the other end is gone.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { clinux_send(descriptor, $0.baseAddress, $0.count) }
            if count == -Int(EAGAIN), wait(POLLOUT) { continue }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Reads until there are so many bytes, or the end.
    func receive(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 65_536)
        while bytes.count < count {
            let got = clinux_recv(descriptor, &block, min(block.count, count - bytes.count))
            if got == -Int(EAGAIN), wait(POLLIN) { continue }
            guard got > 0 else { break }
            bytes += block[..<got]
        }
        return bytes
    }

    /// False after half a minute.
    private func wait(_ events: Int32) -> Bool {
        var poll = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        return CLinux.poll(&poll, 1, 30_000) > 0
    }

    /// Reads to the end.
    func receiveAll() -> String { String(decoding: receive(.max), as: UTF8.self) }
}

/// A pair of connected sockets: a descriptor that does not block, for a `Connection`, and its peer.
func socketPair(sendBuffer: Int32? = nil) -> (descriptor: Int32, peer: Peer) {
    var descriptors: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
    precondition(socketpair(AF_UNIX, kind, 0, &descriptors) == 0, "out of descriptors")
    if var size = sendBuffer {
        setsockopt(descriptors[0], SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    return (descriptors[0], Peer(descriptors[1]))
}
