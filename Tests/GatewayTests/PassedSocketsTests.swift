import CLinux
import Testing

@testable import Gateway

/// What a service manager, or the process before, tells of its sockets, and which address each stands for.
struct PassedSocketsTests {
    private let clients = ["127.0.0.1:8080", "[::1]:8443"]
    private let admin = "127.0.0.1:9900"

    @Test func descriptorsBeginAtThreeAndHaveTheirNames() throws {
        let environment = ["LISTEN_FDS": "2", "LISTEN_PID": "7", "LISTEN_FDNAMES": "client:"]
        #expect(
            try PassedSockets.announced(by: environment, pid: 7) == [
                PassedSocket(descriptor: 3, name: "client"), PassedSocket(descriptor: 4, name: ""),
            ])
        #expect(
            try PassedSockets.announced(by: ["LISTEN_FDS": "1", "LISTEN_PID": "7"], pid: 7).map(\.name) == ["unknown"])
    }

    @Test(arguments: [
        [:], ["LISTEN_FDS": "1"], ["LISTEN_FDS": "1", "LISTEN_PID": "8"], ["LISTEN_FDS": "0", "LISTEN_PID": "7"],
    ]) func nothingIsTakenThatIsForSomebodyElse(environment: [String: String]) throws {
        #expect(try PassedSockets.announced(by: environment, pid: 7) == [])
    }

    @Test(arguments: ["-1", "x", "", "1025", "99999999999999999999"]) func aCountThatIsNoneIsAnError(count: String) {
        #expect(throws: ListenError.self) {
            try PassedSockets.announced(by: ["LISTEN_FDS": count, "LISTEN_PID": "7"], pid: 7)
        }
    }

    @Test func aHandoverIsReadAsItWasWritten() throws {
        let text = PassedSockets.handover(
            [(5, .client, "127.0.0.1:0"), (6, .client, "[::1]:8443"), (9, .admin, "127.0.0.1:9900")], pid: 7,
            formerProgram: 11)
        let read = try #require(PassedSockets(handover: text, pid: 7))
        #expect(read.formerProgram == 11)
        #expect(read.handedOver.map(\.descriptor) == [5, 6, 9])
        #expect(read.handedOver.map(\.configured) == ["127.0.0.1:0", "[::1]:8443", "127.0.0.1:9900"])
        #expect(PassedSockets(handover: text, pid: 8) == nil)
        #expect(PassedSockets(handover: "7", pid: 7)?.sockets == [])
    }

    @Test(arguments: ["", "7,", "7,x=client=a", "7,1=client=a", "7,5=client", "x,5=client=a"])
    func aHandoverOfAnotherFormIsPassedOver(text: String) {
        let read = PassedSockets(handover: text, pid: 7)
        #expect(read == nil || read?.sockets == [])
    }

    @Test(arguments: [
        ("client", "127.0.0.1:8080", "127.0.0.1:8080"), ("", "127.0.0.1:8080", "127.0.0.1:8080"),
        ("x.socket", "[::1]:8443", "[::1]:8443"), ("admin", "127.0.0.1:9900", "127.0.0.1:9900"),
        ("x.socket", "127.0.0.1:9900", "127.0.0.1:9900"),
    ]) func aSocketStandsForTheAddressWhereItListens(name: String, address: String, configured: String) {
        let socket = PassedSocket(descriptor: 3, name: name, address: address)
        let place = socket.place(clients: clients, admin: admin)
        #expect(place?.configured == configured)
        #expect(place?.role == (configured == admin ? .admin : .client))
    }

    @Test(arguments: [
        ("client", "127.0.0.1:8081"), ("admin", "127.0.0.1:8080"), ("admin", "0.0.0.0:9900"), ("x", "127.0.0.2:8080"),
        ("x", ""),
    ]) func aSocketThatFitsNoAddressStandsForNone(name: String, address: String) {
        let socket = PassedSocket(descriptor: 3, name: name, address: address)
        #expect(socket.place(clients: clients, admin: admin) == nil)
    }

    @Test func theNameIsEnoughWhereThereIsOneAddressForClients() {
        let socket = PassedSocket(descriptor: 3, name: "client", address: "0.0.0.0:80")
        #expect(socket.place(clients: ["127.0.0.1:8080"], admin: admin)?.configured == "127.0.0.1:8080")
        // What may be asked of the admin listener without a token was judged by its address.
        let open = PassedSocket(descriptor: 3, name: "admin", address: "0.0.0.0:9900")
        #expect(open.place(clients: ["127.0.0.1:8080"], admin: admin) == nil)
    }

    @Test func anyAddressOfTheMachineIsTheSameInBothFamilies() {
        let socket = PassedSocket(descriptor: 3, name: "", address: "[::]:80")
        for address in ["0.0.0.0:80", "[::]:80", "*:80", ":80"] {
            #expect(socket.place(clients: [address, "127.0.0.1:81"], admin: admin)?.configured == address)
        }
        #expect(socket.place(clients: ["127.0.0.1:80", "127.0.0.1:81"], admin: admin) == nil)
    }

    @Test func whatIsHandedOverGoesByTheConfiguredAddress() {
        let socket = PassedSocket(
            descriptor: 3, name: "client", configured: "127.0.0.1:0", address: "127.0.0.1:40001")
        #expect(socket.place(clients: ["127.0.0.1:0"], admin: "127.0.0.1:0")?.role == .client)
        #expect(socket.place(clients: ["127.0.0.1:8080"], admin: "127.0.0.1:0") == nil)
    }
}

