internal import CPostgres
internal import Glibc
package import Journal
internal import JournalThreads

/// One connection to a PostgreSQL server. Owns the handle and closes it. Belongs to one thread at a time.
///
/// It connects at its first use, and anew at the next use after it broke: never more often than every
/// `reconnectMilliseconds`. Nothing blocks for longer than its deadline, except that libpq looks a host name up with
/// `getaddrinfo`, which has time-outs of its own.
package final class PostgresConnection {
    /// How long connecting may take.
    package static let connectTimeoutMilliseconds: UInt64 = 2_000
    /// How long the server may take to answer a round trip.
    package static let statementTimeoutMilliseconds: UInt64 = 5_000
    /// The least time between two attempts to connect.
    package static let reconnectMilliseconds: UInt64 = 200
    /// The oldest server that knows every setting of `session`.
    static let oldestServer: Int32 = 140_000

    package let address: PostgresAddress
    /// Where it is connected to, or would be: for messages. Holds no password.
    package private(set) var place: String
    /// Counts the successful connects. When it has moved, whatever the session held (LISTEN, locks) is gone.
    package private(set) var generation: UInt64 = 0
    /// Counts the attempts to connect.
    package private(set) var attempts: UInt64 = 0
    /// Whether the last round trip that threw may have been carried out all the same: it broke off under way.
    package private(set) var isOutcomeUnknown = false
    /// SQLSTATE of the last failure; nil when it was not the server that reported it.
    private(set) var failedState: String?

    // nil while there is no connection. Closed in `close` and nowhere else.
    private var handle: OpaquePointer?
    private var prepared: Set<String> = []
    private var connectAt: UInt64 = 0
    private var connectFailure: JournalError?
    private let setup: String

    /// What holds for every session. Plans must not depend on statistics: a plan made for an empty table would walk through the
    /// whole of a full one until it is analysed. A commit that is not on the disk is no commit.
    private static let session = """
        SET search_path TO \(PostgresSchema.name);
        SET client_min_messages TO error;
        SET statement_timeout TO \(statementTimeoutMilliseconds);
        SET lock_timeout TO \(statementTimeoutMilliseconds - 1_000);
        SET idle_in_transaction_session_timeout TO \(statementTimeoutMilliseconds);
        SET client_connection_check_interval TO 1000;
        SET default_transaction_isolation TO 'read committed';
        SET default_transaction_deferrable TO off;
        SET jit TO off;
        SET plan_cache_mode TO force_generic_plan;
        SET enable_seqscan TO off;
        SET enable_hashjoin TO off;
        SET enable_mergejoin TO off;
        SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
        """

    /// Does not connect yet.
    /// - Parameter setup: run once on every new connection, after the settings of the session: `LISTEN` and the like.
    package init(_ address: PostgresAddress, setup: String = "") {
        self.address = address
        self.setup = setup
        place = address.place
    }

    deinit { close() }

    package var isConnected: Bool { handle != nil }

    /// Ends the connection; the next use makes a new one.
    package func close() {
        PQfinish(handle)
        handle = nil
        prepared = []
    }

    // MARK: Asking

    /// Runs one prepared statement in a transaction of its own.
    package func query(
        _ statement: PostgresStatement, _ parameters: PostgresParameters = PostgresParameters()
    ) throws(JournalError) -> PostgresRows {
        let all = try run([(statement, parameters)])
        guard let rows = all.last else { throw failure(.other, "gave no result") }
        return rows
    }

    /// Runs prepared statements in order, in ONE round trip and ONE transaction (pipeline mode): all of them are kept, or none.
    /// - Parameter timeoutMilliseconds: after that the connection is given up, and `isOutcomeUnknown` is true.
    /// - Returns: the rows of each.
    package func run(
        _ commands: [(statement: PostgresStatement, parameters: PostgresParameters)],
        timeoutMilliseconds: UInt64 = statementTimeoutMilliseconds
    ) throws(JournalError) -> [PostgresRows] {
        let handle = try connected()
        var expected: [String?] = []
        for (statement, parameters) in commands {
            if !prepared.contains(statement.name), !expected.contains(statement.name) {
                let sent = PQsendPrepare(
                    handle, statement.name, statement.sql, Int32(parameters.types.count), parameters.types)
                guard sent == 1 else { throw broken() }
                expected.append(statement.name)
            }
            guard send(statement, parameters, on: handle) else { throw broken() }
            expected.append(nil)
        }
        guard PQpipelineSync(handle) == 1 else { throw broken() }
        return try receive(expected, until: Self.deadline(timeoutMilliseconds), on: handle)
    }

    /// Runs statements without parameters or results in one transaction, by the simple protocol.
    package func script(
        _ sql: String, timeoutMilliseconds: UInt64 = statementTimeoutMilliseconds
    ) throws(JournalError) {
        try script(sql, until: Self.deadline(timeoutMilliseconds), on: try connected())
    }

    /// Runs `body` in a transaction over several round trips; rolls back and rethrows when it throws. For rare work only.
    package func transaction<Value>(_ body: () throws(JournalError) -> Value) throws(JournalError) -> Value {
        try script("BEGIN")
        let begun = generation
        do throws(JournalError) {
            let value = try body()
            // A connection that was made anew meanwhile knows nothing of the transaction.
            guard isConnected, generation == begun else { throw failure(.unreachable, "broke off in a transaction") }
            try script("COMMIT")
            return value
        } catch {
            if isConnected, generation == begun { try? script("ROLLBACK") }
            throw error
        }
    }

    // MARK: Notifications

    /// What a `LISTEN` has brought since the last call. Does not wait.
    package func notifications() -> [PostgresNotification] {
        guard let handle else { return [] }
        var found: [PostgresNotification] = []
        while let notification = PQnotifies(handle) {
            found.append(
                PostgresNotification(
                    channel: String(cString: notification.pointee.relname),
                    payload: String(cString: notification.pointee.extra)))
            cpostgres_free(notification)
        }
        return found
    }

    /// Waits until the server has something to say, another descriptor is readable, or the time is over.
    /// - Parameters:
    ///   - wake: a descriptor that ends the wait when it is readable (it is not read); -1: none.
    /// - Throws: `unreachable` when the connection broke.
    package func wait(milliseconds: Int32, wake: Int32 = -1) throws(JournalError) {
        let handle = try connected()
        var descriptors = [
            pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0),
            pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&descriptors, 2, milliseconds) > 0, descriptors[0].revents != 0 else { return }
        guard PQconsumeInput(handle) == 1, PQstatus(handle) == CONNECTION_OK else { throw broken() }
    }
}

