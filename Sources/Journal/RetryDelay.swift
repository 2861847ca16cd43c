/// How long to wait before a leg is sent again: exponential, with jitter so that legs that failed together do not come back
/// together.
///
/// - Parameters:
///   - attempt: how often the leg has been sent, 1 after the first failure.
///   - minimum: `writes.retry_min`, in milliseconds.
///   - maximum: `writes.retry_max`, in milliseconds.
///   - random: any 64 random bits.
/// - Returns: milliseconds, between half of and the whole of `minimum · 2^attempt`, within `minimum...maximum`.
package func retryDelay(attempt: Int, minimum: Int64, maximum: Int64, random: UInt64) -> Int64 {
    let floor = max(1, minimum)
    let ceiling = max(floor, maximum)
    let doublings = min(max(1, attempt), 40)
    let (grown, overflow) = floor.multipliedReportingOverflow(by: Int64(1) << Int64(doublings))
    let upper = overflow ? ceiling : min(ceiling, grown)
    let lower = max(floor, upper / 2)
    return lower + Int64(random % UInt64(upper - lower + 1))
}
