import CLinux
import Synchronization

/// Every listening socket of the process. Owns them; the loops accept from duplicates of their own, so that a loop can stop while a
/// socket stays open for the process that replaces this one. Safe from any thread.
package final class ListeningSockets: Sendable {
    private struct Held {
        var descriptor: Int32
        var role: ListenRole
        var configured: String
        var address: String
    }

    private struct State {
        var held: [Held] = []
        /// Were open before this process began, and wait for whoever listens on their address.
        var passed: [Held] = []
    }

    /// What the loops accept from.
    package struct Shares: Sendable {
        /// For each loop its own descriptors.
        package var loops: [[Int32]]
        /// Several loops accept from one socket, and have to take turns.
        package var isShared: Bool
        package var port: UInt16
    }

    private let state = Mutex(State())

    package init() {}

    deinit { state.withLock { state in for socket in state.held + state.passed { CLinux.close(socket.descriptor) } } }

    /// Finds out what the sockets that were passed are for. Blocks, for names. Before `listen`.
    /// - Throws: a socket of the service manager that fits no configured address. One of the process before that does not, because the
    ///   configuration is another one now, is closed.
    package func adopt(_ passed: PassedSockets, clients: [String], admin: String) throws(ListenError) {
        for socket in passed.sockets {
            if let (role, configured) = socket.place(clients: clients, admin: admin) {
                state.withLock {
                    $0.passed.append(
                        Held(
                            descriptor: socket.descriptor, role: role, configured: configured,
                            address: socket.address))
                }
            } else if socket.configured != nil {
                logLine("nobody listens on \(socket.address) any more: the configuration is another one")
                CLinux.close(socket.descriptor)
            } else {
                throw ListenError(
                    text:
                        "descriptor \(socket.descriptor), a socket on \(socket.address) that the service manager has passed, "
                        + "fits none of the configured addresses; accepted: clients on \(clients.joined(separator: ", ")) (or "
                        + "FileDescriptorName=client where there is one), admin on \(admin)")
            }
        }
    }

    /// Listens on an address: on what was passed for it, or by binding it.
    /// - Parameter loops: how many accept its clients.
    /// - Throws: why it cannot be listened on.
    package func listen(on address: String, as role: ListenRole, loops: Int) throws(ListenError) -> Shares {
        var sockets = state.withLock { state in
            let own = state.passed.filter { $0.role == role && $0.configured == address }
            state.passed.removeAll { $0.role == role && $0.configured == address }
            return own
        }
        if sockets.isEmpty {
            let bound = try bind(address, count: loops)
            sockets = bound.descriptors.map {
                Held(descriptor: $0, role: role, configured: address, address: "")
            }
        }
        state.withLock { $0.held += sockets }
        var shares = Shares(
            loops: Array(repeating: [], count: loops), isShared: false,
            port: UInt16(clamping: clinux_local_port(sockets[0].descriptor)))
        // Sockets on one address share its clients among them (SO_REUSEPORT); those on another one are there for others.
        for group in Dictionary(grouping: sockets, by: \.address).values {
            if group.count >= loops {
                for (index, socket) in group.enumerated() {
                    shares.loops[index % loops].append(try duplicate(socket, address))
                }
                continue
            }
            // More loops than sockets. Siblings cannot be bound beside a socket of another user, a service manager's above all, nor
            // below port 1024: so all loops accept from each.
            shares.isShared = true
            for loop in 0..<loops {
                for socket in group { shares.loops[loop].append(try duplicate(socket, address)) }
            }
        }
        return shares
    }

    /// Whether a process that takes the place of this one could listen on an address: binds it and closes it again, unless a socket
    /// for it is at hand. Blocks, for names.
    /// - Throws: why it cannot be listened on.
    package func tryOut(_ address: String) throws(ListenError) {
        let ours = state.withLock { $0.held + $0.passed }
        // One that is to be there under another name or for others, or is a part of it (127.0.0.1 of 0.0.0.0), is in its way only now:
        // the next process closes it before it binds. Who else is in its way cannot be told then.
        let isAtHand = ours.contains {
            $0.configured == address || PassedSocket.listener($0.descriptor, overlaps: address)
        }
        guard !isAtHand else { return }
        for descriptor in try bind(address, count: 1).descriptors { CLinux.close(descriptor) }
    }

    private func duplicate(_ socket: Held, _ address: String) throws(ListenError) -> Int32 {
        let descriptor = clinux_duplicate(socket.descriptor)
        guard descriptor >= 0 else {
            throw ListenError(text: "cannot listen on \(address): \(String(cString: strerror(-descriptor)))")
        }
        return descriptor
    }

    /// From now on the kernel refuses clients there, as far as nobody else has the socket.
    package func close(_ role: ListenRole) {
        state.withLock { state in
            for socket in state.held where socket.role == role { CLinux.close(socket.descriptor) }
            state.held.removeAll { $0.role == role }
        }
    }

    /// All of them, for the process that is to replace this one.
    package var held: [(descriptor: Int32, role: ListenRole, configured: String)] {
        state.withLock { ($0.held + $0.passed).map { ($0.descriptor, $0.role, $0.configured) } }
    }
}
