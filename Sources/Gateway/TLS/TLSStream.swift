import COpenSSL
import Telemetry

/// The encrypted side of one connection. Confined to its connection's loop; one reader and one writer at a time.
///
/// Unsafe inside: it owns its SSL, which owns the wire and its BIO; all three live exactly as long as this object. The
/// descriptor belongs to the connection, which says when it is closed; no byte moves after that.
final class TLSStream: @unchecked Sendable {
    /// What one record carries at most (RFC 8446 §5.1).
    static let recordBytes = 16_384

    enum Step {
        case done, wantsRead, wantsWrite
    }

    private let ssl: OpaquePointer
    private let wire: UnsafeMutablePointer<ctls_wire>
    /// Made the SSL; its callbacks point there.
    private let maker: AnyObject
    private(set) var isEstablished = false
    /// The last read has left something behind that a further read may get at.
    private(set) var isWorthReading = true
    /// What reading waits for is that the descriptor can be written (a key update), and the other way round.
    private var readWaitsForWrite = false
    private var writeWaitsForRead = false
    /// Why nothing more will come.
    private var ending: IOFailure?
    private var hasReceived = false
    /// Why the peer refused this side only after the handshake, as TLS 1.3 has it for certificates of clients.
    private(set) var lateRefusal: TLSFailure?

    /// - Parameters:
    ///   - ssl: owned from now on; set up for either role.
    ///   - maker: kept alive for as long as the stream.
    init?(_ ssl: OpaquePointer, fd: Int32, maker: AnyObject) {
        guard let wire = ctls_attach(ssl, fd) else {
            SSL_free(ssl)
            return nil
        }
        self.ssl = ssl
        self.wire = wire
        self.maker = maker
    }

    deinit {
        // A session whose connection ended without a farewell may be resumed all the same: else OpenSSL takes it for bad.
        SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
        SSL_free(ssl)
    }

    // MARK: The descriptor

    var canRead: Bool { wire.pointee.can_read != 0 }
    var canWrite: Bool { wire.pointee.can_write != 0 }
    var isWorthWriting: Bool { canWrite && !writeWaitsForRead }

    /// The number may be somebody else's already.
    func descriptorClosed() {
        wire.pointee.fd = -1
        if ending == nil { ending = .aborted }
    }

    /// Edges of epoll.
    /// - Returns: which operation, other than the edge's own, is worth trying now.
    func heard(readable: Bool, writable: Bool, hungUp: Bool) -> (read: Bool, write: Bool) {
        if readable { wire.pointee.can_read = 1 }
        if writable { wire.pointee.can_write = 1 }
        if hungUp { wire.pointee.hung_up = 1 }
        let crossed = (read: writable && readWaitsForWrite, write: readable && writeWaitsForRead)
        if crossed.read { readWaitsForWrite = false }
        if crossed.write { writeWaitsForRead = false }
        return crossed
    }

    // MARK: Handshake

    func handshake() throws(TLSFailure) -> Step {
        switch ctls_handshake(ssl) {
        case 1:
            isEstablished = true
            return .done
        case Int(CTLS_WANT_READ): return .wantsRead
        case Int(CTLS_WANT_WRITE): return .wantsWrite
        case Int(CTLS_FAILED):
            ending = .reset
            throw TLSFailure.taken(from: ssl)
        default:
            ending = .reset
            throw TLSFailure(.closed, "the peer closed the connection")
        }
    }

