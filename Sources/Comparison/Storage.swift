/// Memory that grows and stays: the scratch stacks of a hasher. Elements are plain bits; nothing is initialised or torn
/// down one by one.
///
/// Unsafe inside, owned by one value: whoever reads `base` stays below `capacity`, and no pointer is kept over a call
/// that may grow it.
struct Storage<Element: BitwiseCopyable>: ~Copyable {
    private(set) var base: UnsafeMutablePointer<Element>
    private(set) var capacity: Int
    /// The number of elements in use, where it is used as a stack.
    var count = 0

    init(capacity: Int) {
        self.capacity = capacity
        base = .allocate(capacity: capacity)
    }

    deinit {
        base.deallocate()
    }

    @inline(__always)
    mutating func append(_ element: Element) {
        if count == capacity {
            grow(to: capacity * 2)
        }
        (base + count).initialize(to: element)
        count &+= 1
    }

    /// Makes room for `needed` elements in all.
    @inline(__always)
    mutating func reserve(_ needed: Int) {
        if needed > capacity {
            grow(to: max(needed, capacity * 2))
        }
    }

    /// Gives the memory back where a single huge document has made it larger than `limit` elements.
    mutating func trim(to limit: Int) {
        guard capacity > limit else { return }
        base.deallocate()
        base = .allocate(capacity: limit)
        capacity = limit
        count = 0
    }

    @inline(never)
    private mutating func grow(to newCapacity: Int) {
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: newCapacity)
        larger.moveInitialize(from: base, count: count)
        base.deallocate()
        base = larger
        capacity = newCapacity
    }
}
