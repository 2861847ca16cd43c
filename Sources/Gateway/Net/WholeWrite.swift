import CLinux

/// Writes all bytes to a descriptor, in as many pieces as it takes them. Blocks; not for loops.
/// - Returns: 0, or the error number of the system.
package func writeWhole(_ descriptor: Int32, _ bytes: [UInt8]) -> Int32 {
    bytes.withUnsafeBytes { buffer in
        var offset = 0
        while offset < buffer.count {
            let count = write(descriptor, buffer.baseAddress.map { $0 + offset }, buffer.count - offset)
            if count > 0 {
                offset += count
            } else if count == 0 {
                return EIO
            } else if clinux_errno() != EINTR {
                return clinux_errno()
            }
        }
        return 0
    }
}
