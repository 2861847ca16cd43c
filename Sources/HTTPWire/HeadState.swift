/// What is known of a head, and how far it has been read.
@usableFromInline
struct HeadState {
    /// What the next byte belongs to.
    enum Phase: UInt8 {
        /// Empty lines before a request, its method.
        case start
        /// The rest of the first line.
        case firstLine
        case fields
        case complete
        case refused
    }

    @usableFromInline let limits: WireLimits
    var phase = Phase.start
    var fault = HeadFault.badMethod
    /// Where the line begins that is being read.
    var lineStart = 0
    /// Everything before it in that line is known to hold no control character; the search goes on here.
    var scanned = 0

    @usableFromInline var length = 0
    @usableFromInline var leading = 0
    @usableFromInline var firstLineEnd = 0
    @usableFromInline var methodEnd = 0
    @usableFromInline var targetEnd = 0
    @usableFromInline var pathStart = 0
    @usableFromInline var pathEnd = 0
    @usableFromInline var authorityStart = 0
    @usableFromInline var authorityEnd = 0
    @usableFromInline var status = 0
    @usableFromInline var minorVersion = 1
    @usableFromInline var contentLength = -1
    @usableFromInline var method = Method.other
    @usableFromInline var keepAlive = true
    @usableFromInline var isChunked = false
    @usableFromInline var expectsContinue = false
    @usableFromInline var wantsUpgrade = false

    /// What the `Connection` fields said so far.
    var saysClose = false
    var saysKeepAlive = false
    var saysUpgrade = false
    /// There are options besides these three: names of fields.
    var nominates = false

    /// A bit for each kind that occurs.
    @usableFromInline var kinds: UInt64 = 0
    @usableFromInline var fieldCount = 0
    @usableFromInline var fields: UnsafeMutablePointer<Field>
    var fieldCapacity: Int

    init(limits: WireLimits) {
        self.limits = limits
        fieldCapacity = max(1, min(32, limits.headerLines))
        fields = .allocate(capacity: fieldCapacity)
    }

    /// Forgets the message; the table of fields keeps its size.
    mutating func reset() {
        phase = .start
        lineStart = 0
        scanned = 0
        length = 0
        leading = 0
        firstLineEnd = 0
        methodEnd = 0
        targetEnd = 0
        pathStart = 0
        pathEnd = 0
        authorityStart = 0
        authorityEnd = 0
        status = 0
        minorVersion = 1
        contentLength = -1
        method = .other
        keepAlive = true
        isChunked = false
        expectsContinue = false
        wantsUpgrade = false
        saysClose = false
        saysKeepAlive = false
        saysUpgrade = false
        nominates = false
        kinds = 0
        fieldCount = 0
    }

    /// Reads on from where the last call ended.
    mutating func parse(_ p: UnsafePointer<UInt8>, _ n: Int, asRequest: Bool) -> HeadOutcome {
        if phase == .complete { reset() }
        if phase == .refused { return .refused(fault) }
        let outcome = parseOn(p, n, asRequest)
        if case .refused(let reason) = outcome {
            phase = .refused
            fault = reason
        }
        return outcome
    }

    @inline(__always)
    private mutating func parseOn(_ p: UnsafePointer<UInt8>, _ n: Int, _ asRequest: Bool) -> HeadOutcome {
        if phase == .start {
            switch asRequest ? parseMethod(p, n) : .done {
            case .done: phase = .firstLine
            case .incomplete: return .incomplete
            case .refused(let fault): return .refused(fault)
            }
        }
        if phase == .firstLine {
            switch asRequest ? parseRequestLine(p, n) : parseStatusLine(p, n) {
            case .done: phase = .fields
            case .incomplete: return .incomplete
            case .refused(let fault): return .refused(fault)
            }
        }
        switch parseFields(p, n) {
        case .done: break
        case .incomplete: return .incomplete
        case .refused(let fault): return .refused(fault)
        }
        if let fault = concludeFields(p, asRequest: asRequest) { return .refused(fault) }
        phase = .complete
        return .complete
    }

    /// What a part of the parser came to.
    enum Step {
        case done, incomplete
        case refused(HeadFault)
    }

    /// Where the line that is being read ends.
    enum LineEnd {
        /// Its CR, which the LF follows.
        case at(Int)
        case incomplete
        case refused(HeadFault)
    }

    /// Judges the first control character `stop` of the line (or `n`: none so far).
    @inline(__always)
    mutating func lineEnd(_ p: UnsafePointer<UInt8>, _ n: Int, stop: Int) -> LineEnd {
        if stop &+ 1 < n {
            if p[stop] == Bytes.carriageReturn {
                return p[stop &+ 1] == Bytes.lineFeed ? .at(stop) : .refused(.bareCarriageReturn)
            }
            return .refused(p[stop] == Bytes.lineFeed ? .bareLineFeed : .controlCharacter)
        }
        scanned = stop
        if stop >= n || p[stop] == Bytes.carriageReturn { return .incomplete }
        return .refused(p[stop] == Bytes.lineFeed ? .bareLineFeed : .controlCharacter)
    }
}
