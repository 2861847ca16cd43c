import Rollout
import Testing

private let users = (0..<2000).map { "user-\($0)" } + (0..<500).map { String($0) } + ["ä", "用户", " 42", "42 ", "a b"]

/// The contract's inequality, written down once more and independently: in integers wide enough to be exact.
private func ruleAdmits(_ algorithm: BucketingAlgorithm, hash: UInt64, hundredths: Int) -> Bool {
    if hundredths == 0 { return false }
    if hundredths == 10_000 { return true }
    let percent = UInt128(hundredths)
    let value = UInt128(hash)
    switch algorithm {
    case .murmur3, .flagd: return (value * 10_000) >> 32 < percent
    case .unleash: return value * 100 <= percent
    case .launchdarkly: return value * 10_000 < percent * 0xfff_ffff_ffff_ffff
    case .growthbook: return value < percent
    case .nginx: return value < percent * 0xffff_ffff / 10_000
    }
}

@Test(arguments: BucketingAlgorithm.allCases)
func thePercentNeededIsTheExactThreshold(algorithm: BucketingAlgorithm) {
    let bucketing = Bucketing(algorithm: algorithm, salt: "my-migration")
    for user in users {
        let position = bucketing.position(of: user)
        let needed = position.percentNeededHundredths
        #expect((1...10_000).contains(needed))
        #expect((0...9_999).contains(position.bucket))
        #expect(ruleAdmits(algorithm, hash: position.hash, hundredths: needed))
        #expect(!ruleAdmits(algorithm, hash: position.hash, hundredths: needed - 1))
    }
}

@Test(arguments: BucketingAlgorithm.allCases)
func membershipIsTheContractsRuleAtEveryHundredth(algorithm: BucketingAlgorithm) {
    let bucketing = Bucketing(algorithm: algorithm, salt: "s")
    for user in users.prefix(12) {
        let position = bucketing.position(of: user)
        let differing = (0...10_000).filter {
            bucketing.admits(position, percentHundredths: $0)
                != ruleAdmits(algorithm, hash: position.hash, hundredths: $0)
        }
        #expect(differing.isEmpty, "\(algorithm) \(user)")
    }
}

@Test func extremeHashesHaveAPositionAndAThreshold() {
    for hash in [0, 1, 0x7fff_ffff, 0xffff_fffd, 0xffff_fffe, 0xffff_ffff] as [UInt32] {
        for (algorithm, position) in [
            (BucketingAlgorithm.murmur3, Bucketing.scaledPosition(hash)), (.nginx, Bucketing.nginxPosition(hash)),
        ] {
            expectExactThreshold(algorithm, position)
        }
    }
    let largest: UInt64 = 0xfff_ffff_ffff_ffff
    for hash in [0, 1, largest / 2, largest / 10_000, largest / 10_000 + 1, largest - 1, largest] {
        expectExactThreshold(.launchdarkly, Bucketing.launchDarklyPosition(hash))
    }
}

private func expectExactThreshold(_ algorithm: BucketingAlgorithm, _ position: Position) {
    let needed = position.percentNeededHundredths
    #expect((1...10_000).contains(needed), "\(algorithm) \(position.hash)")
    #expect((0...9_999).contains(position.bucket), "\(algorithm) \(position.hash)")
    #expect(ruleAdmits(algorithm, hash: position.hash, hundredths: needed), "\(algorithm) \(position.hash)")
    #expect(!ruleAdmits(algorithm, hash: position.hash, hundredths: needed - 1), "\(algorithm) \(position.hash)")
}

