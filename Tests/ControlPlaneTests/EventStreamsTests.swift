import Synchronization
import Testing

@testable import ControlPlane

@Suite(.timeLimit(.minutes(1)))
struct EventStreamsTests {
    @Test func thereAreSoManyPlacesAndOneThatIsLetGoIsFree() {
        let streams = EventStreams()
        var places = (0..<EventStreams.max).compactMap { _ in streams.take() }
        #expect(places.count == EventStreams.max && streams.openCount == EventStreams.max && streams.take() == nil)
        places.removeLast()
        #expect(streams.openCount == EventStreams.max - 1)
        let again = streams.take()
        #expect(again != nil && streams.openCount == EventStreams.max)
        places.removeAll()
        #expect(streams.openCount == 1)
        withExtendedLifetime(again) {}
    }

    @Test func afterTheEndNobodyIsLetIn() async {
        let streams = EventStreams()
        let listener = StreamListener()
        streams.add(listener)
        streams.end()
        await listener.wait()
        #expect(streams.news.isEnded && streams.take() == nil)
    }

    @Test func whoIsTooFarBehindGoesOnWithTheRowsThatAreKept() throws {
        let tell = Mutex<(@Sendable (String) -> Void)?>(nil)
        let streams = EventStreams(subscribeHistory: { add in tell.withLock { $0 = add } })
        let add = try #require(tell.withLock { $0 })
        let begin = streams.history(behind: .max).count
        #expect(begin == 0)
        for row in 1...3 { add("\(row)") }
        #expect(streams.history(behind: begin) == (["1", "2", "3"], 3))
        #expect(streams.history(behind: 2) == (["3"], 3) && streams.history(behind: 3) == ([], 3))
        for row in 4...100 { add("\(row)") }
        let kept = streams.history(behind: 3)
        #expect(kept.count == 100 && kept.rows.count == EventStreams.historyKept)
        #expect(kept.rows.first == "37" && kept.rows.last == "100")
        #expect(streams.history(behind: 99).rows == ["100"])
    }

    @Test func aWakingThatComesBeforeTheWaitIsNotLost() async {
        let listener = StreamListener()
        listener.wake()
        listener.wake()
        await listener.wait()
        let waiting = Task { await listener.wait() }
        listener.wake()
        await waiting.value
    }
}
