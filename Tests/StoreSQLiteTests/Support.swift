import Glibc
import TestSupport
import Testing

@testable import StoreSQLite

extension TemporaryDirectory {
    var data: String { path }

    /// Copies every file, byte by byte, as a crash would leave them.
    func copied() -> TemporaryDirectory {
        let copy = TemporaryDirectory()
        // The lock is not part of what a crash leaves; -shm is rebuilt from the WAL.
        for name in names where name != "lock" && !name.hasSuffix("-shm") {
            write(readFile(path + "/" + name), to: copy.path + "/" + name)
        }
        return copy
    }
}

func readFile(_ path: String) -> [UInt8] {
    let descriptor = open(path, O_RDONLY)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(descriptor, &buffer, buffer.count), count > 0 { bytes += buffer[..<count] }
    return bytes
}

func write(_ bytes: [UInt8], to path: String) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    var offset = 0
    while offset < bytes.count {
        let count = bytes[offset...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { break }
        offset += count
    }
    close(descriptor)
}
