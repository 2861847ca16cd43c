internal import Journal

/// From SQLSTATE (PostgreSQL's appendix A) to what the journal can do about it.
enum PostgresFailure {
    /// Raised by this program's own functions: the gateway's place in the store is not its own any more.
    static let fenced = "CV001"
    /// The lock table is full: the group asks again for one lock in place of many.
    static let outOfSharedMemory = "53200"

    static func kind(_ state: String) -> JournalError.Kind {
        switch state {
        case fenced: return .fenced
        case "53100": return .full
        // Read-only transaction: a standby, or a database that was made read-only.
        case "25006": return .readOnly
        // Serialization failure, deadlock, lock time-out, statement time-out, no free lock: the same work may succeed next time.
        case "40001", "40P01", "55P03", "57014", outOfSharedMemory: return .busy
        // Wrong password, unknown role, no such database, no right to connect, no right to a table.
        case "28000", "28P01", "3D000", "42501", "3F000": return .cannotOpen
        case "53300": return .unreachable
        case "58030": return .io
        case "XX001", "XX002": return .damaged
        default: break
        }
        if state.hasPrefix("08") || state.hasPrefix("57P") { return .unreachable }
        return .other
    }

    /// The server's words, unless they may quote what was sent (classes 22, 23 and P0: data, constraints, raised by functions).
    static func words(_ state: String, _ message: String) -> String {
        switch state.prefix(2) {
        case "22", "23", "P0": "SQLSTATE \(state)"
        case "CV": message
        default: "\(message) (SQLSTATE \(state))"
        }
    }
}
