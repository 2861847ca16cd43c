import Foundation
import Rollout
import Testing

/// The known values of other systems, kept beside the tests.
private struct Vectors: Decodable {
    struct Hash: Decodable {
        var hash: String
        var seed: UInt32
        var input: String
        var value: UInt32
    }
    struct User: Decodable {
        var algorithm: String
        var salt: String
        var user: String
        var normalized: Int?
        var value: Double?
        var position: Int?
        var refused: [Double]?
        var admitted: [Double]?
    }
    var hashes: [Hash]
    var users: [User]

    static func load() throws -> Vectors {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Vectors/bucketing.json")
        return try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: file))
    }
}

/// A percent with two decimals, as a whole number of hundredths.
private func hundredths(_ percent: Double) -> Int { Int((percent * 100).rounded()) }

@Test func plainHashesAgreeWithTheKnownValues() throws {
    let hashes = try Vectors.load().hashes
    #expect(hashes.count == 6)
    for vector in hashes {
        let bytes = Array(vector.input.utf8)
        let value: UInt32
        switch vector.hash {
        case "murmur3_x86_32":
            var hash = Murmur3(seed: vector.seed)
            bytes.withUnsafeBufferPointer { if let base = $0.baseAddress { hash.update(base, $0.count) } }
            value = hash.finished()
        case "murmur2":
            #expect(vector.seed == 0)
            var hash = Murmur2(totalLength: bytes.count)
            bytes.withUnsafeBufferPointer { if let base = $0.baseAddress { hash.update(base, $0.count) } }
            value = hash.finished()
        default:
            Issue.record("no such hash: \(vector.hash)")
            continue
        }
        #expect(value == vector.value, "\(vector.hash) of \"\(vector.input)\"")
    }
}

@Test func usersAreWhereOtherSystemsPutThem() throws {
    let users = try Vectors.load().users
    #expect(users.count == 13)
    for vector in users {
        let algorithm = try #require(BucketingAlgorithm(rawValue: vector.algorithm))
        let bucketing = Bucketing(algorithm: algorithm, salt: vector.salt)
        let position = bucketing.position(of: vector.user)
        let who: Comment = "\(vector.algorithm) \(vector.salt) \(vector.user)"
        for percent in vector.admitted ?? [] {
            #expect(bucketing.admits(position, percentHundredths: hundredths(percent)), who)
        }
        for percent in vector.refused ?? [] {
            #expect(!bucketing.admits(position, percentHundredths: hundredths(percent)), who)
        }
        if let bucket = vector.position { #expect(position.bucket == bucket, who) }
        if let normalized = vector.normalized {
            #expect(position.hash == UInt64(normalized), who)
            #expect(position.bucket == (normalized - 1) * 100, who)
            #expect(position.percentNeededHundredths == normalized * 100, who)
        }
        if let value = vector.value {
            #expect(position.bucket == Int(value * 10_000), who)
            #expect(abs(Double(position.hash) / Double(UInt64(0xfff_ffff_ffff_ffff)) - value) < 1e-7, who)
        }
    }
}

@Test func aBucketNeedsThePercentJustAboveIt() throws {
    // The contract's example, `"bucket":617,"percent_needed":6.18`: whoever is in bucket 617 needs 6.18 percent.
    let bucketing = Bucketing(algorithm: .murmur3, salt: "my-migration")
    let position = try #require(
        (0..<1_000_000).lazy.map { bucketing.position(of: String($0)) }.first { $0.bucket == 617 })
    #expect(position.percentNeededHundredths == 618)
    #expect(!bucketing.admits(position, percentHundredths: 617))
    #expect(bucketing.admits(position, percentHundredths: 618))
}

@Test func theDefaultAlgorithmSeparatesSaltAndIdByAColon() {
    // Values of an independent implementation of (murmur3_x86_32(s + ":" + u, 0) × 10000) >> 32.
    #expect(Bucketing(algorithm: .murmur3, salt: "my-migration").position(of: "42").bucket == 2728)
    #expect(Bucketing(algorithm: .murmur3, salt: "cutover").position(of: "42").bucket == 7001)
    #expect(Bucketing(algorithm: .murmur3, salt: "").position(of: "42").bucket == 5956)
    #expect(Bucketing(algorithm: .flagd, salt: "cutover:").position(of: "42").bucket == 7001)
}
