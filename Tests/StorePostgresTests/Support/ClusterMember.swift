import Journal
import JournalThreads
import PostgresTestServer
import Rollout
import Synchronization
import Testing

@testable import StorePostgres

/// Stops the threads of a cluster, as SIGSTOP would.
final class Gate: Sendable {
    private let isClosed = Mutex(false)
    private let pending = Monitor()

    func pass() { pending.locked { while isClosed.withLock({ $0 }) { pending.wait() } } }

    func close() { isClosed.withLock { $0 = true } }

    func open() {
        isClosed.withLock { $0 = false }
        pending.locked { pending.wakeAll() }
    }
}

/// One gateway's part of a cluster, and everything that it was told.
final class ClusterMember: Sendable {
    struct Heard {
        var until: UInt64 = 0
        var renewals = 0
        var fenced = 0
        var pages: [[OutstandingChange]] = []
        var foreignBefore: [OutstandingChange] = []
        /// The numbers of the takeovers, page by page.
        var takeovers: [Int64] = []
        var settled: [Sequence64: SideSet] = [:]
        var foreign: [ForeignOutstanding] = []
        var versions: [Int64] = []
        /// The names of what was told, in order; renewals left out.
        var order: [String] = []

        var takenOver: [Sequence64] { pages.flatMap { $0.map(\.sequence) } }
    }

    let name: String
    let gate = Gate()
    let membership = Membership()
    let cluster: PostgresCluster
    private let record = Mutex(Heard())

    /// Joins the store at this address.
    /// - Parameter joining: called with this object before it joins.
    init(_ url: String, _ name: String, joining: (ClusterMember) -> Void = { _ in }) throws(JournalError) {
        self.name = name
        let gate = gate
        cluster = try PostgresCluster(
            try PostgresAddress(url), name: name, membership: membership, onTurn: { gate.pass() })
        joining(self)
        try cluster.start(events)
    }

    deinit { gate.open() }

    var heard: Heard { record.withLock { $0 } }
    var id: Int64 { membership.owner ?? 0 }
    var holdsLease: Bool { monotonicNanoseconds() < heard.until }

    private var events: ClusterEvents {
        ClusterEvents(
            leaseRenewed: { [self] until in
                record.withLock {
                    $0.until = until
                    $0.renewals += 1
                }
            },
            fenced: { [self] in
                note("fenced") {
                    $0.fenced += 1
                    $0.until = 0
                }
            },
            settled: { [self] news in
                note("settled") { for (sequence, sides) in news { $0.settled[sequence, default: []].formUnion(sides) } }
            },
            awaitAdmissions: {},
            takenOver: { [self] takeover, changes, before in
                note("takenOver") {
                    $0.pages.append(changes)
                    $0.foreignBefore += before
                    $0.takeovers.append(takeover)
                }
            },
            foreign: { [self] foreign in note("foreign") { $0.foreign.append(foreign) } },
            stateChanged: { [self] version in note("stateChanged") { $0.versions.append(version) } })
    }

    private func note(_ what: String, _ body: (inout Heard) -> Void) {
        record.withLock {
            $0.order.append(what)
            body(&$0)
        }
    }

    /// Announces, and waits for the answer.
    func announce() async -> Bool {
        await withCheckedContinuation { continuation in cluster.announce { continuation.resume(returning: $0) } }
    }
}

/// Waits until something has become true; it records an issue when that takes a minute and a half.
func until(
    _ what: Comment, sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
) async throws {
    for _ in 0..<4_500 {
        if try await condition() { return }
        try await Task.sleep(nanoseconds: 20_000_000)
    }
    Issue.record("waited in vain: \(what)", sourceLocation: sourceLocation)
}

/// A database with the schema, and rows put into it by hand.
struct ClusterDatabase {
    let name: String
    let url: String
    let connection: PostgresConnection

    init(_ server: PostgresServer = .shared) throws {
        name = try server.makeDatabase()
        url = server.url(name)
        connection = try server.connection(to: name)
        try PostgresSchema.prepare(connection)
    }

    /// Another connection to a database that is there already.
    init(at url: String) throws {
        name = ""
        self.url = url
        connection = PostgresConnection(try PostgresAddress(url))
    }

    func member(_ name: String) throws -> ClusterMember { try ClusterMember(url, name) }

    func integer(_ sql: String) throws -> Int64 {
        try connection.query(PostgresStatement("test:" + sql, sql)).integer(0, 0)
    }

    /// Ends every session of the gateways, those that listen too.
    func cutSessions() throws {
        try connection.script(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'cutover'
            """)
    }

    /// Makes the row of a gateway that does nothing by itself, and that nobody has to wait for.
    func insertGateway(expires: String = "+ interval '1 day'", ended: String? = nil) throws -> Int64 {
        try connection.script(
            """
            INSERT INTO gateway (name, expires_at, ended_at, seen_announcement, seen_version) VALUES
                ('bystander', now() \(expires), \(ended.map { "now() \($0)" } ?? "NULL"), 1000000, 1000000)
            """)
        return try integer("SELECT max(id) FROM gateway")
    }

    /// Puts changes of a gateway into the journal, as if it had accepted them.
    /// - Returns: the first one's place; the others follow it.
    @discardableResult
    func insert(
        owner: Int64, count: Int = 1, user: String = "anna", lane: Int64 = 1, legacy: String = "applied",
        new: String = "pending"
    ) throws -> Sequence64 {
        try connection.script(
            """
            INSERT INTO change (sequence, owner, group_number, lane, accepted_at, "user", record, record_count, has_revision,
                outgoing_key, holds_key, fingerprint, method, target, side, dual_write, is_answered, answered_status,
                legacy_state, new_state)
            SELECT nextval('change_sequence'), \(owner), 1, \(lane), 1, '\(user)', 'r', 1, false, 'k', false, 'f', 'PUT',
                '/r', 0, true, true, 200, '\(legacy)', '\(new)' FROM generate_series(1, \(count))
            """)
        return try integer("SELECT max(sequence) FROM change") - Sequence64(count) + 1
    }

    /// What a group of a gateway would come to; nil: it would be kept.
    func groupFailure(owner: Int64, group: Int64) -> JournalError.Kind? {
        do throws(JournalError) {
            try connection.script("SELECT begin_group(\(owner), \(group), false, '{}')")
            return nil
        } catch {
            return error.kind
        }
    }
}
