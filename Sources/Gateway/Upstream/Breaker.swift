import Configuration
import Synchronization

/// Circuit breaker of one backend, shared by all loops: opens when too large a share of a window's requests failed, lets
/// one probe through when its time is over, and closes when the probe holds. Lock-free; counts may be off by a few at
/// the turn of a slice, which a threshold forgives.
package final class Breaker: Sendable {
    private static let sliceCount = 10

    private struct Slice: ~Copyable {
        let epoch = Atomic<UInt64>(0)
        let requests = Atomic<UInt64>(0)
        let errors = Atomic<UInt64>(0)
    }

    // Owned by this object for its whole life and only touched through atomics.
    private nonisolated(unsafe) let slices: UnsafeMutablePointer<Slice>
    /// Loop time in milliseconds until which requests are turned away; 0 = closed.
    private let openUntil = Atomic<UInt64>(0)
    /// Somebody was let through since it opened.
    private let isProbing = Atomic<Bool>(false)
    private let settings: BreakerSettings
    private let sliceMilliseconds: UInt64

    init(_ settings: BreakerSettings) {
        self.settings = settings
        sliceMilliseconds = UInt64(max(1, settings.windowMilliseconds / Int64(Breaker.sliceCount)))
        slices = .allocate(capacity: Breaker.sliceCount)
        for i in 0..<Breaker.sliceCount { (slices + i).initialize(to: Slice()) }
    }

    deinit {
        slices.deinitialize(count: Breaker.sliceCount)
        slices.deallocate()
    }

    /// Whether the backend counts as unhealthy.
    package var isOpen: Bool { openUntil.load(ordering: .relaxed) != 0 }

    /// When the next probe may go out, in loop milliseconds; 0 when the breaker is closed.
    var nextProbe: UInt64 { openUntil.load(ordering: .relaxed) }

    /// Whether a request may go to the backend now. While open, one caller per period gets through as the probe.
    @inline(__always)
    func admits(now: UInt64) -> Bool {
        let until = openUntil.load(ordering: .relaxed)
        if until == 0 { return true }
        if now < until { return false }
        let next = now &+ UInt64(settings.openForMilliseconds)
        let isProbe = openUntil.compareExchange(expected: until, desired: next, ordering: .relaxed).exchanged
        if isProbe { isProbing.store(true, ordering: .relaxed) }
        return isProbe
    }

    /// A request came back.
    /// - Returns: whether it opened the breaker.
    @inline(__always) @discardableResult
    func record(failed: Bool, now: UInt64) -> Bool {
        let epoch = now / sliceMilliseconds
        let slice = slices + Int(epoch % UInt64(Breaker.sliceCount))
        let seen = slice.pointee.epoch.load(ordering: .relaxed)
        if seen != epoch,
            slice.pointee.epoch.compareExchange(expected: seen, desired: epoch, ordering: .relaxed).exchanged
        {
            slice.pointee.requests.store(0, ordering: .relaxed)
            slice.pointee.errors.store(0, ordering: .relaxed)
        }
        slice.pointee.requests.wrappingAdd(1, ordering: .relaxed)
        if failed { return recordFailure(slice, epoch, now) }
        if openUntil.load(ordering: .relaxed) != 0 { recordSuccessWhileOpen(now) }
        return false
    }

    /// A success that was on its way when the breaker opened proves nothing: with half the requests failing there is
    /// always such a one, and the breaker would never stay open. Where nobody asks for leave (requests to legacy), one
    /// that comes when the time is over counts.
    private func recordSuccessWhileOpen(_ now: UInt64) {
        if isProbing.load(ordering: .relaxed) || now >= openUntil.load(ordering: .relaxed) { close() }
    }

    private func recordFailure(_ slice: UnsafeMutablePointer<Slice>, _ epoch: UInt64, _ now: UInt64) -> Bool {
        slice.pointee.errors.wrappingAdd(1, ordering: .relaxed)
        guard openUntil.load(ordering: .relaxed) == 0 else { return false }
        var requests: UInt64 = 0
        var errors: UInt64 = 0
        for i in 0..<Breaker.sliceCount {
            let slice = slices + i
            guard slice.pointee.epoch.load(ordering: .relaxed) + UInt64(Breaker.sliceCount) > epoch else { continue }
            requests += slice.pointee.requests.load(ordering: .relaxed)
            errors += slice.pointee.errors.load(ordering: .relaxed)
        }
        guard requests >= UInt64(settings.minRequests), Double(errors) >= settings.errorRatio * Double(requests) else {
            return false
        }
        isProbing.store(false, ordering: .relaxed)
        let until = now + UInt64(settings.openForMilliseconds)
        return openUntil.exchange(until, ordering: .relaxed) == 0
    }

    private func close() {
        for i in 0..<Breaker.sliceCount {
            (slices + i).pointee.requests.store(0, ordering: .relaxed)
            (slices + i).pointee.errors.store(0, ordering: .relaxed)
        }
        openUntil.store(0, ordering: .relaxed)
    }
}
