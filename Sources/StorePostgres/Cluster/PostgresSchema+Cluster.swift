internal import Journal

extension PostgresLocks {
    /// "Cuth", the first of two numbers; the second is a gateway's id. Held by the one that takes that gateway's changes.
    static let heirs = 0x4375_7468
}

extension PostgresSchema {
    /// Channels of NOTIFY. A lost one costs time, never truth: all they tell is polled as well.
    enum Channel: String, CaseIterable {
        /// The rollout or a pin was changed (`state_changed`), or what fails at a gateway.
        case state = "cutover_state"
        /// Somebody announces: look up what is outstanding.
        case announcement = "cutover_announcement"
        /// Somebody has seen an announcement or a version.
        case seen = "cutover_seen"
        /// Somebody has left; its changes are to be taken.
        case left = "cutover_left"
    }

    /// What a gateway says of itself to the others: its name for people, and the gates that fail there, with blanks between.
    static let gatewayGates = """
        ALTER TABLE gateway ADD COLUMN label text NOT NULL DEFAULT '', ADD COLUMN failing text NOT NULL DEFAULT '';

        """

    // One gateway has one heir, which takes its changes page by page, so that their delivery begins at once however many there
    // are. What is not taken yet is another's change to the heir, and comes before its own in their lanes as any other does.
    //
    // What was taken over has a negative group number, the same for one page: that is how it is found again when the commit
    // broke off, among the heir's own changes.
    static let clusterFunctions = """
        CREATE SEQUENCE takeover_number AS bigint;

        CREATE FUNCTION may_inherit(p_id bigint) RETURNS boolean LANGUAGE sql AS
            $$ SELECT pg_try_advisory_xact_lock(\(PostgresLocks.heirs), (p_id % 2147483647)::integer) $$;

        -- A gateway joins. At its start it ends its own earlier run: the lock on its data directory says that it is gone. One
        -- that somebody is just taking over is left to that one.
        CREATE FUNCTION join_gateway(p_name text, p_ends_namesakes boolean, p_seen_version bigint)
        RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE
            v_id bigint;
        BEGIN
            IF p_ends_namesakes THEN
                FOR v_id IN SELECT g.id FROM gateway g WHERE g.ended_at IS NULL AND g.name = p_name ORDER BY g.id LOOP
                    IF may_inherit(v_id) THEN
                        UPDATE gateway g SET ended_at = clock_timestamp() WHERE g.id = v_id AND g.ended_at IS NULL;
                    END IF;
                END LOOP;
            END IF;
            INSERT INTO gateway (name, expires_at, seen_version)
                VALUES (p_name, clock_timestamp() + interval '\(ClusterTimes.leaseSeconds) s', p_seen_version)
                RETURNING id INTO v_id;
            RETURN v_id;
        END $$;

        -- Ends gateways whose lease has run out and was not renewed since it was looked at (p_expires, in microseconds; NULL: it
        -- has ended already), and takes the next p_limit changes that they left outstanding, one gateway after the other. Whoever
        -- has begun goes on: there is one heir, until that one ends too. Only for a gateway that lives itself.
        CREATE FUNCTION take_over(p_me bigint, p_number bigint, p_gone bigint[], p_expires bigint[], p_limit bigint)
        RETURNS TABLE (out_moved bigint, out_transaction bigint) LANGUAGE plpgsql AS $$
        DECLARE
            v_moved bigint;
        BEGIN
            out_moved := 0;
            out_transaction := pg_current_xact_id()::text::bigint;
            IF NOT EXISTS (SELECT 1 FROM gateway g
                WHERE g.id = p_me AND g.ended_at IS NULL AND g.expires_at > clock_timestamp()) THEN
                RETURN NEXT;
                RETURN;
            END IF;
            FOR i IN 1..cardinality(p_gone) LOOP
                EXIT WHEN out_moved >= p_limit;
                CONTINUE WHEN p_gone[i] = p_me OR NOT may_inherit(p_gone[i]);
                UPDATE gateway g SET ended_at = coalesce(g.ended_at, clock_timestamp()), heir = p_me
                    WHERE g.id = p_gone[i]
                        AND (g.ended_at IS NOT NULL OR g.expires_at < clock_timestamp()
                            AND (extract(epoch FROM g.expires_at) * 1000000)::bigint = p_expires[i])
                        AND (g.heir IS NULL OR g.heir = p_me OR NOT EXISTS (SELECT 1 FROM gateway h
                            WHERE h.id = g.heir AND h.ended_at IS NULL AND h.expires_at > clock_timestamp()));
                CONTINUE WHEN NOT FOUND;
                WITH page AS (
                    SELECT c.sequence FROM change c WHERE c.owner = p_gone[i] AND \(outstanding)
                    ORDER BY c.sequence LIMIT p_limit - out_moved FOR UPDATE)
                UPDATE change c SET owner = p_me, group_number = -p_number FROM page p WHERE c.sequence = p.sequence;
                GET DIAGNOSTICS v_moved = ROW_COUNT;
                out_moved := out_moved + v_moved;
            END LOOP;
            RETURN NEXT;
        END $$;

        -- Ends the sessions of dead gateways that still hold locks: a process that was stopped in the middle of a group would
        -- hold up its own replacement, and every group in the same lanes, for as long as it is stopped. The holder of a row's
        -- lock is the transaction that the row names as its last.
        CREATE FUNCTION free_gateways(p_gone bigint[]) RETURNS bigint LANGUAGE sql AS $$
            SELECT count(pg_terminate_backend(l.pid)) FROM (
                SELECT g.xmax FROM gateway_group g WHERE g.gateway = ANY (p_gone)
                UNION ALL SELECT g.xmax FROM gateway g WHERE g.id = ANY (p_gone)) AS held
            JOIN pg_locks l ON l.locktype = 'transactionid' AND l.granted AND l.transactionid = held.xmax
            WHERE l.pid <> pg_backend_pid()
        $$;

        """
}
