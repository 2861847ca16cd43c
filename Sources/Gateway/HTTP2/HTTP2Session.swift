import CLinux
import CNGHTTP2
import Configuration
import HTTPWire
import Telemetry

/// One client's HTTP/2 connection (RFC 9113): frames and their compression are nghttp2's, and each stream is served by a
/// `ClientSession` of its own, so that split, dual write and shadow reads are those of HTTP/1.1. Confined to its loop.
///
/// Two tasks: one reads and lives as long as the connection, one writes whatever nghttp2 has to say.
final class HTTP2Session: @unchecked Sendable {
    unowned(unsafe) let worker: Worker
    let client: Connection
    let peerText: [UInt8]
    /// Understands the heads that the streams' sessions write; each is parsed in one go.
    let answerHead: MessageHead
    /// Owned; freed when the object goes, which both tasks and the callbacks outlive.
    let session: OpaquePointer
    private(set) var streams: [Int32: HTTP2Stream] = [:]
    /// Requests whose head came with what is being read: served once nghttp2 has returned.
    private(set) var arrived: [Connection] = []
    private var scratch: [nghttp2_nv] = []
    private let names: Buffer
    private var writer: UnsafeContinuation<Void, Never>?
    private var whenWritten: UnsafeContinuation<Void, Never>?
    private var isWriterDone = false
    private var hasNews = false
    private var isEnding = false
    /// The client has been told that no further request is taken.
    private var isLeaving = false
    /// It is told so when nothing is under way any more.
    private var leavesSoon = false
    /// Streams whose requests are served, which those are not whose fields are still to come.
    private var served = 0
    /// When the last of them ended, or the connection began, in loop milliseconds.
    private var quietSince: UInt64
    /// When a block of fields began that is not complete.
    private var fieldsBegan: UInt64?
    /// Requests that their client took back, or had the gateway reset.
    private var resets: HTTP2Budget
    /// Frames that ask for work and bring nothing.
    private var idleFrames: HTTP2Budget

