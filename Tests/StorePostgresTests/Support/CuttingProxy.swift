import Glibc
import JournalThreads
import PostgresTestServer
import Synchronization

@testable import StorePostgres

/// Stands between a store and its server, counts round trips, and breaks connections where a network would.
final class CuttingProxy: Sendable {
    private struct State {
        var dropsAnswer = false
        var holdsRequest = false
        var held: (server: Int32, bytes: [UInt8])?
        var roundTrips = 0
        var isClosed = false
    }

    let directory: String
    private let target: String
    private let listener: Int32
    private let state = Mutex(State())

    init(_ server: PostgresServer) {
        var template = Array("/tmp/cutover-proxy-XXXXXX".utf8CString)
        directory = String(cString: mkdtemp(&template))
        target = server.directory + "/.s.PGSQL.5432"
        let door = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        listener = door
        let path = directory + "/.s.PGSQL.5432"
        precondition(Self.withAddress(path) { Glibc.bind(door, $0, $1) } == 0 && listen(door, 16) == 0)
        _ = Thread(name: "proxy") { [weak self] in
            while case let client = Glibc.accept(door, nil, nil), client >= 0 { self?.serve(client) }
            Glibc.close(door)
        }
    }

    deinit { close() }

    func address(_ database: String) throws -> PostgresAddress {
        try PostgresAddress("postgresql://postgres@/\(database)?host=\(directory)")
    }

    /// How often the server answered a request.
    var roundTrips: Int { state.withLock { $0.roundTrips } }

    /// The next answer is swallowed and the connection broken: the server did the work, and nobody hears of it.
    func dropNextAnswer() { state.withLock { $0.dropsAnswer = true } }

    /// The next request is kept back and the client's connection broken.
    func holdNextRequest() { state.withLock { $0.holdsRequest = true } }

    /// Lets the held request go on to the server, reads its answer to the end, and returns it.
    func releaseHeldRequest() -> [UInt8] {
        guard let held = state.withLock({ $0.held }) else { return [] }
        Self.send(held.bytes, to: held.server)
        shutdown(held.server, Int32(SHUT_WR))
        var answer: [UInt8] = []
        while case let bytes = Self.receive(held.server), !bytes.isEmpty { answer += bytes }
        Glibc.close(held.server)
        return answer
    }

    func close() {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        guard isFirst else { return }
        shutdown(listener, Int32(SHUT_RDWR))
        unlink(directory + "/.s.PGSQL.5432")
        rmdir(directory)
    }

    private func serve(_ client: Int32) {
        let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard Self.withAddress(target, { Glibc.connect(server, $0, $1) }) == 0 else {
            Glibc.close(client)
            Glibc.close(server)
            return
        }
        _ = Thread(name: "proxy pair") { [weak self] in
            var isAsking = false
            var isHeld = false
            while true {
                var descriptors = [
                    pollfd(fd: client, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: server, events: Int16(POLLIN), revents: 0),
                ]
                guard poll(&descriptors, 2, -1) > 0 else { break }
                if descriptors[0].revents != 0 {
                    let bytes = Self.receive(client)
                    guard let self, !bytes.isEmpty else { break }
                    isHeld = self.holds(bytes, for: server)
                    if isHeld { break }
                    isAsking = true
                    Self.send(bytes, to: server)
                }
                if descriptors[1].revents != 0 {
                    let bytes = Self.receive(server)
                    guard let self, !bytes.isEmpty, !self.drops(isFirst: isAsking) else { break }
                    isAsking = false
                    Self.send(bytes, to: client)
                }
            }
            Glibc.close(client)
            if !isHeld { Glibc.close(server) }
        }
    }

    private func holds(_ bytes: [UInt8], for server: Int32) -> Bool {
        state.withLock { state in
            guard state.holdsRequest else { return false }
            state.holdsRequest = false
            state.held = (server, bytes)
            return true
        }
    }

    private func drops(isFirst: Bool) -> Bool {
        state.withLock { state in
            if isFirst { state.roundTrips += 1 }
            defer { state.dropsAnswer = false }
            return state.dropsAnswer
        }
    }

    private static func receive(_ descriptor: Int32) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = read(descriptor, &buffer, buffer.count)
        return count > 0 ? Array(buffer[..<count]) : []
    }

    private static func send(_ bytes: [UInt8], to descriptor: Int32) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(100)) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