/// Who owns the sockets, and what the loops get of them.
struct ListeningSocketsTests {
    @Test func theLoopsHaveDuplicatesAndTheSocketOutlivesThem() throws {
        let sockets = ListeningSockets()
        let shares = try sockets.listen(on: "127.0.0.1:0", as: .client, loops: 3)
        #expect(shares.loops.map(\.count) == [1, 1, 1])
        #expect(!shares.isShared)
        for descriptor in shares.loops.joined() { close(descriptor) }
        #expect(canConnect(shares.port))
        sockets.close(.admin)
        #expect(canConnect(shares.port))
        sockets.close(.client)
        #expect(!canConnect(shares.port))
    }

    @Test(arguments: [(1, 3), (2, 3), (3, 3), (3, 2), (3, 1)])
    func whateverWasPassedReachesEveryLoopAndNoneIsLeftOut(passed: Int, loops: Int) throws {
        let bound = try bind("127.0.0.1:0", count: passed)
        let handover = PassedSockets.handover(
            bound.descriptors.map { ($0, .client, "127.0.0.1:0") }, pid: getpid(), formerProgram: nil)
        let sockets = ListeningSockets()
        try sockets.adopt(
            PassedSockets(environment: [PassedSockets.handoverVariable: handover], pid: getpid()),
            clients: ["127.0.0.1:0"], admin: "127.0.0.1:1")
        let shares = try sockets.listen(on: "127.0.0.1:0", as: .client, loops: loops)
        defer { for descriptor in shares.loops.joined() { close(descriptor) } }
        #expect(shares.port == bound.port)
        #expect(shares.loops.allSatisfy { !$0.isEmpty })
        #expect(shares.isShared == (passed < loops))
        #expect(shares.loops.joined().count == (passed < loops ? passed * loops : passed))
        #expect(sockets.held.count == passed)
    }

    @Test func whatNobodyWantsAnyMoreIsClosed() throws {
        let bound = try bind("127.0.0.1:0", count: 1)
        let handover = PassedSockets.handover(
            [(bound.descriptors[0], .client, "127.0.0.1:0")], pid: 7, formerProgram: nil)
        let passed = try PassedSockets(environment: [PassedSockets.handoverVariable: handover], pid: 7)
        let sockets = ListeningSockets()
        try sockets.adopt(passed, clients: ["127.0.0.1:1"], admin: "127.0.0.1:2")
        #expect(!canConnect(bound.port))
        #expect(sockets.held.isEmpty)
    }

    private func canConnect(_ port: UInt16) -> Bool {
        guard let address = resolve(host: "127.0.0.1", port: port, passive: false).first else { return false }
        let client = address.connect()
        guard client >= 0 else { return false }
        defer { close(client) }
        var waiting = pollfd(fd: client, events: Int16(POLLOUT), revents: 0)
        return poll(&waiting, 1, 5_000) == 1 && clinux_socket_error(client) == 0
    }
}
