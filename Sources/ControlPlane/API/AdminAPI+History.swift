import CLinux
import Configuration
import Gateway
import Journal
import Rollout
import Values

/// What `GET metrics/history` asks for.
private struct HistoryQuestion {
    var since: Int64 = 2 * 3_600_000
    var resolution: HistoryResolution
    var limit = 1_000
    var cursor: HistoryCursor?

    init(_ text: String) throws(BadCall) {
        let query = Query(text)
        if let text = try query.text("since"), !text.isEmpty {
            let digits = text.prefix { ("0"..."9").contains($0) }
            guard (1...7).contains(digits.count), digits.first != "0",
                ["ms", "s", "m", "h", "d"].contains(String(text.dropFirst(digits.count)))
            else {
                throw BadCall(
                    text: "since: \"\(text.prefix(40))\" is not how far back to go; accepted: 10m, 2h, 3d, up to 90d")
            }
            // Further back than anything is kept is as far as it is kept.
            let longest = HistoryResolution.tenMinutes.keptMilliseconds
            since = min(durationMilliseconds(text) ?? longest, longest)
        }
        resolution = HistoryResolution.reaching(back: since) ?? .tenMinutes
        if let seconds = try query.word("resolution", among: HistoryResolution.allCases.map { String($0.seconds) }),
            let chosen = Int64(seconds).flatMap(HistoryResolution.init)
        {
            resolution = chosen
        }
        limit = Int(min(try query.count("limit") ?? 1_000, 1_000))
        if let text = try query.text("cursor"), !text.isEmpty {
            let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let at = wholeNumber(parts[0]), parts[0].count <= 15, !parts[1].isEmpty,
                !text.unicodeScalars.contains("\0")
            else {
                throw BadCall(text: "cursor: \"\(text.prefix(40))\" is none; accepted: \"next\" of the page before")
            }
            cursor = HistoryCursor(atMilliseconds: at, instance: String(parts[1]))
        }
    }
}

extension AdminAPI {
    func metricsHistory(_ request: ServiceRequest) async -> ServiceResponse {
        let question: HistoryQuestion
        do throws(BadCall) { question = try HistoryQuestion(request.query) } catch { return problem(400, error.text) }
        let now = clinux_wall_milliseconds()
        let found: [HistoryRow]
        do throws(JournalError) {
            found = try await history.rows(
                question.resolution, from: now - question.since, through: now, before: question.cursor,
                limit: question.limit + 1)
        } catch {
            return problem(503, error.message)
        }
        let items = found.prefix(question.limit)
        let next = found.count > items.count ? items.last?.cursor : nil
        return json(
            .object([
                ("items", .array(items.map(historyJSON))),
                ("next", next.map { .string("\($0.atMilliseconds).\($0.instance)") } ?? .null),
            ]))
    }
}

/// A row of the history as the API shows it: counts of one gateway, in one span.
func historyJSON(_ row: HistoryRow) -> JSONValue {
    func pair(_ pair: HistoryRow.Pair) -> JSONValue {
        .object([("legacy", .number(String(pair.legacy))), ("new", .number(String(pair.new)))])
    }
    func count(_ count: Int64) -> JSONValue { .number(String(count)) }
    /// To a tenth.
    func seconds(_ milliseconds: Int64) -> JSONValue {
        number((Double(milliseconds) / 100).rounded() / 10)
    }
    return .object([
        ("at", .string(Instant(milliseconds: row.atMilliseconds).text)),
        ("seconds", count(row.resolution.seconds)), ("instance", .string(row.instance)),
        ("percent", .number(Percent.text(hundredths: Int(row.percentHundredths)))),
        ("stage", row.stage.isEmpty ? .null : .string(row.stage)), ("state", .string(row.state)),
        ("generation", count(row.generation)),
        ("covered_seconds", seconds(row.coveredMilliseconds)), ("load_seconds", seconds(row.loadMilliseconds)),
        ("reads", pair(row.reads)), ("read_errors", pair(row.readErrors)), ("client_errors", count(row.clientErrors)),
        ("writes", pair(row.writes)),
        (
            "write_p95_seconds",
            .object([
                ("legacy", number(row.writeP95Legacy.map { Double($0) / 1e6 })),
                ("new", number(row.writeP95New.map { Double($0) / 1e6 })),
            ])
        ),
        ("writes_received", count(row.writesReceived)), ("conflicts", count(row.conflicts)),
        ("new_requests", count(row.newRequests)), ("fallbacks", count(row.fallbacks)),
        ("compared", count(row.compared)), ("mismatched", count(row.mismatched)),
        ("pending", pair(row.pending)), ("parked", count(row.parked)),
    ])
}