    var isVersion13: Bool { SSL_version(ssl) == TLS1_3_VERSION }
    var isResumed: Bool { ctls_has_resumed(ssl) != 0 }
    /// HTTP/2 is what both sides have agreed on (RFC 7301).
    var speaksHTTP2: Bool {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &count)
        return count == 2 && name?[0] == UInt8(ascii: "h") && name?[1] == UInt8(ascii: "2")
    }

    // MARK: Bytes

    /// Reads until `count` bytes are there or nothing more is at hand.
    /// - Returns: how many; 0 when nothing has arrived.
    func read(_ p: UnsafeMutablePointer<UInt8>, _ count: Int) throws(IOFailure) -> Int {
        if let ending { throw ending }
        var done = 0
        repeat {
            let n = ctls_read(ssl, p + done, count - done)
            guard n > 0 else {
                let end = stopped(n)
                if let end, done == 0 { throw end }
                break
            }
            done += n
            isWorthReading = canRead || SSL_has_pending(ssl) != 0
        } while isWorthReading && done < count
        if done > 0 { hasReceived = true }
        return done
    }

    /// Writes at most one record.
    /// - Returns: how many bytes; 0 when the descriptor takes nothing.
    func write(_ p: UnsafePointer<UInt8>, _ count: Int) throws(IOFailure) -> Int {
        if let ending, ending != .closed { throw ending }
        let n = ctls_write(ssl, p, count)
        if n > 0 { return n }
        if n == Int(CTLS_WANT_WRITE) { return 0 }
        if n == Int(CTLS_WANT_READ) {
            writeWaitsForRead = true
            return 0
        }
        forgetErrors(n)
        if ending == nil { ending = .reset }
        throw .reset
    }

    /// Whether data of the peer, or its end, can be read. What only concerns the protocol (tickets, key updates) is dealt with.
    var hasArrivals: Bool {
        if !isEstablished || ending != nil { return true }
        var byte: UInt8 = 0
        let n = ctls_peek(ssl, &byte, 1)
        return n > 0 || stopped(n) != nil || isWorthReading
    }

    /// Whether there is data of the peer that was not read.
    var holdsData: Bool {
        guard isEstablished, ending == nil else { return false }
        var byte: UInt8 = 0
        let n = ctls_peek(ssl, &byte, 1)
        if n <= 0 { _ = stopped(n) }
        return n > 0
    }

    /// Bytes of a record that is not whole yet (or of one that was not read).
    var holdsPart: Bool { ctls_holds_part(ssl) != 0 }

    /// Tells the peer that this side is done, so that it can tell an end from a break (RFC 8446 §6.1).
    func finishWriting() {
        guard isEstablished, ending == nil || ending == .closed else { return }
        ctls_notify(ssl)
    }

    /// Nothing could be read.
    /// - Returns: why nothing more will come; nil when it may.
    private func stopped(_ n: Int) -> IOFailure? {
        switch n {
        case Int(CTLS_WANT_READ):
            isWorthReading = canRead
            return nil
        case Int(CTLS_WANT_WRITE):
            isWorthReading = canWrite
            readWaitsForWrite = !canWrite
            return nil
        case Int(CTLS_CLOSED): ending = .closed
        case Int(CTLS_FAILED):
            let failure = TLSFailure.taken(from: ssl)
            ending = .reset
            if !hasReceived, failure.isRefusedCertificate {
                // Sent while the peer was still at the handshake: it has looked at no byte of the request.
                lateRefusal = failure
                ending = .refused
            }
        default: ending = .reset
        }
        // Trying again says it again.
        isWorthReading = true
        return ending
    }

    private func forgetErrors(_ n: Int) {
        if n == Int(CTLS_FAILED) { ERR_clear_error() }
    }

    // MARK: Sessions

    /// The session as it can be resumed on another connection; nil when it cannot.
    func resumable() -> TLSSession? {
        guard let session = SSL_get_session(ssl), SSL_SESSION_is_resumable(session) == 1 else { return nil }
        return SSL_SESSION_dup(session).map(TLSSession.init)
    }
}

/// A session that later handshakes may resume. Owns its SSL_SESSION. Confined to its loop.
///
/// A copy of its own, and each connection gets another one: OpenSSL marks the session of a connection that ends without a
/// farewell as bad, and backends close idle connections in that way.
final class TLSSession {
    private let handle: OpaquePointer

    /// - Parameter handle: owned from now on.
    init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { SSL_SESSION_free(handle) }

    /// Offers it to the backend in the handshake to come.
    func resume(on ssl: OpaquePointer) {
        guard let copy = SSL_SESSION_dup(handle) else { return }
        SSL_set_session(ssl, copy)
        SSL_SESSION_free(copy)
    }
}
