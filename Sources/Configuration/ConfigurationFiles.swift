#if canImport(Glibc)
    internal import Glibc
#endif

/// How files are read: a seam, so that tests play files that are missing or unreadable.
package struct ConfigurationFiles: Sendable {
    /// Why a file could not be read, in words: `No such file or directory`.
    package struct Failure: Error, Sendable, Equatable {
        package var reason: String

        package init(reason: String) { self.reason = reason }
    }

    private let readFile: @Sendable (String, Int) -> Result<[UInt8], Failure>

    /// - Parameter read: takes a path and the most bytes that are of use; may return more or fewer.
    package init(read: @escaping @Sendable (_ path: String, _ limit: Int) -> Result<[UInt8], Failure>) {
        readFile = read
    }

    /// At most `limit` bytes of a file.
    func read(_ path: String, limit: Int) -> Result<[UInt8], Failure> { readFile(path, limit) }

    /// The file system.
    package static let disk = ConfigurationFiles { path, limit in
        guard let stream = fopen(path, "re") else { return .failure(lastFailure()) }
        defer { fclose(stream) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while bytes.count < limit {
            // Safe: fread writes at most chunk.count bytes into memory that the array owns during the call.
            let count = chunk.withUnsafeMutableBytes { fread($0.baseAddress, 1, $0.count, stream) }
            bytes += chunk[..<count]
            // A directory opens and fails on the first read.
            if ferror(stream) != 0 { return .failure(lastFailure()) }
            if count < chunk.count { break }
        }
        return .success(bytes)
    }

    private static func lastFailure() -> Failure {
        let number = errno
        var buffer = [CChar](repeating: 0, count: 256)
        // The XSI form fills the buffer; strerror itself shares one between threads.
        _ = strerror_r(number, &buffer, buffer.count)
        let text = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return Failure(reason: text.isEmpty ? "error \(number)" : text)
    }
}
