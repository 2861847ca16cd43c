internal import CJSONTokens

/// Where a JSON token begins.
typealias Token = UnsafePointer<UInt8>

/// The tokens that come next in a document: a window that moves on as they are read.
///
/// Unsafe inside, safe by this rule: whoever reads up to ``lookahead`` tokens from `next` on has compared it with `last`
/// before, or asked ``refill()``. Behind the document's last token the window holds the place of a zero, which no token
/// begins with: it can be read, and is refused by whatever reads it.
struct TokenWindow: ~Copyable {
    /// How many tokens may be looked at between two looks at whether they are there.
    static let lookahead = 8
    /// Large enough that refilling costs little, small enough to stay in the nearest cache.
    private static let capacity = 1024

    private let places: UnsafeMutablePointer<Token>
    private let zero: UnsafeMutablePointer<UInt8>
    private var filled = 0
    private var scan = json_tokens()
    private var isAtEnd = true
    /// The next token.
    var next: UnsafePointer<Token>
    /// The last place of `next` at which ``lookahead`` tokens can be read.
    private(set) var last: UnsafePointer<Token>

    init() {
        places = .allocate(capacity: Self.capacity)
        zero = .allocate(capacity: 1)
        zero.initialize(to: 0)
        places.initialize(repeating: UnsafePointer(zero), count: Self.capacity)
        next = UnsafePointer(places)
        last = next
    }

    deinit {
        places.deallocate()
        zero.deallocate()
    }

    /// Whether the document has no more tokens; ``lookahead`` tokens have to be there.
    var isEmpty: Bool { next.pointee == UnsafePointer(zero) }

    /// Begins a document.
    mutating func open(_ base: UnsafePointer<UInt8>, count: Int) throws(NotJSON) {
        scan = json_tokens()
        scan.text = base
        scan.count = count
        isAtEnd = false
        next = UnsafePointer(places)
        filled = 0
        try refill()
    }

    /// Forgets the document.
    mutating func close() {
        scan = json_tokens()
        isAtEnd = true
    }

    /// Moves the window on, so that ``lookahead`` tokens can be read; what was before `next` is gone.
    @inline(never)
    mutating func refill() throws(NotJSON) {
        guard !isAtEnd else { return }
        let left = UnsafePointer(places + filled) - next
        places.update(from: next, count: left)
        filled = left
        // The zeros behind the last token need room too.
        let room = Self.capacity &- filled &- 2 &* Self.lookahead
        filled &+= places.withMemoryRebound(to: Token?.self, capacity: Self.capacity) { places in
            json_tokens_scan(&scan, places + filled, room)
        }
        guard !scan.is_faulty else { throw NotJSON() }
        if scan.scanned == scan.count {
            isAtEnd = true
            (places + filled).update(repeating: UnsafePointer(zero), count: 2 &* Self.lookahead)
            filled &+= 2 &* Self.lookahead
        }
        next = UnsafePointer(places)
        last = next + (filled &- Self.lookahead)
    }
}