/// A message of another session, by NOTIFY.
package struct PostgresNotification: Sendable, Equatable {
    package let channel: String
    package let payload: String
}

// MARK: - Connecting

extension PostgresConnection {
    private static func deadline(_ milliseconds: UInt64) -> UInt64 { monotonicNanoseconds() + milliseconds * 1_000_000 }

    private func connected() throws(JournalError) -> OpaquePointer {
        isOutcomeUnknown = false
        failedState = nil
        if let handle {
            if PQstatus(handle) == CONNECTION_OK { return handle }
            close()
        }
        if let connectFailure, monotonicNanoseconds() < connectAt { throw connectFailure }
        attempts += 1
        defer { connectAt = Self.deadline(Self.reconnectMilliseconds) }
        do throws(JournalError) {
            let handle = try connect()
            connectFailure = nil
            generation += 1
            return handle
        } catch {
            close()
            isOutcomeUnknown = false
            connectFailure = error
            throw error
        }
    }

    private func connect() throws(JournalError) -> OpaquePointer {
        let deadline = Self.deadline(Self.connectTimeoutMilliseconds)
        guard let opened = start() else { throw failure(.other, "cannot be connected to: no memory") }
        handle = opened
        cpostgres_silence(opened)
        var state = PGRES_POLLING_WRITING
        while state != PGRES_POLLING_OK {
            guard state != PGRES_POLLING_FAILED, PQstatus(opened) != CONNECTION_BAD else { throw refused(opened) }
            let events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT
            guard Self.wait(PQsocket(opened), for: events, until: deadline) else {
                throw failure(.unreachable, "cannot be connected to within \(Self.connectTimeoutMilliseconds) ms")
            }
            state = PQconnectPoll(opened)
        }
        func text(_ value: UnsafeMutablePointer<CChar>?) -> String? { value.map { String(cString: $0) } }
        place = PostgresAddress.place(
            host: text(PQhost(opened)), port: text(PQport(opened)), database: text(PQdb(opened)))
        guard PQserverVersion(opened) >= Self.oldestServer else {
            throw failure(.cannotOpen, "is older than version 14")
        }
        guard PQsetnonblocking(opened, 1) == 0, PQenterPipelineMode(opened) == 1 else { throw broken() }
        try script(Self.session + setup, until: Self.deadline(Self.statementTimeoutMilliseconds), on: opened)
        return opened
    }

