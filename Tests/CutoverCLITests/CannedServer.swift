import Glibc

/// A server that takes one connection, reads one request head and what comes with it, and answers what it was told to.
final class CannedServer {
    let port: UInt16
    private let box: Box
    private var thread = pthread_t()

    /// Shared with the server's thread, which writes `received` before it ends; it is read after joining.
    private final class Box: @unchecked Sendable {
        let listener: Int32
        let response: [UInt8]
        let staysOpen: Bool
        var received: [UInt8] = []

        init(listener: Int32, response: [UInt8], staysOpen: Bool) {
            self.listener = listener
            self.response = response
            self.staysOpen = staysOpen
        }
    }

    /// - Parameter staysOpen: the connection is closed only when the client has closed it.
    init(_ response: String, staysOpen: Bool = false) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                precondition(bind(listener, raw, size) == 0 && listen(listener, 1) == 0)
                precondition(getsockname(listener, raw, &size) == 0)
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        box = Box(listener: listener, response: Array(response.utf8), staysOpen: staysOpen)
        let context = Unmanaged.passRetained(box).toOpaque()
        let code = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                CannedServer.serve(Unmanaged<Box>.fromOpaque(context).takeRetainedValue())
                return nil
            }, context)
        precondition(code == 0)
    }

    /// What the client sent; waits until the connection has ended.
    func finish() -> String {
        pthread_join(thread, nil)
        return String(decoding: box.received, as: UTF8.self)
    }

    private static func serve(_ box: Box) {
        let connection = accept(box.listener, nil, nil)
        close(box.listener)
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while !isWhole(box.received) {
            let count = read(connection, &chunk, chunk.count)
            if count <= 0 { break }
            box.received += chunk[..<count]
        }
        // The client may be gone before all is sent.
        _ = box.response.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if box.staysOpen { while read(connection, &chunk, chunk.count) > 0 {} }
        close(connection)
    }

    private static func isWhole(_ request: [UInt8]) -> Bool {
        let text = String(decoding: request, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n") else { return false }
        let length = text.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }?.dropFirst(16)
        return text[end.upperBound...].utf8.count >= length.flatMap { Int($0) } ?? 0
    }
}
