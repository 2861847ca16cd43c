import CLinux

/// Hands over every client of a listening descriptor until that is closed. Runs on the listener's loop.
///
/// - Parameters:
///   - whenShort: the process is out of descriptors or memory; accepting pauses for 100 ms, and clients wait in the
///     backlog.
///   - turn: after so many clients in a row everybody else on the loop has a turn, so that those who came first are read from,
///     and clients that come without end keep nobody from being served.
///   - admit: owns the descriptor from then on.
func acceptClients(
    from listener: Connection, loop: EventLoop, turn: Int = 64, whenShort: () -> Void = {},
    admit: (Int32, sockaddr_storage) -> Void
) async {
    var left = turn
    while listener.isOpen {
        if left == 0 {
            left = turn
            // Until after the next look at what has arrived, which `yield` does not wait for.
            await loop.sleep(1)
            continue
        }
        left -= 1
        var peer = sockaddr_storage()
        let descriptor = clinux_accept(listener.fd, &peer)
        switch descriptor {
        case 0...: admit(descriptor, peer)
        case -EAGAIN:
            left = turn
            listener.readExhausted()
            do throws(IOFailure) { try await listener.waitReadable(timeout: 60_000) } catch {
                if error != .timeout { return }
            }
        case -EMFILE, -ENFILE, -ENOBUFS, -ENOMEM:
            whenShort()
            await loop.sleep(100)
        // A client that left while it waited.
        default: continue
        }
    }
}