    private func start() -> OpaquePointer? {
        // What stands before the address can be set otherwise in it; what stands after it holds.
        let options: [(String, String)] = [
            ("application_name", "cutover"), ("keepalives_idle", "5"), ("keepalives_interval", "2"),
            ("keepalives_count", "3"), ("tcp_user_timeout", "5000"), ("dbname", address.connectionString),
            ("client_encoding", "UTF8"),
        ]
        let copies = options.map { (strdup($0.0), strdup($0.1)) }
        defer { for copy in copies { free(copy.0); free(copy.1) } }
        let keywords: [UnsafePointer<CChar>?] = copies.map { UnsafePointer($0.0) } + [nil]
        let values: [UnsafePointer<CChar>?] = copies.map { UnsafePointer($0.1) } + [nil]
        return PQconnectStartParams(keywords, values, 1)
    }

    /// Waits for a socket; false at the deadline. Error conditions count as ready: the next call of libpq reports them.
    private static func wait(_ socket: Int32, for events: Int32, until deadline: UInt64) -> Bool {
        while true {
            let now = monotonicNanoseconds()
            guard now < deadline else { return false }
            var descriptor = pollfd(fd: socket, events: Int16(events), revents: 0)
            let ready = poll(&descriptor, 1, Int32(clamping: (deadline - now) / 1_000_000 + 1))
            if ready > 0 { return true }
            guard ready == 0 || errno == EINTR else { return true }
        }
    }
}

// MARK: - Talking

extension PostgresConnection {
    private func send(
        _ statement: PostgresStatement, _ parameters: PostgresParameters, on handle: OpaquePointer
    ) -> Bool {
        // All values in one block: libpq copies it before it returns, so that its address need not outlive the closure.
        var block: [UInt8] = []
        block.reserveCapacity(parameters.values.reduce(1) { $0 + ($1?.count ?? 0) })
        var places: [Int?] = []
        for value in parameters.values {
            places.append(value == nil ? nil : block.count)
            if let value { block.append(contentsOf: value) }
        }
        // An empty value is an address with length 0; no address would be NULL.
        block.append(0)
        return block.withUnsafeBytes { bytes in
            let values = places.map { place in
                place.flatMap { bytes.baseAddress?.advanced(by: $0).assumingMemoryBound(to: CChar.self) }
            }
            return PQsendQueryPrepared(
                handle, statement.name, Int32(values.count), values, parameters.values.map { Int32($0?.count ?? 0) },
                [Int32](repeating: 1, count: values.count), 1) == 1
        }
    }

