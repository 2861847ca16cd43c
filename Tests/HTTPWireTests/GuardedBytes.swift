import Glibc

/// Bytes placed so that the ninth byte past their end cannot be read: whoever looks further than the eight bytes of
/// slack that are allowed dies at once.
final class GuardedBytes {
    static let slack = 8
    private let base: UnsafeMutableRawPointer
    private let capacity: Int
    private let page = Int(sysconf(Int32(_SC_PAGESIZE)))

    init(capacity wanted: Int) {
        capacity = (wanted + GuardedBytes.slack + page - 1) / page * page
        guard
            let memory = mmap(nil, capacity + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            memory != MAP_FAILED, mprotect(memory + capacity, page, PROT_NONE) == 0
        else { fatalError("no memory for a guarded buffer") }
        base = memory
    }

    deinit { munmap(base, capacity + page) }

    /// Puts the bytes in front of the guard, with `filler` in the slack between.
    func place(_ bytes: some Collection<UInt8>, filler: UInt8) -> UnsafeMutablePointer<UInt8> {
        precondition(bytes.count + GuardedBytes.slack <= capacity)
        let start = (base + capacity - GuardedBytes.slack - bytes.count).assumingMemoryBound(to: UInt8.self)
        var at = start
        for byte in bytes {
            at.pointee = byte
            at += 1
        }
        for _ in 0..<GuardedBytes.slack {
            at.pointee = filler
            at += 1
        }
        return start
    }
}

/// SplitMix64: the same numbers from the same seed, everywhere.
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}
