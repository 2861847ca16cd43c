import COpenSSL

/// The bytes of a shared secret, wiped when the last owner lets go. Immutable, any thread.
///
/// Unsafe inside: one allocation, written only during `init`, freed only in `deinit`.
final class SecretBytes: @unchecked Sendable {
    let base: UnsafePointer<UInt8>
    let count: Int
    private let memory: UnsafeMutablePointer<UInt8>

    /// A copy of these bytes.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        count = bytes.count
        memory = .allocate(capacity: bytes.count + 1)
        memory.initialize(repeating: 0, count: bytes.count + 1)
        if let source = bytes.baseAddress { memory.update(from: source, count: bytes.count) }
        base = UnsafePointer(memory)
    }

    deinit {
        OPENSSL_cleanse(memory, count + 1)
        memory.deallocate()
    }

    /// Whether `code` is the HMAC-SHA-256 (RFC 2104) of the message under this secret. Takes the same time wherever the first
    /// difference stands.
    func isHMAC(_ code: UnsafeBufferPointer<UInt8>, of message: UnsafeBufferPointer<UInt8>) -> Bool {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(EVP_MAX_MD_SIZE)) { right in
            var length: UInt32 = 0
            let made = HMAC(
                EVP_sha256(), base, Int32(count), message.baseAddress, message.count, right.baseAddress, &length)
            guard made != nil, code.count == Int(length) else { return false }
            return CRYPTO_memcmp(right.baseAddress, code.baseAddress, Int(length)) == 0
        }
    }
}
