/// Ring buffer of executor jobs; grows, never shrinks. Confined to its loop's thread.
struct JobQueue {
    private var storage = UnsafeMutablePointer<UnownedJob>.allocate(capacity: 1024)
    private var capacity = 1024
    private var head = 0
    private(set) var count = 0

    mutating func append(_ job: UnownedJob) {
        if count == capacity { grow() }
        (storage + ((head &+ count) & (capacity &- 1))).initialize(to: job)
        count &+= 1
    }

    mutating func popFirst() -> UnownedJob? {
        guard count > 0 else { return nil }
        let job = (storage + head).move()
        head = (head &+ 1) & (capacity &- 1)
        count &-= 1
        return job
    }

    private mutating func grow() {
        let bigger = UnsafeMutablePointer<UnownedJob>.allocate(capacity: capacity * 2)
        for i in 0..<count { (bigger + i).initialize(to: storage[(head + i) & (capacity - 1)]) }
        storage.deallocate()
        storage = bigger
        head = 0
        capacity *= 2
    }
}
