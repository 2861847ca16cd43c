/// What one HTTP/2 connection may hold and ask for.
enum HTTP2Limits {
    /// Requests under way on one connection (SETTINGS_MAX_CONCURRENT_STREAMS); one more is refused (REFUSED_STREAM), and its client
    /// may send it again (RFC 9113 §8.7).
    static let streams = 100
    /// Bytes of a request's body that a client may send ahead of what the backend, or the journal, has taken: the stream's window.
    static let windowBytes = 128 * 1024
    /// The connection's window: it never holds a stream up, what is kept for a stream is limited by its own.
    static let connectionWindowBytes = 1 << 20
    /// Bytes of an answer that wait for the client's window; more is not read from the backend meanwhile.
    static let answerBytes = 64 * 1024
    /// Frames are handed to the socket in pieces of about this size.
    static let outputBytes = 64 * 1024
    /// The most that an answer's head may have: what backends may send, and our own lines.
    static let answerHeadBytes = 512 * 1024
}

/// How much of something that costs the gateway more than its client is put up with: so many at once, and so many a second.
/// Rapid reset (CVE-2023-44487) and floods of PING, SETTINGS or empty frames (CVE-2019-9512, -9515, -9518) are of this kind.
struct HTTP2Budget {
    private let burst: Int
    private let perSecond: Int
    private var left: Int
    private var filled: UInt64

    /// - Parameter now: loop milliseconds.
    init(burst: Int, perSecond: Int, now: UInt64) {
        self.burst = burst
        self.perSecond = perSecond
        left = burst
        filled = now
    }

    /// - Returns: false when there is none left: the client is to be cut off.
    mutating func spend(now: UInt64) -> Bool {
        if left < burst {
            let earned = Int(clamping: now &- filled) * perSecond / 1000
            if earned > 0 {
                left = min(burst, left + earned)
                filled = now
            }
        } else {
            filled = now
        }
        guard left > 0 else { return false }
        left -= 1
        return true
    }
}