    /// - Parameter client: its first bytes may be in the input already.
    init?(worker: Worker, client: Connection, peerText: [UInt8]) {
        self.worker = worker
        self.client = client
        self.peerText = peerText
        let limits = worker.clientLimits
        answerHead = MessageHead(
            limits: WireLimits(
                targetBytes: 8192, headerLineBytes: 128 * 1024, headerBytes: HTTP2Limits.answerHeadBytes,
                headerLines: 2000))
        names = Buffer(pool: worker.loop.blocks)
        quietSince = worker.loop.now
        resets = HTTP2Budget(burst: 200, perSecond: 50, now: worker.loop.now)
        idleFrames = HTTP2Budget(burst: 2_000, perSecond: 200, now: worker.loop.now)
        guard let session = HTTP2Session.makeSession() else { return nil }
        self.session = session
        nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
        let settings = [
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue),
                value: UInt32(HTTP2Limits.streams)),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue),
                value: UInt32(HTTP2Limits.windowBytes)),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: UInt32(limits.headerBytes)),
            // Priorities change nothing here (RFC 9113 §5.3.2, RFC 9218 §2.1).
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES.rawValue), value: 1),
        ]
        _ = nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
        _ = nghttp2_session_set_local_window_size(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, Int32(HTTP2Limits.connectionWindowBytes))
    }

    deinit { nghttp2_session_del(session) }

    private var loop: EventLoop { worker.loop }

    // MARK: Life

    /// Serves requests until the client or the gateway is done with the connection; it is closed then.
    func serve() async {
        Task.immediate(executorPreference: loop) { await self.write() }
        await read()
        end()
        if !isWriterDone { await withUnsafeContinuation { whenWritten = $0 } }
        await client.closeGently()
    }

    /// Nothing more comes from the client: what is under way for it is over. Streams hold their session, so this is also what lets go of
    /// it.
    func end() {
        isEnding = true
        let left = streams
        streams = [:]
        for stream in left.values { stream.reset() }
        tellWriter()
    }

    /// No further request is taken; those under way end.
    func shutDown() {
        guard !isEnding, !isLeaving else { return }
        isLeaving = true
        _ = nghttp2_submit_goaway(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nghttp2_session_get_last_proc_stream_id(session),
            NGHTTP2_NO_ERROR.rawValue, nil, 0)
        tellWriter()
        endWhenIdle()
    }

    /// As `shutDown`, after the first requests or so many milliseconds.
    func shutDownSoon(after milliseconds: Int64) {
        leavesSoon = true
        loop.schedule(after: milliseconds) { self.shutDown() }
    }

    private func endWhenIdle() {
        if leavesSoon, served == 0 { shutDown() }
        guard isLeaving, served == 0 else { return }
        client.interrupt(.aborted)
    }

    private func read() async {
        let timeouts = worker.snapshot.settings.timeouts
        var turns = 0
        do throws(IOFailure) {
            while true {
                turns &+= 1
                if turns & 15 == 0 {
                    // Frames that bring nothing and break no rule may come as fast as they are read.
                    await loop.yield()
                    // Nobody waited to be told of these meanwhile.
                    if isWriterDone || isLeaving && served == 0 { return }
                }
                if !client.input.isEmpty {
                    guard take() else { return }
                    if isLeaving, served == 0 { return }
                }
                let left = patience(timeouts)
                guard left > 0 else { throw .timeout }
                do throws(IOFailure) { try await client.fill(timeout: left) } catch {
                    guard error == .timeout, patience(timeouts) > 0 else { throw error }
                }
            }
        } catch {
            guard error == .timeout else { return }
            worker.metrics.limitHit(fieldsBegan == nil ? .clientIdleTime : .clientHeadTime)
            _ = nghttp2_session_terminate_session(session, NGHTTP2_NO_ERROR.rawValue)
        }
    }

    /// How long the client may still say nothing, in milliseconds. A head that has begun has to go on to its end, and
    /// a client for which nothing is under way has to ask for something: frames that bring nothing prolong neither. While it
    /// waits for answers it need not say anything.
    private func patience(_ timeouts: TimeoutSettings) -> Int64 {
        var left = timeouts.clientIdleMilliseconds
        if served == 0 { left -= Int64(loop.now &- quietSince) }
        if let fieldsBegan { left = min(left, timeouts.headMilliseconds - Int64(loop.now &- fieldsBegan)) }
        return left
    }

    /// Hands nghttp2 what has arrived, and serves the requests that came with it.
    /// - Returns: false when the connection is over.
    private func take() -> Bool {
        let used = nghttp2_session_mem_recv(session, client.input.readable, client.input.count)
        guard used >= 0 else {
            worker.metrics.malformedRequest()
            for connection in arrived { connection.close() }
            arrived = []
            return false
        }
        client.input.consume(used)
        client.input.releaseIfEmpty()
        let requests = arrived
        arrived.removeAll(keepingCapacity: true)
        for connection in requests { worker.serve(stream: connection, of: self) }
        tellWriter()
        return nghttp2_session_want_read(session) != 0 || nghttp2_session_want_write(session) != 0
    }

    /// The client costs more than it brings (RFC 9113 §10.5).
    private func cutOff() {
        worker.metrics.limitHit(.http2Flood)
        _ = nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM.rawValue)
    }

    // MARK: Writing

    private func write() async {
        let timeout = worker.snapshot.settings.timeouts.bodyMilliseconds
        while true {
            hasNews = false
            gather()
            if client.output.isEmpty {
                if isEnding || nghttp2_session_want_read(session) == 0 { break }
                if !hasNews { await withUnsafeContinuation { writer = $0 } }
                continue
            }
            do throws(IOFailure) { try await client.flush(timeout: timeout) } catch {
                client.interrupt(.aborted)
                break
            }
            client.output.releaseIfEmpty()
        }
        isWriterDone = true
        // The reader may wait for a client that has nothing more to say.
        client.interrupt(.aborted)
        whenWritten?.resume()
        whenWritten = nil
    }

    private func gather() {
        while client.output.count < HTTP2Limits.outputBytes {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &bytes)
            guard count > 0, let bytes else { return }
            client.output.append(bytes, count)
        }
    }

    private func tellWriter() {
        hasNews = true
        guard let task = writer else { return }
        writer = nil
        task.resume()
    }

    // MARK: For the streams

    func credit(_ stream: Int32, _ count: Int) {
        _ = nghttp2_session_consume_stream(session, stream, count)
        tellWriter()
    }

    func resume(_ stream: Int32) {
        _ = nghttp2_session_resume_data(session, stream)
        tellWriter()
    }

    func reset(_ stream: Int32, _ error: nghttp2_error_code) {
        _ = nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, error.rawValue)
        tellWriter()
    }

    /// Sends the head of an answer, without the fields that speak about a connection (RFC 9113 §8.2.2).
    func submit(
        _ head: MessageHead, _ p: UnsafePointer<UInt8>, stream: Int32, isInterim: Bool, hasBody: Bool
    ) {
        // Names in lower case (RFC 9113 §8.2.1), one behind the other; nghttp2 copies them.
        names.clear()
        names.reserve(head.length + 16)
        scratch.removeAll(keepingCapacity: true)
        let status = names.writable
        names.append(decimal: head.status)
        add(HTTP2Session.statusName.utf8Start, HTTP2Session.statusName.utf8CodeUnitCount, status, 3)
        for index in 0..<head.fieldCount {
            let field = head.field(index)
            switch field.kind {
            case .connection, .hopByHop, .namedByConnection, .transferEncoding, .upgrade: continue
            default: break
            }
            let name = names.writable
            let count = Int(field.nameEnd &- field.lineStart)
            for offset in 0..<count { names.append(byte: lowercased(p[Int(field.lineStart) + offset])) }
            let value = field.value(in: p)
            add(name, count, value.baseAddress ?? p, value.count)
        }
        if isInterim {
            _ = nghttp2_submit_headers(
                session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, nil, scratch, scratch.count, nil)
        } else if hasBody {
            var provider = nghttp2_data_provider()
            provider.read_callback = HTTP2Session.readAnswer
            _ = nghttp2_submit_response(session, stream, scratch, scratch.count, &provider)
        } else {
            _ = nghttp2_submit_response(session, stream, scratch, scratch.count, nil)
        }
        names.releaseIfEmpty()
        tellWriter()
    }

    private func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }

    private static let statusName: StaticString = ":status"

    private func add(
        _ name: UnsafePointer<UInt8>, _ nameCount: Int, _ value: UnsafePointer<UInt8>, _ valueCount: Int
    ) {
        scratch.append(
            nghttp2_nv(
                name: UnsafeMutablePointer(mutating: name), value: UnsafeMutablePointer(mutating: value),
                namelen: nameCount, valuelen: valueCount, flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
    }

    // MARK: What nghttp2 tells

    func requestBegins(_ id: Int32) {
        streams[id] = HTTP2Stream(id: id, session: self, limit: worker.clientLimits.headerBytes)
    }

    /// - Returns: false when the request is malformed.
    func field(
        _ id: Int32, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        streams[id]?.receive(field: name, value) ?? true
    }

    func data(_ id: Int32, _ bytes: UnsafePointer<UInt8>, _ count: Int) {
        // The connection's window never holds a stream up.
        _ = nghttp2_session_consume_connection(session, count)
        guard let stream = streams[id] else { return credit(id, count) }
        stream.receive(data: bytes, count)
    }

    func frameBegins(_ kind: UInt32) {
        switch kind {
        case NGHTTP2_HEADERS.rawValue: fieldsBegan = loop.now
        case NGHTTP2_CONTINUATION.rawValue: break
        // Nothing else may stand within a block of fields (RFC 9113 §4.3).
        default: fieldsBegan = nil
        }
    }

    func fieldsComplete(_ id: Int32, isLast: Bool) {
        fieldsBegan = nil
        guard let connection = streams[id]?.fieldsComplete(isLast: isLast) else { return }
        arrived.append(connection)
        served += 1
    }

    func requestComplete(_ id: Int32) { streams[id]?.requestComplete() }

    func bringsNothing() {
        if !idleFrames.spend(now: loop.now) { cutOff() }
    }

    func answerSent(_ id: Int32) {
        if streams[id]?.isAnsweredEarly == true { reset(id, NGHTTP2_NO_ERROR) }
    }

    func streamClosed(_ id: Int32, _ error: UInt32) {
        guard let stream = streams.removeValue(forKey: id) else { return }
        if stream.hasBegun {
            served -= 1
            quietSince = loop.now
        } else {
            fieldsBegan = nil
        }
        if error == NGHTTP2_NO_ERROR.rawValue {
            stream.closed()
        } else {
            stream.reset()
        }
        endWhenIdle()
    }

    func clientReset() {
        if !resets.spend(now: loop.now) { cutOff() }
    }

    func answer(
        _ id: Int32, into room: UnsafeMutablePointer<UInt8>, _ count: Int
    ) -> (bytes: Int, isLast: Bool)? {
        streams[id].map { $0.take(into: room, count) } ?? (0, true)
    }
}
