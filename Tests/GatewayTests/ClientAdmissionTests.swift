import CLinux
import Configuration
import Testing

@testable import Gateway

/// The address of a peer, from its numeric form.
private func peer(_ text: String) throws -> sockaddr_storage {
    let found = try #require(resolve(host: text, port: 4711, passive: false).first)
    return found.storage
}

private func network(_ text: String) throws -> ClientNetwork { try #require(ClientNetwork(try peer(text))) }

@Suite struct ClientAdmissionTests {
    @Test func anIPv4AddressIsAClientOfItsOwnHoweverItIsWritten() throws {
        #expect(try network("192.0.2.7") != network("192.0.2.8"))
        #expect(try network("192.0.2.7") == network("::ffff:192.0.2.7"))
    }

    @Test func anIPv6NetworkOf64BitsIsOneClient() throws {
        #expect(try network("2001:db8:1:2::1") == network("2001:db8:1:2:ffff:ffff:ffff:ffff"))
        #expect(try network("2001:db8:1:2::1") != network("2001:db8:1:3::1"))
        #expect(try network("::1") != network("0.0.0.1"))
    }

    @Test func whatHasNoAddressIsNobody() {
        #expect(ClientNetwork(sockaddr_storage()) == nil)
    }

    @Test func countsAreExactAndForgottenWithTheLastConnection() throws {
        let counts = ClientCounts()
        let client = try network("192.0.2.7")
        #expect((0..<5).map { _ in counts.enter(client, limit: 3) } == [true, true, true, false, false])
        #expect(counts.enter(try network("192.0.2.8"), limit: 3))
        #expect(counts.clients == 2)
        for _ in 0..<3 { counts.leave(client) }
        #expect(counts.clients == 1)
        #expect(counts.enter(client, limit: 1))
    }

    @Test func aPlaceIsGivenBackWithItsEnd() throws {
        var settings = Settings()
        settings.listeners = [ListenerSettings(address: "127.0.0.1:0", connections: 3)]
        settings.limits.connectionsPerAddress = 2
        let (port, counts) = (ClientPort(), ClientCounts())
        func take(_ text: String) throws -> String {
            switch ClientPlace.take(at: port, for: try peer(text), settings: settings, counts: counts) {
            case .admitted(let place):
                places.append(place)
                return "admitted"
            case .listenerFull: return "listener"
            case .clientFull: return "client"
            }
        }
        var places: [ClientPlace?] = []
        #expect(try (0..<3).map { _ in try take("192.0.2.7") } == ["admitted", "admitted", "client"])
        #expect(try (0..<2).map { _ in try take("192.0.2.8") } == ["admitted", "listener"])
        places.removeFirst()
        #expect(try take("192.0.2.7") == "admitted")
        places.removeAll()
        #expect(counts.clients == 0)
        #expect(try (0..<2).map { _ in try take("192.0.2.9") } == ["admitted", "admitted"])
    }

    @Test func nothingIsKeptWhereNothingIsLimited() throws {
        let outcome = ClientPlace.take(
            at: ClientPort(), for: try peer("192.0.2.7"), settings: Settings(), counts: ClientCounts())
        guard case .admitted(nil) = outcome else {
            Issue.record("a place was made")
            return
        }
    }
}
