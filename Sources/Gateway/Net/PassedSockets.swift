import CLinux

/// What clients of a listening socket want.
package enum ListenRole: String, Sendable {
    case client, admin
}

/// A listening socket that was open before this process began: a service manager has opened it (systemd's socket activation), or the
/// process that this one has replaced.
package struct PassedSocket: Sendable, Equatable {
    package var descriptor: Int32
    /// `client`, `admin`, or whatever the service manager calls it.
    package var name: String
    /// The address as the replaced process was configured; nil where a service manager has opened it.
    package var configured: String?
    /// Where it listens, in numbers.
    package var address = ""
}

/// What a process finds open when it begins.
package struct PassedSockets: Sendable, Equatable {
    package var sockets: [PassedSocket] = []
    /// The program of the process that this one has replaced, open, to go back to.
    package var formerProgram: Int32?
    /// What version that was, as it says itself; nil where it does not.
    package var formerVersion: String?

    package init() {}

    /// The variables that tell of them. They are for this process alone: whoever has read them takes them out of the environment.
    package static let variables = ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", handoverVariable]
    /// Ours, from one process to the one that replaces it: `PID,FD=ROLE=ADDRESS,…`; the former program has its version for an address.
    package static let handoverVariable = "CUTOVER_SOCKETS"
    static let formerProgramName = "former-program"

    /// Descriptors that one process passes at most; more are a mistake.
    static let most = 1024

    /// Reads the variables and looks at what they name.
    /// - Parameters:
    ///   - environment: the process's own.
    ///   - pid: the process's own; variables for another one, a parent most likely, are not for us.
    /// - Throws: what was passed and cannot be listened on.
    package init(environment: [String: String], pid: Int32) throws(ListenError) {
        if let text = environment[PassedSockets.handoverVariable], let handed = PassedSockets(handover: text, pid: pid)
        {
            self = handed
        } else {
            sockets = try PassedSockets.announced(by: environment, pid: pid)
        }
        for index in sockets.indices {
            let descriptor = sockets[index].descriptor
            guard clinux_is_listener(descriptor) != 0 else {
                throw ListenError(
                    text:
                        "descriptor \(descriptor) (\(printable(sockets[index].name))), which was passed to this process, is no "
                        + "listening TCP socket; accepted: what ListenStream= with a port makes")
            }
            clinux_adopt(descriptor)
            sockets[index].address = localAddress(of: descriptor)
        }
    }

    /// What a service manager announces (sd_listen_fds(3)): descriptors from 3 on.
    static func announced(by environment: [String: String], pid: Int32) throws(ListenError) -> [PassedSocket] {
        guard let text = environment["LISTEN_FDS"], let owner = environment["LISTEN_PID"] else { return [] }
        guard owner == "\(pid)" else { return [] }
        guard let count = Int32(text), (0...Int32(most)).contains(count) else {
            throw ListenError(text: "LISTEN_FDS is \"\(printable(text))\"; accepted: a number from 0 to \(most)")
        }
        var names = [String](repeating: "unknown", count: Int(count))
        if let list = environment["LISTEN_FDNAMES"], count > 0 {
            names = list.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard names.count == Int(count) else {
                throw ListenError(
                    text:
                        "LISTEN_FDNAMES has \(names.count) names for LISTEN_FDS \(count); accepted: one for each descriptor"
                )
            }
        }
        return zip(names, 0..<count).map { PassedSocket(descriptor: 3 + $1, name: $0) }
    }

    /// Those of the process before, as they were handed over.
    package var handedOver: [(descriptor: Int32, role: ListenRole, configured: String)] {
        sockets.compactMap { socket in
            guard let configured = socket.configured, let role = ListenRole(rawValue: socket.name) else { return nil }
            return (socket.descriptor, role, configured)
        }
    }

    /// Nil where it is for another process, or not of a form that is known here.
    init?(handover text: String, pid: Int32) {
        let parts = text.split(separator: ",")
        guard let owner = parts.first, owner == "\(pid)", parts.count <= PassedSockets.most else { return nil }
        for part in parts.dropFirst() {
            let words = part.split(separator: "=", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            guard words.count == 3, let descriptor = Int32(words[0]), descriptor > 2 else { return nil }
            if words[1] == PassedSockets.formerProgramName {
                formerProgram = descriptor
                formerVersion = words[2].isEmpty ? nil : printable(words[2])
            } else {
                sockets.append(PassedSocket(descriptor: descriptor, name: words[1], configured: words[2]))
            }
        }
    }

    /// The value of our variable, for a process that keeps its id.
    package static func handover(
        _ held: [(descriptor: Int32, role: ListenRole, configured: String)], pid: Int32, formerProgram: Int32?,
        formerVersion: String = ""
    ) -> String {
        var parts = ["\(pid)"]
        for socket in held { parts.append("\(socket.descriptor)=\(socket.role.rawValue)=\(socket.configured)") }
        if let formerProgram { parts.append("\(formerProgram)=\(formerProgramName)=\(formerVersion)") }
        return parts.joined(separator: ",")
    }
}

extension PassedSocket {
    /// Which configured address this socket stands for. The names `client` and `admin` say what it is for; else its address has to.
    ///
    /// A socket for the admin API must listen where the configuration says that it does: what may be asked without a token, and
    /// whether TLS may be missing, was judged by that.
    /// - Returns: nil where it fits none.
    func place(clients: [String], admin: String) -> (role: ListenRole, configured: String)? {
        if let configured {
            if name == ListenRole.admin.rawValue { return admin == configured ? (.admin, admin) : nil }
            return clients.contains(configured) ? (.client, configured) : nil
        }
        let client = clients.first { listens(on: $0) } ?? (clients.count == 1 ? clients[0] : nil)
        switch name {
        case ListenRole.client.rawValue: return client.map { (.client, $0) }
        case ListenRole.admin.rawValue: return listens(on: admin) ? (.admin, admin) : nil
        default:
            if let client = clients.first(where: { listens(on: $0) }) { return (.client, client) }
            return listens(on: admin) ? (.admin, admin) : nil
        }
    }

    /// Whether this is where a configured address would have been listened on. Looks names up: blocks.
    private func listens(on configured: String) -> Bool {
        guard let (host, port) = splitAddress(configured), let (ownHost, ownPort) = splitAddress(address) else {
            return false
        }
        guard port == ownPort || port == 0 else { return false }
        if PassedSocket.everyHost.contains(host) { return PassedSocket.everyHost.contains(ownHost) }
        return resolve(host: host, port: port, passive: true).contains { $0.host == ownHost }
    }

    /// Whether an address cannot be bound as long as a listening socket is open. Looks names up: blocks.
    static func listener(_ descriptor: Int32, overlaps configured: String) -> Bool {
        guard let (host, port) = splitAddress(configured) else { return false }
        guard let (ownHost, ownPort) = splitAddress(localAddress(of: descriptor)) else { return false }
        guard port == ownPort else { return false }
        return everyHost.contains(host) || everyHost.contains(ownHost)
            || resolve(host: host, port: port, passive: true).contains { $0.host == ownHost }
    }

    private static let everyHost: Set = ["", "*", "0.0.0.0", "::"]
}

/// Where a socket is bound, in numbers; empty for what has no address.
private func localAddress(of descriptor: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 80) { text in
        let count = clinux_local_address(descriptor, text.baseAddress, 80)
        return String(decoding: text.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// What came from outside, for a message: short and without anything that a terminal acts on.
private func printable(_ text: String) -> String {
    String(text.unicodeScalars.prefix(64).map { $0.value >= 0x20 && $0.value < 0x7F ? Character($0) : "?" })
}
