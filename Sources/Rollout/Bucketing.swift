/// A bucketing algorithm with its salt, ready to place user ids (contract §11).
///
/// Pure, immutable, usable from any thread. Placing an id allocates nothing, and with `murmur3`, `unleash` and `flagd`
/// hashes only the bytes of the id, because the state after the salt is kept.
@usableFromInline package struct Bucketing: Sendable {
    package let algorithm: BucketingAlgorithm
    private let murmur3: Murmur3
    private let fnv1a: FNV1a
    private let sha1: SHA1
    private let salt: [UInt8]

    /// Prepares an algorithm for a salt: `s` of the contract's table.
    package init(algorithm: BucketingAlgorithm, salt: String) {
        let bytes = Array(salt.utf8)
        var murmur3 = Murmur3()
        var fnv1a = FNV1a()
        var sha1 = SHA1()
        bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            murmur3.update(base, buffer.count)
            fnv1a.update(base, buffer.count)
            sha1.update(base, buffer.count)
        }
        switch algorithm {
        case .murmur3, .unleash: murmur3.update(byte: 0x3a)
        case .launchdarkly: sha1.update(byte: 0x2e)
        case .growthbook, .flagd, .nginx: break
        }
        self.algorithm = algorithm
        self.salt = bytes
        self.murmur3 = murmur3
        self.fnv1a = fnv1a
        self.sha1 = sha1
    }

    /// The sampler of shadow reads: the same users always, but not those whom the percent admits first (contract §7).
    package static func shadow(salt: String) -> Bucketing {
        Bucketing(algorithm: .murmur3, salt: "shadow:" + salt)
    }

    /// Places a user id.
    ///
    /// The bytes count as they are: `" 42"` is not `"42"` (what surrounds a header's value is no part of it). An
    /// integer id is given as its decimal digits.
    package func position(_ id: UnsafePointer<UInt8>, _ count: Int) -> Position {
        switch algorithm {
        case .murmur3, .flagd:
            var hash = murmur3
            hash.update(id, count)
            return Bucketing.scaledPosition(hash.finished())
        case .unleash:
            var hash = murmur3
            hash.update(id, count)
            return Bucketing.unleashPosition(hash.finished())
        case .launchdarkly:
            var hash = sha1
            hash.update(id, count)
            return Bucketing.launchDarklyPosition(hash.finishedPrefix() >> 4)
        case .growthbook:
            var hash = fnv1a
            hash.update(id, count)
            return Bucketing.growthBookPosition(hash.value)
        case .nginx:
            var hash = Murmur2(totalLength: salt.count + count)
            salt.withUnsafeBufferPointer { buffer in
                if let base = buffer.baseAddress { hash.update(base, buffer.count) }
            }
            hash.update(id, count)
            return Bucketing.nginxPosition(hash.finished())
        }
    }

    /// Places a user id given as text: for the command line and tests, not for the hot path.
    package func position(of user: String) -> Position {
        var text = user
        return text.withUTF8 { buffer in
            guard let base = buffer.baseAddress else {
                var nothing: UInt8 = 0
                return position(&nothing, 0)
            }
            return position(base, buffer.count)
        }
    }

    /// Whether a percent, in hundredths, admits a position.
    @inlinable package func admits(_ position: Position, percentHundredths: Int) -> Bool {
        position.isAdmitted(atHundredths: percentHundredths)
    }
}
