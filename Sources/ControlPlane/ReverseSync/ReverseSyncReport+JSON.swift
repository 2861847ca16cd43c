import CLinux
import Journal
import Values

/// As the API shows it.
extension ReverseSyncReport {
    /// The whole report, with what has been reached so far.
    func json() -> JSONValue {
        let now = clinux_monotonic_nanoseconds()
        func instant(_ milliseconds: Int64?) -> JSONValue {
            milliseconds.map { .string(Instant(milliseconds: $0).text) } ?? .null
        }
        return .object([
            ("run", .number("\(run)")), ("phase", .string(phase.rawValue)), ("automatic", .bool(isAutomatic)),
            ("since", instant(sinceMilliseconds)),
            ("started_at", phase == .idle ? .null : instant(startedMilliseconds)),
            ("ended_at", instant(endedMilliseconds)),
            ("total", .number("\(total)")), ("done", .number("\(done)")), ("rate", ControlPlane.number(rate(now: now))),
            ("seconds_left", ControlPlane.number(secondsLeft(now: now))),
            ("parked", .number("\(parkedCount)")), ("parked_seqs", .array(parked.map { .number("\($0)") })),
            ("verification", verification.map(ReverseSyncReport.json) ?? .null),
            ("differences", .array(differences.map(ReverseSyncReport.json))),
            ("failure", failure.map { .string($0) } ?? .null),
            ("clean", phase == .done ? .bool(isClean) : .null),
        ])
    }

    /// What an event keeps of a run.
    var outcomeMembers: [(String, JSONValue)] {
        var members: [(String, JSONValue)] = [("sent", .number("\(done)")), ("parked", .number("\(parkedCount)"))]
        if let verification {
            members += [
                ("equal", .number("\(verification.equal)")), ("different", .number("\(verification.different)")),
                ("unverifiable", .number("\(verification.unverifiable)")),
            ]
        }
        if let failure { members.append(("failure", .string(failure))) }
        return members
    }

    private static func json(_ verification: Verification) -> JSONValue {
        .object([
            ("records", .number("\(verification.records)")), ("equal", .number("\(verification.equal)")),
            ("different", .number("\(verification.different)")),
            ("unverifiable", .number("\(verification.unverifiable)")),
            ("in_flight", .number("\(verification.inFlight)")),
        ])
    }

    private static func json(_ difference: RecordDifference) -> JSONValue {
        .object([
            ("seq", .number("\(difference.sequence)")), ("target", .string(difference.path)),
            ("legacy", .object([("status", .number("\(difference.legacyStatus)"))])),
            ("new", .object([("status", .number("\(difference.newStatus)"))])),
            ("paths", .array(difference.pointers.map { .string($0) })),
        ])
    }
}

extension MissingChanges {
    var members: [(String, JSONValue)] {
        func instant(_ milliseconds: Int64?) -> JSONValue {
            milliseconds.map { .string(Instant(milliseconds: $0).text) } ?? .null
        }
        return [
            ("missing", .number("\(count)")), ("complete", .bool(isComplete)), ("older", .number("\(olderCount)")),
            ("oldest", instant(oldestMilliseconds)), ("newest", instant(newestMilliseconds)),
            ("parked", .number("\(parked)")),
        ]
    }
}
