import CLinux
import Gateway
import Journal
import Rollout
import Synchronization

/// The open event streams of the admin listener (`GET stream`), and what is new for them. Any thread.
///
/// Nothing is kept for a single stream: each remembers what it has sent and fetches what is new at its own pace, changes from
/// the store and mismatches from their log. So a slow reader costs its connection and no memory. While anybody listens, one
/// task makes the status, for all of them together.
///
/// Limits: `max` streams, a further one is refused; `historyKept` finished rows of the history, older ones are not sent to whoever
/// is so far behind (they are in `metrics/history`).
final class EventStreams: Sendable {
    static let max = 64
    static let historyKept = 64

    /// What every stream can be told of.
    struct News: Sendable {
        /// Counts the statuses; a stream sends each once.
        var statusNumber = 0
        /// One line of JSON; nil while none was made.
        var status: String?
        /// The number of the newest change that the store holds; nil while that is not known.
        var newestChange: Int64?
        var isEnded = false
    }

    private struct State {
        var news = News()
        var open = 0
        var isWatching = false
        var hasChanged = false
        var history: [String] = []
        /// How many rows there were before `history`.
        var historyBefore = 0
        var listeners: [ObjectIdentifier: StreamListener] = [:]
    }

    private let state = Mutex(State())

    /// - Parameter subscribeHistory: has its argument called with every finished row of the history, as one line of JSON.
    init(subscribeHistory: (@Sendable (@escaping @Sendable (String) -> Void) -> Void)? = nil) {
        subscribeHistory? { [weak self] row in self?.historyGrew(row) }
    }

    /// How many are open.
    var openCount: Int { state.withLock { $0.open } }

    var news: News { state.withLock { $0.news } }

    // MARK: Places

    /// A place for one stream, free again when it is let go.
    final class Place: Sendable {
        private let streams: EventStreams

        fileprivate init(_ streams: EventStreams) { self.streams = streams }
        deinit { streams.leave() }
    }

    /// nil when all are taken, or the gateway drains.
    func take() -> Place? {
        let isFree = state.withLock { state in
            guard !state.news.isEnded, state.open < Self.max else { return false }
            state.open += 1
            return true
        }
        return isFree ? Place(self) : nil
    }

    private func leave() { state.withLock { $0.open -= 1 } }

    func add(_ listener: StreamListener) { state.withLock { $0.listeners[ObjectIdentifier(listener)] = listener } }
    func remove(_ listener: StreamListener) { state.withLock { $0.listeners[ObjectIdentifier(listener)] = nil } }

    // MARK: News

    /// Somebody has changed something: whoever listens is to know at once.
    func somethingChanged() { state.withLock { $0.hasChanged = true } }

    /// The gateway drains: every stream ends, and none begins any more.
    func end() {
        state.withLock { $0.news.isEnded = true }
        wakeAll()
    }

    private func historyGrew(_ row: String) {
        state.withLock { state in
            state.history.append(row)
            if state.history.count > Self.historyKept {
                state.history.removeFirst()
                state.historyBefore += 1
            }
        }
        wakeAll()
    }

    /// The rows that came behind so many, as far as they are kept, and how many there have been.
    func history(behind count: Int) -> (rows: [String], count: Int) {
        state.withLock { state in
            let skipped = Swift.max(0, count - state.historyBefore)
            return (Array(state.history.dropFirst(skipped)), state.historyBefore + state.history.count)
        }
    }

    private func wakeAll() {
        let listeners = state.withLock { Array($0.listeners.values) }
        for listener in listeners { listener.wake() }
    }

    // MARK: Watching

    /// How often is looked whether the rollout has changed, in milliseconds.
    static let lookMilliseconds = 100
    /// How often the status is made anew all the same, in milliseconds.
    static let statusMilliseconds: Int64 = 1_000

    /// Watches the gateway for as long as anybody listens.
    func watch(_ api: AdminAPI) {
        let isFirst = state.withLock { state in
            defer { state.isWatching = true }
            return !state.isWatching
        }
        guard isFirst else { return }
        Task.detached { [self] in
            var lastMade: Int64?
            var generation: Int64 = -1
            while goesOn() {
                let now = Int64(clinux_monotonic_nanoseconds() / 1_000_000)
                let current = await api.controller.picture.state.generation
                let isChanged = takeChange() || current != generation
                if isChanged || lastMade.map({ now - $0 >= Self.statusMilliseconds }) ?? true {
                    (lastMade, generation) = (now, current)
                    await make(api)
                }
                try? await Task.sleep(for: .milliseconds(Self.lookMilliseconds))
            }
        }
    }

    private func make(_ api: AdminAPI) async {
        // The change before the status that shows it: a store that is away is asked again with the next one.
        let newest = await within(milliseconds: 1_000) {
            do throws(JournalError) { return try await api.newestEvent() } catch { return nil }
        }
        let status = String(decoding: await api.status().body, as: UTF8.self)
        state.withLock { state in
            if let newest { state.news.newestChange = newest }
            state.news.status = status.last == "\n" ? String(status.dropLast()) : status
            state.news.statusNumber += 1
        }
        wakeAll()
    }

    /// False when nobody listens any more: what was made is old by the time somebody does again.
    private func goesOn() -> Bool {
        state.withLock { state in
            if state.open > 0, !state.news.isEnded { return true }
            state.isWatching = false
            state.news.status = nil
            state.news.newestChange = nil
            return false
        }
    }

    private func takeChange() -> Bool {
        state.withLock { state in
            defer { state.hasChanged = false }
            return state.hasChanged
        }
    }
}

/// Waits for news on behalf of one stream. Woken while it does not wait, it does not wait the next time.
final class StreamListener: Sendable {
    private struct State {
        var isWoken = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func wake() {
        let waiting = state.withLock { state in
            defer { state.waiting = nil }
            state.isWoken = state.waiting == nil
            return state.waiting
        }
        waiting?.resume()
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isWoken = state.withLock { state in
                defer { state.isWoken = false }
                if !state.isWoken { state.waiting = continuation }
                return state.isWoken
            }
            if isWoken { continuation.resume() }
        }
    }
}
