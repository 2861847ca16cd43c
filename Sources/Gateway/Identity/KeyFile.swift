import CLinux
import COpenSSL

/// The bytes of a key file, with a NUL behind them, wiped when the last owner lets go. Immutable, any thread.
///
/// Unsafe inside: one allocation, written only during `init`, freed only in `deinit`.
final class KeyFile: @unchecked Sendable {
    /// No secret and no public key of a supported kind comes near this.
    static let maximumBytes = 64 * 1024
    /// Nor does a set of them.
    static let maximumSetBytes = 256 * 1024

    let path: String
    let base: UnsafePointer<UInt8>
    private(set) var count: Int
    private let memory: UnsafeMutablePointer<UInt8>
    private let capacity: Int

    /// - Throws: when the file cannot be read, or is empty or larger than `most` bytes; the text holds nothing of it.
    init(_ path: String, most: Int = KeyFile.maximumBytes) throws(IdentityError) {
        let descriptor = clinux_open(path, O_RDONLY, 0)
        guard descriptor >= 0 else { throw KeyFile.unreadable(path, -descriptor) }
        defer { close(descriptor) }
        // One byte more than allowed shows that there are more; one for the NUL.
        capacity = most + 2
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        memory.initialize(repeating: 0, count: capacity)
        self.path = path
        self.memory = memory
        base = UnsafePointer(memory)
        count = 0
        while count <= most {
            let got = clinux_read(descriptor, memory + count, most + 1 - count)
            if got == 0 { break }
            if got > 0 {
                count += got
            } else if got != -Int(EINTR) {
                throw KeyFile.unreadable(path, Int32(-got))
            }
        }
        guard count > 0 else { throw IdentityError(text: "key file \(path) is empty") }
        guard count <= most else {
            throw IdentityError(text: "key file \(path) is larger than \(most) bytes")
        }
    }

    deinit {
        OPENSSL_cleanse(memory, capacity)
        memory.deallocate()
    }

    /// The whole file.
    var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: base, count: count) }

    /// How many bytes the file has without the line ending that editors and `echo` leave at its end.
    var countWithoutLineEnding: Int {
        guard count > 0, base[count - 1] == UInt8(ascii: "\n") else { return count }
        return count > 1 && base[count - 2] == UInt8(ascii: "\r") ? count - 2 : count - 1
    }

    /// Whether these characters stand anywhere before the file's first NUL.
    func contains(_ text: StaticString) -> Bool {
        // Both end with a NUL: a StaticString as the compiler lays it down, the file as `init` reads it.
        let bytes = UnsafeRawPointer(base).assumingMemoryBound(to: CChar.self)
        return strstr(bytes, UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)) != nil
    }

    private static func unreadable(_ path: String, _ number: Int32) -> IdentityError {
        IdentityError(text: "cannot read key file \(path): \(String(cString: strerror(number)))")
    }
}
