import Gateway
import Journal
import JournalThreads
import Values

extension AdminAPI {
    /// Events that are read from the store at a time where all are wanted.
    static let eventsAtATime = 100

    /// `GET events`: a page, newest first; `?format=ndjson` is all of them, oldest first, to be kept elsewhere.
    func events(_ request: ServiceRequest) async -> ServiceResponse {
        let (limit, cursor): (Int, Int64?)
        let isExport: Bool
        do throws(BadCall) {
            let query = Query(request.query)
            (limit, cursor) = try page(query)
            isExport = try query.word("format", among: ["json", "ndjson"]) == "ndjson"
        } catch {
            return problem(400, error.text)
        }
        if isExport { return await exportEvents() }
        do throws(JournalError) {
            let events = try await journal.read { reader throws(JournalError) in
                try reader.events(before: cursor, limit: limit + 1)
            }
            return list(
                events.prefix(limit).map(eventJSON), next: events.count > limit ? events[limit - 1].sequence : nil)
        } catch {
            return problem(503, error.message)
        }
    }

    func eventJSON(_ event: RolloutEvent) -> JSONValue {
        .object([
            ("seq", .number(String(event.sequence))),
            ("at", .string(Instant(milliseconds: event.atMilliseconds).text)),
            ("actor", .string(event.actor)), ("action", .string(event.action)),
            ("before", storedJSON(event.before)), ("after", storedJSON(event.after)),
            ("reason", .string(event.reason)),
        ])
    }

    /// Every event there is now, one object a line. A store that fails on the way breaks the answer off, so that nobody takes
    /// a part for the whole.
    private func exportEvents() async -> ServiceResponse {
        let newest: Int64
        do throws(JournalError) { newest = try await newestEvent() } catch { return problem(503, error.message) }
        var response = ServiceResponse(
            status: 200,
            headers: [
                ("Content-Type", "application/x-ndjson"), ("Cache-Control", "no-store"),
                ("Content-Disposition", "attachment; filename=\"cutover-events.ndjson\""),
            ])
        response.stream = { [self] stream in
            var last: Int64 = 0
            do throws(JournalError) {
                while last < newest {
                    let page = try await eventPage(after: last, newest: newest)
                    last = page.last
                    let lines = page.events.map { eventJSON($0).text + "\n" }.joined()
                    guard await stream.send(lines) else { return }
                }
            } catch {
                logLine("the export of the events broke off: \(error.message)")
                stream.abandon()
            }
        }
        return response
    }

    /// The number of the newest event; 0 when there is none.
    func newestEvent() async throws(JournalError) -> Int64 {
        try await journal.read { reader throws(JournalError) in
            try reader.events(before: nil, limit: 1).first?.sequence ?? 0
        }
    }

    /// Some of the events behind one, oldest first.
    ///
    /// The store gives the newest before a number; as every event has a number of its own, so many before `after` + so many + 1
    /// are all that follow `after` at once. Numbers that were never given cost a look of their own.
    /// - Returns: the events, and the number up to which there are no others.
    func eventPage(
        after: Int64, newest: Int64
    ) async throws(JournalError) -> (events: [RolloutEvent], last: Int64) {
        let last = min(after + Int64(Self.eventsAtATime), newest)
        let events = try await journal.read { reader throws(JournalError) in
            try reader.events(before: last + 1, limit: Self.eventsAtATime)
        }
        return (events.reversed().filter { $0.sequence > after }, last)
    }
}
