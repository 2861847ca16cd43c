internal import Journal

/// What gateways ask the store about each other.
enum ClusterQueries {
    private static func isOutstanding(_ column: String) -> String { "c.\(column) IN ('pending', 'awaiting-copy')" }

    static let join = PostgresStatement("cluster_join", "SELECT join_gateway($1, $2, $3)")

    static let namesakes = PostgresStatement(
        "cluster_namesakes", "SELECT id FROM gateway WHERE ended_at IS NULL AND name = $1")

    static let renew = PostgresStatement(
        "cluster_renew",
        """
        UPDATE gateway SET expires_at = clock_timestamp() + interval '\(ClusterTimes.leaseSeconds) s'
        WHERE id = $1 AND ended_at IS NULL
        """)

    /// One snapshot of the counters and of every gateway that lives, or has left something behind, and of this one.
    static let glance = PostgresStatement(
        "cluster_glance",
        """
        SELECT g.id, (extract(epoch FROM g.expires_at) * 1000000)::bigint, g.expires_at < clock_timestamp(),
            g.ended_at IS NOT NULL,
            (SELECT value FROM counter WHERE name = 'version'),
            (SELECT value FROM counter WHERE name = 'announcement'),
            g.label, g.failing
        FROM gateway g WHERE g.id = $1 OR g.ended_at IS NULL
            OR EXISTS (SELECT 1 FROM change c WHERE c.owner = g.id AND \(PostgresSchema.outstanding))
        ORDER BY g.id
        """)

    static let leave = PostgresStatement(
        "cluster_leave",
        """
        WITH ended AS (UPDATE gateway SET ended_at = clock_timestamp() WHERE id = $1 AND ended_at IS NULL RETURNING id)
        SELECT pg_notify('\(PostgresSchema.Channel.left.rawValue)', '') FROM ended
        """)

    static let takeoverNumber = PostgresStatement("cluster_takeover", "SELECT nextval('takeover_number')")
    static let takeOver = PostgresStatement("cluster_take_over", "SELECT * FROM take_over($1, $2, $3, $4, $5)")
    static let fate = PostgresStatement(
        "cluster_fate", "SELECT pg_xact_status($1::bigint::text::xid8) = 'in progress'")
    static let free = PostgresStatement("cluster_free", "SELECT free_gateways($1)")

    /// A page of what one takeover has brought.
    static let takenPage = PostgresStatement(
        "cluster_taken",
        """
        SELECT \(PostgresQueries.outstandingColumns) FROM change c WHERE c.owner = $1 AND c.group_number = $2 AND c.sequence > $3
            AND \(PostgresSchema.outstanding) ORDER BY c.sequence LIMIT $4
        """)

    /// Earlier changes of others in the lanes of these changes.
    static let before = PostgresStatement(
        "cluster_before",
        """
        SELECT \(PostgresQueries.outstandingColumns) FROM change c WHERE c.sequence IN (
            SELECT earlier.sequence
            FROM unnest($2::bigint[]) AS taken (sequence)
            JOIN change t ON t.sequence = taken.sequence
            CROSS JOIN LATERAL (
                SELECT t.lane UNION ALL SELECT b.lane FROM batch_lane b WHERE b.sequence = t.sequence) AS of_taken (lane)
            CROSS JOIN LATERAL (
                SELECT c.sequence FROM change c
                    WHERE c.lane = of_taken.lane AND c.owner <> $1 AND c.sequence < t.sequence
                        AND \(PostgresSchema.outstanding)
                UNION ALL
                SELECT c.sequence FROM batch_lane b JOIN change c ON c.sequence = b.sequence
                    WHERE b.lane = of_taken.lane AND c.owner <> $1 AND c.sequence < t.sequence
                        AND \(PostgresSchema.outstanding)) AS earlier)
        ORDER BY c.sequence
        """)

    /// Users with legs outstanding at others, and in takeovers that were not told yet.
    static let foreign = PostgresStatement(
        "cluster_foreign",
        """
        SELECT c."user", bool_or(\(isOutstanding("legacy_state"))), bool_or(\(isOutstanding("new_state")))
        FROM change c WHERE \(PostgresSchema.outstanding) AND (c.owner <> $1 OR c.group_number = ANY ($2))
        GROUP BY c."user" LIMIT $3
        """)

    /// Which of these changes are outstanding still.
    static let watched = PostgresStatement(
        "cluster_watched",
        """
        SELECT c.sequence, \(isOutstanding("legacy_state")), \(isOutstanding("new_state"))
        FROM change c WHERE c.sequence = ANY ($1) AND \(PostgresSchema.outstanding)
        """)

    static let openRound = PostgresStatement(
        "cluster_announce",
        """
        WITH counted AS (UPDATE counter SET value = value + 1 WHERE name = 'announcement' RETURNING value)
        SELECT value, pg_notify('\(PostgresSchema.Channel.announcement.rawValue)', '') FROM counted
        """)

    static let setSeen = PostgresStatement(
        "cluster_seen",
        """
        WITH seen AS (UPDATE gateway SET seen_announcement = $2, seen_version = $3
            WHERE id = $1 AND ended_at IS NULL RETURNING id)
        SELECT pg_notify('\(PostgresSchema.Channel.seen.rawValue)', '') FROM seen
        """)

    /// What fails at this gateway. The others look at once: a promotion may be due.
    static let setFailing = PostgresStatement(
        "cluster_failing",
        """
        WITH told AS (UPDATE gateway SET label = $2, failing = $3 WHERE id = $1 AND ended_at IS NULL RETURNING id)
        SELECT pg_notify('\(PostgresSchema.Channel.state.rawValue)', '') FROM told
        """)

    /// What every other gateway that lives has seen of announcements, and every one of versions; NULL: there is none.
    static let allSeen = PostgresStatement(
        "cluster_all_seen",
        """
        SELECT min(seen_announcement) FILTER (WHERE id <> $1), min(seen_version)
        FROM gateway WHERE ended_at IS NULL AND expires_at > clock_timestamp()
        """)

    /// Rows of gateways that ended long ago and have nothing left. A parked leg keeps its row: an operator may put it back.
    static let clean = PostgresStatement(
        "cluster_clean",
        """
        DELETE FROM gateway g WHERE g.ended_at < now() - interval '1 hour'
            AND NOT EXISTS (SELECT 1 FROM change c WHERE c.owner = g.id AND \(PostgresSchema.outstanding))
            AND NOT EXISTS (SELECT 1 FROM change c WHERE c.owner = g.id AND \(PostgresSchema.parked))
        """)
}
