import CLinux
import CNGHTTP2
import Gateway
import Glibc
import HTTPWire

@testable import ControlPlane
@testable import Gateway

/// Frames of HTTP/2 without a socket: what becomes a request is one head of HTTP/1.1 with one body behind it and nothing after
/// that, and is the same however the frames arrive.
///
/// An input that begins with `F` is one request as text, `name: value` lines and after an empty line its body, so that fields are
/// tried without a word of HPACK; any other is what a client sends after its preface.
final class HTTP2Fuzz {
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
    private let office = FuzzOffice()
    private let worker: Worker
    private let client: Connection
    private let limits = WireLimits(
        targetBytes: 1 << 20, headerLineBytes: 1 << 20, headerBytes: 1 << 20, headerLines: 10_000)

    init() {
        worker = office.dataPlane.workers[0]
        worker.loop.adoptThread()
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { fatalError("no socket pair") }
        client = Connection(fd: ends[0], loop: worker.loop, limits: worker.clientLimits, connecting: false)
    }

    func run(_ input: UnsafeBufferPointer<UInt8>) {
        // What is closed stays with the loop until its next turn. Time moves between inputs, so that both readings of one have the same.
        defer { while worker.loop.turnWithoutWaiting() {} }
        let bytes = input.first == UInt8(ascii: "F") ? frames(of: Array(input.dropFirst())) : Array(input)
        let whole = requests(Self.preface + bytes) { $0 }
        var cuts = Cuts(input)
        let parts = requests(Self.preface + bytes) { cuts.next(most: min($0, 40)) }
        // Where the connection ends in an error, the bytes before it have been understood or not by then.
        guard let whole, let parts else { return }
        // Chunks are as long as the pieces were: what counts is what they hold, and how much of a body has been handed over
        // before the input ends depends on the pieces. What was reset in one of the readings is compared in neither.
        for (id, text) in whole {
            guard let other = parts[id] else { continue }
            let (one, two) = (judged(text), judged(other))
            let isSame =
                one.head == two.head
                && (one.content.starts(with: two.content) || two.content.starts(with: one.content))
                && (!one.isWhole || !two.isWhole || one.content.count == two.content.count)
            require(isSame, "in pieces stream \(id) is another request: \(one) and \(two)")
        }
    }

    /// What a client has asked for, by stream: the bytes of HTTP/1.1 that the proxy gets to see; nil when the connection failed.
    private func requests(_ bytes: [UInt8], piece: (Int) -> Int) -> [Int32: [UInt8]]? {
        guard let session = HTTP2Session(worker: worker, client: client, peerText: Array("192.0.2.1".utf8)) else {
            fatalError("no session")
        }
        var ends: [Int32: Connection] = [:]
        var texts: [Int32: [UInt8]] = [:]
        defer {
            session.end()
            for end in ends.values { end.close() }
        }
        var (at, hasFailed) = (0, false)
        while at < bytes.count {
            let count = min(bytes.count - at, piece(bytes.count - at))
            let used = withExactCopy(bytes[at..<(at + count)]) { nghttp2_session_mem_recv(session.session, $0, count) }
            collect(session, &ends, &texts)
            // What it has to say meanwhile is taken by a client that reads.
            var said: UnsafePointer<UInt8>?
            while nghttp2_session_mem_send(session.session, &said) > 0 {}
            collect(session, &ends, &texts)
            guard used >= 0 else {
                hasFailed = true
                break
            }
            at += count
            if nghttp2_session_want_read(session.session) == 0 { break }
        }
        require(session.streams.count <= HTTP2Limits.streams, "\(session.streams.count) streams at once")
        // How much of a request that breaks a rule later was read by then depends on the pieces: it is reset, whatever it was.
        for (id, end) in ends where end.stream?.isReset != false { texts[id] = nil }
        return hasFailed ? nil : texts
    }

