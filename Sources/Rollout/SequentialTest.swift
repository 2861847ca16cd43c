/// Tells whether a share is above a limit, from what was seen so far, however often it is asked.
///
/// An operator's gate looks every second. A plain "rate above limit" then fails a healthy backend sooner or later, and one error
/// among twenty requests fails it at once. So the likelihood of what was seen under "the share is `limit`" is set against its
/// likelihood under a mixture of higher shares: a mixture sequential probability ratio test (Wald 1945; Robbins 1970). For every
/// share up to the limit that ratio is a supermartingale, so by Ville's inequality it exceeds 1/α at any time with a probability
/// of at most α, while evidence against a share of ten times the limit comes within a few hundred requests.
package struct SequentialTest: Sendable {
    /// 1 − α: how sure one has to be to call a share too high; 0..<1.
    package let confidence: Double
    /// How much higher the shares of the mixture are: multiples of the limit's odds, which for a small share are multiples of it.
    private static let multiples: [Double] = [1.25, 1.5, 2, 3, 5, 10, 20, 50, 100, 300, 1000]

    package init(confidence: Double) { self.confidence = confidence }

    /// Whether it is proven that the share of `events` among `trials` is above the limit.
    /// - Parameter limit: 0…1. At 0 the first event proves it; at 1 nothing does.
    package func isAbove(limit: Double, events: UInt64, trials: UInt64) -> Bool {
        guard trials > 0, events > 0, limit < 1 else { return false }
        guard limit > 0 else { return true }
        guard Double(events) > limit * Double(trials) else { return false }
        return logarithmOfEvidence(limit: limit, events: events, trials: trials) >= -logarithm(1 - confidence)
    }

    /// The natural logarithm of the ratio: 0 is no evidence.
    func logarithmOfEvidence(limit: Double, events: UInt64, trials: UInt64) -> Double {
        let (hits, misses) = (Double(events), Double(trials - events))
        let odds = limit / (1 - limit)
        let ratios = Self.multiples.map { multiple in
            // ln(share ÷ limit) and ln((1 − share) ÷ (1 − limit)) of the share with so many times the odds.
            let shrink = logarithm((1 + odds) / (1 + multiple * odds))
            return hits * (logarithm(multiple) + shrink) + misses * shrink
        }
        // The mean of the ratios, taken at the largest: nothing overflows.
        let largest = ratios.max() ?? 0
        let sum = ratios.reduce(0) { $0 + exponential($1 - largest) }
        return largest + logarithm(sum) - logarithm(Double(ratios.count))
    }

    /// The highest share that what was seen does not speak against: an upper confidence bound, found by bisection.
    package func upperBound(events: UInt64, trials: UInt64) -> Double {
        guard trials > 0 else { return 1 }
        // Below the bound: misses prove the share of misses to be above 1 − share.
        func isExcluded(_ share: Double) -> Bool {
            isAbove(limit: 1 - share, events: trials - events, trials: trials)
        }
        var (low, high) = (Double(events) / Double(trials), 1.0)
        for _ in 0..<40 {
            let middle = (low + high) / 2
            if isExcluded(middle) { high = middle } else { low = middle }
        }
        return high
    }
}

/// The natural logarithm of a number above 0, to about 1e-15: the pure floors have no library of mathematics.
func logarithm(_ value: Double) -> Double {
    guard value > 0 else { return -.infinity }
    guard value.isFinite else { return value }
    var (mantissa, exponent) = (value.significand, Double(value.exponent))
    if mantissa > 1.4142135623730951 {
        mantissa /= 2
        exponent += 1
    }
    // ln m = 2 artanh((m − 1)/(m + 1)), whose series converges fast for m in 0.7…1.42.
    let ratio = (mantissa - 1) / (mantissa + 1)
    let square = ratio * ratio
    var (term, sum, divisor) = (ratio, 0.0, 1.0)
    while abs(term) > 1e-18, divisor < 60 {
        sum += term / divisor
        term *= square
        divisor += 2
    }
    return 2 * sum + exponent * 0.6931471805599453
}

/// e to the power of a number up to 0.
func exponential(_ value: Double) -> Double {
    guard value > -700 else { return 0 }
    // e^x = (e^(x/1024))^1024, the inner one by its series.
    let small = value / 1024
    var (term, sum) = (1.0, 1.0)
    for n in 1..<12 {
        term *= small / Double(n)
        sum += term
    }
    for _ in 0..<10 { sum *= sum }
    return sum
}
