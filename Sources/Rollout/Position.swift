/// A user's place in the rollout: what the exact admission rule needs (contract §11).
///
/// All rules of the contract grow with the percent, so that the whole rule is one threshold: a user is in from
/// `percentNeededHundredths` on.
@usableFromInline @frozen package struct Position: Sendable, Equatable {
    /// The hash: 32 bits, for `launchdarkly` 60, for `unleash` 1...100, for `growthbook` 0...9999.
    @usableFromInline package let hash: UInt64
    /// The position that is shown, 0...9999.
    @usableFromInline package let bucket: Int
    /// The smallest percent, in hundredths, that admits the user: 1...10000.
    @usableFromInline package let percentNeededHundredths: Int

    @inlinable package init(hash: UInt64, bucket: Int, percentNeededHundredths: Int) {
        self.hash = hash
        self.bucket = bucket
        self.percentNeededHundredths = percentNeededHundredths
    }

    /// Whether a percent, in hundredths, admits this user: 0 admits nobody, 10000 everybody.
    @inlinable package func isAdmitted(atHundredths percent: Int) -> Bool { percent >= percentNeededHundredths }
}
