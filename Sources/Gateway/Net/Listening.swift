import CLinux

/// An address that cannot be listened on.
package struct ListenError: Error, Sendable {
    package let text: String
}

/// Listening descriptors for one address, one per loop, all on the same port.
///
/// The loops share the port (SO_REUSEPORT), and nobody else does: the first descriptor listens alone, so another process that
/// listens there, a second gateway above all, is an error and does not halve the clients. Only then it shares.
func bind(_ address: String, count: Int) throws(ListenError) -> (descriptors: [Int32], port: UInt16) {
    guard let (host, wanted) = splitAddress(address) else { throw ListenError(text: "\(address) is not host:port") }
    var port = wanted
    var descriptors: [Int32] = []
    func fail(_ text: String) -> ListenError {
        for open in descriptors { close(open) }
        return ListenError(text: text)
    }
    for index in 0..<count {
        guard let socketAddress = resolve(host: host, port: port, passive: true).first else {
            throw fail("\(address): the host cannot be resolved")
        }
        let descriptor = socketAddress.listen(backlog: 4096, joins: index > 0)
        guard descriptor >= 0 else { throw fail(refusal(address, port, errorNumber: -descriptor)) }
        descriptors.append(descriptor)
        if port == 0 { port = UInt16(max(0, clinux_local_port(descriptor))) }
        guard index == 0, count > 1 else { continue }
        let shared = clinux_share_port(descriptor)
        guard shared == 0 else { throw fail(refusal(address, port, errorNumber: -shared)) }
    }
    return (descriptors, port)
}

private func refusal(_ address: String, _ port: UInt16, errorNumber: Int32) -> String {
    guard errorNumber == EADDRINUSE else {
        return "cannot listen on \(address): \(String(cString: strerror(errorNumber)))"
    }
    return
        "cannot listen on \(address): address already in use; another process, perhaps another gateway, listens there: "
        + "stop it (`ss -ltnp 'sport = :\(port)'` names it), or listen elsewhere"
}
