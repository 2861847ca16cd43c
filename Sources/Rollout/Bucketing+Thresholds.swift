/// From a hash to a threshold, per algorithm: the contract's inequalities, solved for the percent in integers.
extension Bucketing {
    /// The largest 60-bit number: what LaunchDarkly divides by.
    package static let launchDarklyScale: UInt64 = 0xfff_ffff_ffff_ffff
    /// The largest 32-bit number: what nginx multiplies with.
    package static let nginxScale: UInt64 = 0xffff_ffff

    /// `murmur3`, `flagd`: (h × 10000) >> 32 < P, so P = bucket + 1.
    @inline(__always)
    package static func scaledPosition(_ hash: UInt32) -> Position {
        let bucket = Int(truncatingIfNeeded: (UInt64(hash) &* 10_000) &>> 32)
        return Position(hash: UInt64(hash), bucket: bucket, percentNeededHundredths: bucket &+ 1)
    }

    /// `unleash`: n = h mod 100 + 1 <= p, so P = 100 n. Only whole percents change anything.
    package static func unleashPosition(_ hash: UInt32) -> Position {
        let normalized = Int(hash % 100) + 1
        return Position(
            hash: UInt64(normalized), bucket: (normalized - 1) * 100, percentNeededHundredths: normalized * 100)
    }

    /// `launchdarkly`: h / M < P / 10000, so P = ⌊h × 10000 / M⌋ + 1. The product has 74 bits. Only h = M comes out at
    /// 10001; 100 admits everybody all the same.
    package static func launchDarklyPosition(_ hash: UInt64) -> Position {
        let scaled = hash.multipliedFullWidth(by: 10_000)
        let quotient = Int(launchDarklyScale.dividingFullWidth(scaled).quotient)
        let bucket = min(quotient, 9_999)
        return Position(hash: hash, bucket: bucket, percentNeededHundredths: bucket + 1)
    }

    /// `growthbook`: fnv1a32(decimal of the first hash) mod 10000 < P.
    package static func growthBookPosition(_ first: UInt32) -> Position {
        var second = FNV1a()
        second.update(decimal: first)
        let bucket = Int(second.value % 10_000)
        return Position(hash: UInt64(bucket), bucket: bucket, percentNeededHundredths: bucket + 1)
    }

    /// `nginx`: h < ⌊P × M / 10000⌋, so P = ⌈(h + 1) × 10000 / M⌉. Only h = M comes out at 10001; 100 admits everybody
    /// all the same.
    package static func nginxPosition(_ hash: UInt32) -> Position {
        let bucket = Int((UInt64(hash) * 10_000) >> 32)
        let needed = ((UInt64(hash) + 1) * 10_000 + nginxScale - 1) / nginxScale
        return Position(hash: UInt64(hash), bucket: bucket, percentNeededHundredths: min(Int(needed), 10_000))
    }
}
