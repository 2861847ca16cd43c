internal import CLinux
internal import Gateway
internal import Glibc
internal import Journal
internal import SyncStore
internal import Values

/// One line of JSON for each request, and one for each that the store took long for. Lines hold ids of requests, never those of users or records.
///
/// Limits: `linesMax` lines wait for the file; what does not fit is counted, and the count is a line of its own later.
final class RequestLog: Sendable {
    private static let linesMax = 10_000

    private let lines: WorkThreads<Int32>
    /// Every request has its line; else those that were slow alone.
    private let isWhole: Bool
    private let slowNanoseconds: UInt64
    private let file: Int32

    /// - Parameter place: a file, `-` for standard error, nil for none: then slow requests alone are told of, on standard error.
    init(_ place: String?, slowMilliseconds: Int64) throws(JournalError) {
        isWhole = place != nil
        slowNanoseconds = UInt64(max(0, slowMilliseconds)) * 1_000_000
        if let place, place != "-" {
            file = open(place, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard file >= 0 else {
                throw JournalError(.cannotOpen, "cannot open \(place): \(String(cString: strerror(errno)))")
            }
        } else {
            file = STDERR_FILENO
        }
        lines = WorkThreads(name: "sync-log", tools: [file], limit: Self.linesMax)
        lines.start()
    }

    /// Lines that did not fit.
    var dropped: Int64 { lines.figures.turnedAway }

    func note(_ turn: Turn, _ request: ServiceRequest, _ answer: ServiceResponse) {
        let isSlow = turn.storeNanoseconds > slowNanoseconds
        guard isWhole || isSlow else { return }
        var line: [UInt8] = []
        line.append(text: "{\"at\":")
        line.append(jsonInstant: clinux_wall_milliseconds())
        line.append(text: ",\"request_id\":")
        line.append(jsonString: turn.id)
        line.append(text: ",\"method\":")
        line.append(jsonString: request.method)
        line.append(text: ",\"route\":")
        line.append(jsonString: turn.route)
        line.append(text: ",\"status\":")
        line.append(decimal: Int64(answer.status))
        line.append(text: ",\"count\":")
        line.append(decimal: Int64(turn.count))
        line.append(text: ",\"request_bytes\":")
        line.append(decimal: Int64(request.body.count))
        line.append(text: ",\"answer_bytes\":")
        line.append(decimal: Int64(answer.body.count))
        line.append(text: ",\"milliseconds\":")
        line.append(decimal: Int64((clinux_monotonic_nanoseconds() - turn.began) / 1_000_000))
        line.append(text: ",\"store_milliseconds\":")
        line.append(decimal: Int64(turn.storeNanoseconds / 1_000_000))
        line.append(text: isSlow ? ",\"slow\":true}\n" : ",\"slow\":false}\n")
        let whole = line
        lines.perform { descriptor in
            if let descriptor { _ = writeWhole(descriptor, whole) }
        }
    }

    func close() {
        lines.close()
        if file > STDERR_FILENO { Glibc.close(file) }
    }
}
