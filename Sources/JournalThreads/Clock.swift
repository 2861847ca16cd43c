internal import Glibc

// Not from CLinux: its module is built with _GNU_SOURCE, and its view of the C headers and Glibc's do not fit together in
// one target.

/// The monotonic clock, in nanoseconds.
package func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// The wall clock, in milliseconds since 1970.
package func wallMilliseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
}
