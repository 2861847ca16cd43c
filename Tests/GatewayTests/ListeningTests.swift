import CLinux
import Testing

@testable import Gateway

struct ListeningTests {
    @Test(arguments: [1, 4])
    func anAddressIsListenedOnByOnlyOne(count: Int) throws {
        let first = try bind("127.0.0.1:0", count: count)
        defer { for descriptor in first.descriptors { close(descriptor) } }
        #expect(first.descriptors.count == count)
        for (address, loops) in [("127.0.0.1", 1), ("127.0.0.1", 4), ("0.0.0.0", 4)] {
            do throws(ListenError) {
                for descriptor in try bind("\(address):\(first.port)", count: loops).descriptors { close(descriptor) }
                Issue.record("\(address) was bound a second time")
            } catch {
                #expect(error.text.contains("\(address):\(first.port): address already in use; "), "\(error.text)")
                #expect(error.text.contains("ss -ltnp 'sport = :\(first.port)'"))
            }
        }
    }

    @Test func theLoopsShareTheClientsOfAnAddress() throws {
        let bound = try bind("127.0.0.1:0", count: 3)
        defer { for descriptor in bound.descriptors { close(descriptor) } }
        var clients: [Int32] = []
        defer { for client in clients { close(client) } }
        var taken = [0, 0, 0]
        // The kernel spreads by a hash of the addresses: that one of three gets none of 200 does not happen.
        for _ in 0..<200 {
            clients.append(try #require(resolve(host: "127.0.0.1", port: bound.port, passive: false).first).connect())
            var polls = bound.descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            #expect(poll(&polls, 3, 30_000) > 0)
            for index in polls.indices where polls[index].revents != 0 {
                var peer = sockaddr_storage()
                let client = clinux_accept(bound.descriptors[index], &peer)
                guard client >= 0 else { continue }
                clients.append(client)
                taken[index] += 1
            }
        }
        #expect(taken.allSatisfy { $0 > 0 }, "\(taken)")
    }

    /// What a restart finds: connections of the gateway before it, open, half-closed and waiting for their end.
    @Test func connectionsThatAreLeftOverAreNoObstacle() throws {
        let before = try bind("127.0.0.1:0", count: 2)
        var ends: [Int32] = []
        defer { for end in ends { close(end) } }
        for number in 0..<12 {
            let client = try #require(resolve(host: "127.0.0.1", port: before.port, passive: false).first).connect()
            var polls = before.descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            #expect(poll(&polls, 2, 30_000) > 0)
            var peer = sockaddr_storage()
            let ready = try #require(polls.first { $0.revents != 0 })
            let server = clinux_accept(ready.fd, &peer)
            try #require(server >= 0)
            // A third stays open, of a third this side is closed first (TIME_WAIT when both are), of a third only this side is closed.
            if number % 3 > 0 { close(server) } else { ends.append(server) }
            if number % 3 == 1 { close(client) } else { ends.append(client) }
        }
        for descriptor in before.descriptors { close(descriptor) }
        let after = try bind("127.0.0.1:\(before.port)", count: 2)
        #expect(after.port == before.port)
        for descriptor in after.descriptors { close(descriptor) }
    }
}