    /// Collects the results of a pipeline.
    /// - Parameter expected: per sent message the name of the statement that it prepares, nil for one that runs.
    private func receive(
        _ expected: [String?], until deadline: UInt64, on handle: OpaquePointer
    ) throws(JournalError) -> [PostgresRows] {
        var results: [PostgresRows] = []
        var refusal: JournalError?
        var place = 0
        while true {
            try fill(until: deadline, on: handle)
            guard let result = PQgetResult(handle) else {
                guard PQstatus(handle) == CONNECTION_OK else { throw broken() }
                // The end of one statement's results.
                place += 1
                continue
            }
            switch PQresultStatus(result) {
            case PGRES_PIPELINE_SYNC:
                PQclear(result)
                guard let refusal else { return results }
                // A pooler has mixed sessions up, or the tables were changed under a plan: a fresh session heals both.
                if ["26000", "42P05", "0A000"].contains(failedState) { close() }
                throw refusal
            case PGRES_COMMAND_OK where place < expected.count && expected[place] != nil:
                PQclear(result)
                if let name = expected[place] { prepared.insert(name) }
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
                results.append(PostgresRows(owning: result))
            case PGRES_PIPELINE_ABORTED:
                PQclear(result)
            default:
                if refusal == nil { refusal = refused(result: result) }
                PQclear(result)
                guard PQstatus(handle) == CONNECTION_OK else {
                    close()
                    isOutcomeUnknown = true
                    throw refusal ?? failure(.unreachable, "broke off")
                }
            }
        }
    }

    private func script(_ sql: String, until deadline: UInt64, on handle: OpaquePointer) throws(JournalError) {
        guard PQexitPipelineMode(handle) == 1, PQsendQuery(handle, sql) == 1 else { throw broken() }
        var refusal: JournalError?
        while true {
            try fill(until: deadline, on: handle)
            guard let result = PQgetResult(handle) else { break }
            let status = PQresultStatus(result)
            if status != PGRES_COMMAND_OK, status != PGRES_TUPLES_OK, status != PGRES_EMPTY_QUERY, refusal == nil {
                refusal = refused(result: result)
            }
            PQclear(result)
        }
        guard PQstatus(handle) == CONNECTION_OK, PQenterPipelineMode(handle) == 1 else {
            let known = refusal
            let error = broken()
            throw known ?? error
        }
        if let refusal { throw refusal }
    }

    /// Sends what is to be sent and reads until the next result is there.
    private func fill(until deadline: UInt64, on handle: OpaquePointer) throws(JournalError) {
        while true {
            let unsent = PQflush(handle)
            guard unsent >= 0 else { throw broken() }
            if PQisBusy(handle) == 0 { return }
            let events = unsent == 0 ? POLLIN : POLLIN | POLLOUT
            guard Self.wait(PQsocket(handle), for: events, until: deadline) else {
                let error = failure(.unreachable, "did not answer in time")
                close()
                isOutcomeUnknown = true
                throw error
            }
            guard PQconsumeInput(handle) == 1 else { throw broken() }
        }
    }
}

// MARK: - Failures

extension PostgresConnection {
    /// A failure on this connection, in words for an operator.
    package func failure(_ kind: JournalError.Kind, _ words: String) -> JournalError {
        JournalError(kind, "\(place) \(words)")
    }

    /// The connection broke: closes it.
    private func broken() -> JournalError {
        let words = handle.flatMap { PQerrorMessage($0) }.map { Self.firstLine(String(cString: $0)) } ?? ""
        close()
        isOutcomeUnknown = true
        return failure(.unreachable, "broke off" + (words.isEmpty ? "" : ": " + words))
    }

    /// The server, or the network, refused the connection.
    private func refused(_ handle: OpaquePointer) -> JournalError {
        let words = PQerrorMessage(handle).map { Self.firstLine(String(cString: $0)) } ?? "no reason given"
        // libpq keeps no SQLSTATE of a failed connection. What an operator has to mend is tried again all the same, so one
        // kind is enough.
        return failure(.unreachable, "cannot be connected to: \(words)")
    }

    private func refused(result: OpaquePointer) -> JournalError {
        let state = cpostgres_sqlstate(result).map { String(cString: $0) } ?? ""
        guard !state.isEmpty else {
            let words = PQresultErrorMessage(result).map { Self.firstLine(String(cString: $0)) } ?? ""
            return failure(.unreachable, "broke off: \(words)")
        }
        failedState = state
        let message = cpostgres_primary_message(result).map { String(cString: $0) } ?? ""
        return failure(PostgresFailure.kind(state), "says: " + PostgresFailure.words(state, message))
    }

    private static func firstLine(_ text: String) -> String {
        String(text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: true).first ?? "")
    }
}
