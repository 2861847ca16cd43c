import CLinux
import Gateway
import Journal
import Values

extension AdminAPI {
    /// `GET stream`: what happens, as server-sent events.
    func stream(_ request: ServiceRequest) async -> ServiceResponse {
        let after: Int64?
        do throws(BadCall) { after = try changeSeen(request) } catch { return problem(400, error.text) }
        var response = ServiceResponse(
            status: 200,
            headers: [
                // Buffered by a proxy on the way, an event would come when it is old.
                ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"), ("X-Accel-Buffering", "no"),
            ])
        if request.method == "HEAD" { return response }
        guard let place = streams.take() else {
            return problem(
                503, streams.news.isEnded ? "the gateway drains" : "all \(EventStreams.max) event streams are taken")
        }
        streams.watch(self)
        response.stream = { [self] stream in
            await EventFeed(api: self, stream: stream).run(after: after)
            if stream.isStalled { logLine("admin: an event stream is cut off: its client reads nothing") }
            withExtendedLifetime(place) {}
        }
        return response
    }

    /// The number of the last change that the client has; nil when it wants none of the past. What a client that connects anew
    /// remembers counts more than the address that it began with.
    private func changeSeen(_ request: ServiceRequest) throws(BadCall) -> Int64? {
        let line = request.header("last-event-id").flatMap { $0.isEmpty ? nil : $0 }
        let parameter = try Query(request.query).text("after")
        guard let text = line ?? parameter else { return nil }
        guard let number = wholeNumber(text) else {
            throw BadCall(text: "\(line == nil ? "after" : "Last-Event-ID"): \"\(text.prefix(40))\" is no seq")
        }
        return number
    }
}

/// One event stream: sends what is new since it has last looked.
private struct EventFeed {
    /// Changes of the past that a stream begins with at most; the older ones are in `events`.
    static let resumedMax: Int64 = 1_000
    /// A comment is sent so often, in milliseconds, whatever else is.
    static let aliveMilliseconds: UInt64 = 15_000

    let api: AdminAPI
    let stream: ServiceStream

    private var streams: EventStreams { api.streams }

    func run(after: Int64?) async {
        let listener = StreamListener()
        streams.add(listener)
        defer { streams.remove(listener) }
        stream.whenGone { listener.wake() }
        guard await stream.send("retry: 2000\n\n") else { return }
        var change = after
        var isResumed = after == nil
        var mismatch = api.dataPlane.shared.mismatches.newest
        var history = streams.history(behind: .max).count
        var status = 0
        var aliveAt = clinux_monotonic_nanoseconds() / 1_000_000
        while true {
            let news = streams.news
            if news.isEnded || stream.isGone { return }
            if let newest = news.newestChange {
                if !isResumed, let seen = change {
                    change = min(newest, Swift.max(seen, newest - Self.resumedMax))
                    isResumed = true
                }
                guard let sent = await sendChanges(after: change ?? newest, newest: newest) else { return }
                change = sent
            }
            guard let newMismatch = await sendMismatches(after: mismatch) else { return }
            mismatch = newMismatch
            let rows = streams.history(behind: history)
            for row in rows.rows { guard await stream.send("event: history\ndata: \(row)\n\n") else { return } }
            history = rows.count
            if news.statusNumber != status, let text = news.status {
                guard await stream.send("event: status\ndata: \(text)\n\n") else { return }
                status = news.statusNumber
            }
            let now = clinux_monotonic_nanoseconds() / 1_000_000
            if now - aliveAt >= Self.aliveMilliseconds {
                guard await stream.send(": alive\n\n") else { return }
                aliveAt = now
            }
            await listener.wait()
        }
    }

    /// - Returns: up to which change the client has all; nil when it is gone.
    private func sendChanges(after: Int64, newest: Int64) async -> Int64? {
        var last = after
        while last < newest {
            do throws(JournalError) {
                let page = try await api.eventPage(after: last, newest: newest)
                for event in page.events {
                    let text = api.eventJSON(event).text
                    guard await stream.send("event: change\nid: \(event.sequence)\ndata: \(text)\n\n") else {
                        return nil
                    }
                }
                last = page.last
            } catch {
                // The store is away: with the next news it is tried again.
                return last
            }
        }
        return last
    }

    /// - Returns: up to which mismatch the client has all that are kept; nil when it is gone.
    private func sendMismatches(after: Int64) async -> Int64? {
        var last = after
        for mismatch in api.dataPlane.shared.mismatches.behind(after) {
            let text = api.mismatchJSON(mismatch).text
            guard await stream.send("event: mismatch\ndata: \(text)\n\n") else { return nil }
            last = mismatch.sequence
        }
        return last
    }
}