    /// Reads what the ends of all streams have, as their sessions would.
    private func collect(_ session: HTTP2Session, _ ends: inout [Int32: Connection], _ texts: inout [Int32: [UInt8]]) {
        for connection in session.arrived where ends.values.allSatisfy({ $0 !== connection }) {
            guard let id = connection.stream?.id else { continue }
            ends[id] = connection
            texts[id] = []
        }
        for (id, connection) in ends {
            guard let stream = connection.stream else { continue }
            while !stream.isRead {
                connection.input.reserve(1 << 16)
                guard let count = try? stream.read(into: connection.input), count > 0 else { break }
                texts[id, default: []] += connection.input.bytes
                connection.input.clear()
            }
        }
    }

    private struct Request: Equatable {
        var head: ArraySlice<UInt8>
        var content: [UInt8] = []
        var isWhole = false
    }

    /// What the proxy reads in the bytes of a stream.
    private func judged(_ text: [UInt8]) -> Request {
        let end = text.indices.first { text[$0...].starts(with: [13, 10, 13, 10]) }
        guard let end else { fatalError("half a head: \(String(decoding: text, as: UTF8.self))") }
        let head = MessageHead(limits: limits)
        let outcome = withExactCopy(text + [UInt8](repeating: 0, count: 8)) { head.parseRequest($0, text.count) }
        var request = Request(head: text[..<(end + 4)])
        switch outcome {
        case .incomplete: fatalError("half a head: \(String(decoding: text, as: UTF8.self))")
        // The proxy answers it with a status of its own, and reads nothing further from this stream.
        case .refused: return request
        case .complete: break
        }
        require(head.length == end + 4 && head.leading == 0 && head.minorVersion == 1, "not the head that was written")
        require(!head.wantsUpgrade && !head.has(.connection), "a field of the connection")
        var scanner = BodyScanner.request(head)
        let body = text[head.length...]
        let used = withExactCopy(body) { base in
            scanner.scan(base, body.count) { request.content += UnsafeBufferPointer(start: $0, count: $1) }
        }
        guard let used else { fatalError("a body that is malformed: \(String(decoding: text, as: UTF8.self))") }
        require(used == body.count, "\(body.count - used) bytes behind the request, which could be another one")
        request.isWhole = scanner.isDone
        return request
    }

    /// One HEADERS frame with its fields as literals that no table keeps (RFC 7541 §6.2.2), and a DATA frame.
    private func frames(of text: [UInt8]) -> [UInt8] {
        let lines = text.split(separator: 0x0a, omittingEmptySubsequences: false).map(Array.init)
        var block: [UInt8] = []
        var body: [UInt8]?
        for (index, line) in lines.enumerated() {
            if line.isEmpty {
                body = Array(lines[(index + 1)...].joined(separator: [0x0a]))
                break
            }
            // A colon may be a pseudo field's first letter.
            let colon = line.dropFirst().firstIndex(of: 0x3a) ?? line.endIndex
            let value = line[min(colon + 1, line.endIndex)...].drop { $0 == 0x20 }
            block.append(0)
            for part in [line[..<colon], value] { block += length(part.count) + part }
        }
        guard block.count < 16_384 else { return [] }
        var out = frame(1, flags: body == nil ? 5 : 4, block)
        if let body { out += frame(0, flags: 1, Array(body.prefix(16_384))) }
        return out
    }

    /// An integer of seven bits and more (RFC 7541 §5.1).
    private func length(_ count: Int) -> [UInt8] {
        guard count >= 127 else { return [UInt8(count)] }
        var (rest, out): (Int, [UInt8]) = (count - 127, [127])
        while rest >= 128 {
            out.append(UInt8(rest & 127 | 128))
            rest >>= 7
        }
        return out + [UInt8(rest)]
    }

    private func frame(_ kind: UInt8, flags: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let count = payload.count
        return [UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), kind, flags, 0, 0, 0, 1] + payload
    }
}
