#if canImport(Glibc)
    internal import Glibc
#endif

/// A network of addresses, or one address: `10.0.0.0/8`, `fd00::/8`, `192.0.2.7`.
package struct AddressRange: Sendable, Equatable {
    private let network: NumericAddress
    /// How many leading bits of the 128 count.
    private let prefix: Int

    /// All addresses that begin with the first `prefix` bits of an address.
    private init(_ address: NumericAddress, prefix: Int) {
        self.prefix = prefix
        network = NumericAddress(bits: address.bits & AddressRange.mask(prefix))
    }

    private static func mask(_ prefix: Int) -> UInt128 { prefix == 0 ? 0 : UInt128.max << UInt128(128 - prefix) }

    /// Whether an address lies in it. IPv4 is IPv4, however it is written: `::ffff:10.0.0.1` lies in `10.0.0.0/8`, and in
    /// no network of IPv6 addresses, `::/0` included.
    package func contains(_ address: NumericAddress) -> Bool {
        address.bits & AddressRange.mask(prefix) == network.bits && address.isIPv4 == isIPv4
    }

    private var isIPv4: Bool { prefix >= 96 && network.isIPv4 }

    fileprivate static func parsed(_ text: String) throws(ValueProblem) -> AddressRange {
        let accepted = "an address or a network, such as 10.0.0.0/8, 192.0.2.7, fd00::/8, ::1"
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        var name = String(parts.first ?? "")
        guard let address = name.withUTF8({ NumericAddress(text: $0) }), !name.contains("%") else {
            throw ValueProblem("not an address or a network", accepted: accepted)
        }
        let isDotted = !name.contains(":")
        guard parts.count == 2 else { return AddressRange(address, prefix: 128) }
        let most = isDotted ? 32 : 128
        guard let bits = try? Value.integer(String(parts[1]), in: 0...most) else {
            throw ValueProblem("no prefix length from 0 to \(most) in", accepted: accepted)
        }
        let range = AddressRange(address, prefix: isDotted ? bits + 96 : bits)
        guard range.network == address else {
            // 10.1.2.3/8 may be meant as 10.0.0.0/8 or as one address: who wrote it knows.
            throw ValueProblem(
                "bits behind the prefix in", accepted: accepted,
                suggestion: "\(range.network.text(dotted: isDotted))/\(bits)")
        }
        return range
    }
}

extension Value {
    /// An address, or a network with its prefix length.
    static func addressRange(_ text: String) throws(ValueProblem) -> AddressRange { try AddressRange.parsed(text) }
}

/// An IP address as a number; IPv4 addresses are those of `::ffff:0:0/96` (RFC 4291 §2.5.5.2).
package struct NumericAddress: Sendable, Equatable {
    fileprivate let bits: UInt128

    fileprivate init(bits: UInt128) { self.bits = bits }

    /// Reads the numeric form, with or without the zone that IPv6 addresses of a link carry (`fe80::1%eth0`). Allocates nothing.
    package init?(text: UnsafeBufferPointer<UInt8>) {
        let end = text.firstIndex(of: UInt8(ascii: "%")) ?? text.count
        guard end > 0, end < 64, !text[..<end].contains(0) else { return nil }
        // Safe: the copy ends with the NUL that inet_pton looks for, and each structure is of the size that its family has.
        let bits: UInt128? = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { name in
            for index in 0..<end { name[index] = CChar(bitPattern: text[index]) }
            name[end] = 0
            var long = in6_addr()
            if inet_pton(AF_INET6, name.baseAddress, &long) == 1 {
                return withUnsafeBytes(of: &long) { $0.reduce(0) { $0 << 8 | UInt128($1) } }
            }
            var short = in_addr()
            guard inet_pton(AF_INET, name.baseAddress, &short) == 1 else { return nil }
            return 0xffff << 32 | UInt128(UInt32(bigEndian: short.s_addr))
        }
        guard let bits else { return nil }
        self.bits = bits
    }

    var isIPv4: Bool { bits >> 32 == 0xffff }

    fileprivate func text(dotted: Bool) -> String {
        if dotted { return (0..<4).map { String(bits >> UInt128(24 - 8 * $0) & 255) }.joined(separator: ".") }
        var address = in6_addr()
        withUnsafeMutableBytes(of: &address) { bytes in
            for index in 0..<16 { bytes[index] = UInt8(truncatingIfNeeded: bits >> UInt128(120 - 8 * index)) }
        }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = inet_ntop(AF_INET6, &address, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