@Test(arguments: BucketingAlgorithm.allCases)
func raisingThePercentOnlyAddsUsersAndLoweringRemovesExactlyThose(algorithm: BucketingAlgorithm) {
    let bucketing = Bucketing(algorithm: algorithm, salt: "my-migration")
    func members(_ hundredths: Int) -> Set<String> {
        Set(users.filter { bucketing.admits(bucketing.position(of: $0), percentHundredths: hundredths) })
    }
    let steps = [0, 1, 100, 1000, 2500, 2550, 5000, 9999, 10_000]
    let up = steps.map(members)
    for (smaller, larger) in zip(up, up.dropFirst()) { #expect(smaller.isSubset(of: larger)) }
    // The way back passes through the very same sets: half becomes a quarter by leaving, never by drawing anew.
    #expect(steps.reversed().map(members) == up.reversed())
    #expect(up.first?.isEmpty == true)
    #expect(up.last?.count == Set(users).count)
}

@Test(arguments: BucketingAlgorithm.allCases)
func everyAlgorithmSpreadsUsersEvenly(algorithm: BucketingAlgorithm) {
    let bucketing = Bucketing(algorithm: algorithm, salt: "my-migration")
    let count = 20_000
    for percent in [10, 25, 50, 90] {
        let members = (0..<count).count {
            bucketing.admits(bucketing.position(of: "user-\($0)"), percentHundredths: percent * 100)
        }
        let share = Double(members) / Double(count) * 100
        // Five standard deviations of a fair draw are 1.8 points at most.
        #expect(abs(share - Double(percent)) < 2, "\(algorithm) \(percent)%: \(share)")
    }
}

@Test func shadowSamplingDrawsOtherUsersThanThePercent() {
    let percent = Bucketing(algorithm: .murmur3, salt: "my-migration")
    let shadow = Bucketing.shadow(salt: "my-migration")
    let first = users.filter { percent.admits(percent.position(of: $0), percentHundredths: 2000) }
    let both = first.filter { shadow.admits(shadow.position(of: $0), percentHundredths: 2000) }
    let share = Double(both.count) / Double(first.count)
    #expect(share > 0.1 && share < 0.3)
}

@Test func anIntegerAndItsDecimalStringAreTheSameUser() {
    for algorithm in BucketingAlgorithm.allCases {
        let bucketing = Bucketing(algorithm: algorithm, salt: "s")
        // What a JSON body holds as a number arrives as the same digits that a header holds.
        let digits: [UInt8] = [0x34, 0x32]
        #expect(
            digits.withUnsafeBufferPointer { bucketing.position($0.baseAddress!, 2) } == bucketing.position(of: "42"))
        #expect(bucketing.position(of: String(42)) == bucketing.position(of: "42"))
    }
}

@Test func whiteSpaceAroundAnIdIsPartOfIt() {
    let bucketing = Bucketing(algorithm: .murmur3, salt: "s")
    #expect(bucketing.position(of: " 42") != bucketing.position(of: "42"))
}

@Test(arguments: ["", " ", "\t\r\n", "\u{a0}", "\u{85}", "\u{1680}", "\u{2003}\u{2029}", "\u{205f} \u{3000}"])
func emptyAndWhiteSpaceIdsAreAnonymous(id: String) {
    #expect(isAnonymous(Array(id.utf8)))
}

@Test(arguments: ["0", " 42 ", "\u{200b}", "ä", "\u{c2}", "-", "\u{feff}"])
func idsWithAnythingElseAreSomebody(id: String) {
    #expect(!isAnonymous(Array(id.utf8)))
}

@Test func bytesThatAreNoTextAreSomebody() {
    for bytes in [[0xc2], [0xe2, 0x80], [0xe2], [0xff], [0x00], [0x20, 0xe3, 0x80]] as [[UInt8]] {
        #expect(!isAnonymous(bytes))
    }
}

@Test func everyWhiteSpaceScalarAndNoOtherIsAnonymous() {
    for value in UInt32(0)...0xffff {
        guard let scalar = Unicode.Scalar(value) else { continue }
        let isBlank = isAnonymous(Array(String(Character(scalar)).utf8))
        if isBlank != scalar.properties.isWhitespace { Issue.record("U+\(String(value, radix: 16))") }
    }
}

private func isAnonymous(_ bytes: [UInt8]) -> Bool {
    // One byte more, so that there is an address; it is not counted.
    (bytes + [0x61]).withUnsafeBufferPointer { Bucketing.isAnonymous($0.baseAddress!, bytes.count) }
}
