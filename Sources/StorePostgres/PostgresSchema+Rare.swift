extension PostgresSchema {
    static let rareFunctions = """
        -- Every change of the shared state: what the gateways poll, and what wakes them.
        CREATE FUNCTION state_changed() RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            v_version bigint;
        BEGIN
            UPDATE counter c SET value = c.value + 1 WHERE c.name = 'version' RETURNING c.value INTO v_version;
            PERFORM pg_notify('cutover_state', v_version::text);
        END $$;

        CREATE FUNCTION append_event(p_at bigint, p_actor text, p_action text, p_before text, p_after text, p_reason text)
        RETURNS void LANGUAGE sql AS $$
            INSERT INTO event (at, actor, action, before, after, reason)
                VALUES (p_at, p_actor, p_action, p_before, p_after, p_reason)
        $$;

        -- The lock comes first: with READ COMMITTED the statements after it see what the last holder has done.
        CREATE FUNCTION save_rollout(p_seen bigint, p_generation bigint, p_plan text, p_stage text,
            p_percent_hundredths integer, p_state text, p_since bigint, p_details text,
            p_at bigint, p_actor text, p_action text, p_before text, p_after text, p_reason text)
        RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_advisory_xact_lock(\(PostgresLocks.space), \(PostgresLocks.state));
            IF coalesce((SELECT r.generation FROM rollout r WHERE r.id = 1), 0) <> p_seen THEN RETURN false; END IF;
            DELETE FROM rollout;
            INSERT INTO rollout VALUES (1, p_generation, p_plan, p_stage, p_percent_hundredths, p_state, p_since, p_details);
            PERFORM append_event(p_at, p_actor, p_action, p_before, p_after, p_reason);
            PERFORM state_changed();
            RETURN true;
        END $$;

        CREATE FUNCTION set_pin(p_user text, p_side integer, p_since bigint,
            p_at bigint, p_actor text, p_action text, p_before text, p_after text, p_reason text)
        RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_advisory_xact_lock(\(PostgresLocks.space), \(PostgresLocks.state));
            INSERT INTO pin (user_digest, "user", side, since) VALUES (digest_of('', p_user), p_user, p_side, p_since)
                ON CONFLICT (user_digest) DO UPDATE SET side = excluded.side, since = excluded.since;
            PERFORM append_event(p_at, p_actor, p_action, p_before, p_after, p_reason);
            PERFORM state_changed();
            RETURN true;
        END $$;

        CREATE FUNCTION remove_pin(p_user text,
            p_at bigint, p_actor text, p_action text, p_before text, p_after text, p_reason text)
        RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_advisory_xact_lock(\(PostgresLocks.space), \(PostgresLocks.state));
            DELETE FROM pin p WHERE p.user_digest = digest_of('', p_user);
            IF NOT FOUND THEN RETURN false; END IF;
            PERFORM append_event(p_at, p_actor, p_action, p_before, p_after, p_reason);
            PERFORM state_changed();
            RETURN true;
        END $$;

        -- Looks at the next rows after a place, oldest first, and stops at the first young one. The order of acceptance stands
        -- for age: no row is older than any before it (p_newest, in milliseconds), whatever its stamp says. What was found is
        -- tested again by the statement that removes it: an operator may have put a leg back meanwhile.
        CREATE FUNCTION prune_step(p_after bigint, p_newest bigint, p_rows integer, p_release_before bigint,
            p_delete_before bigint)
        RETURNS TABLE (out_deleted integer, out_released integer, out_next bigint, out_newest bigint)
        LANGUAGE plpgsql AS $$
        DECLARE
            v_old bigint[];
            v_oldest bigint[];
            v_deleted bigint[];
            v_looked integer;
            v_young integer;
        BEGIN
            out_deleted := 0; out_released := 0; out_next := 0; out_newest := p_newest;
            IF NOT pg_try_advisory_xact_lock(\(PostgresLocks.space), \(PostgresLocks.prune)) THEN
                RETURN NEXT;
                RETURN;
            END IF;
            WITH looked AS (
                SELECT c.sequence, c.accepted_at FROM change c WHERE c.sequence > p_after ORDER BY c.sequence LIMIT p_rows),
            aged AS (SELECT l.sequence, greatest(p_newest, max(l.accepted_at) OVER (ORDER BY l.sequence)) AS stamp FROM looked l)
            SELECT array_agg(a.sequence ORDER BY a.sequence) FILTER (WHERE a.stamp < p_release_before),
                array_agg(a.sequence) FILTER (WHERE a.stamp < p_release_before AND a.stamp < p_delete_before),
                count(*), count(*) FILTER (WHERE a.stamp >= p_release_before),
                coalesce(max(a.stamp) FILTER (WHERE a.stamp < p_release_before), p_newest)
                INTO v_old, v_oldest, v_looked, v_young, out_newest FROM aged a;
            IF v_old IS NULL THEN
                RETURN NEXT;
                RETURN;
            END IF;
            WITH gone AS (
                DELETE FROM change c WHERE c.sequence = ANY (v_oldest) AND c.is_answered
                    AND NOT \(outstanding) AND NOT \(parked) RETURNING c.sequence)
            SELECT array_agg(g.sequence) INTO v_deleted FROM gone g;
            IF v_deleted IS NOT NULL THEN
                out_deleted := cardinality(v_deleted);
                DELETE FROM change_body b WHERE b.sequence = ANY (v_deleted);
                DELETE FROM batch_record b WHERE b.sequence = ANY (v_deleted);
                DELETE FROM batch_lane b WHERE b.sequence = ANY (v_deleted);
            END IF;
            UPDATE change c SET holds_key = false, answer_header_lines = NULL, answer_body = NULL
                WHERE c.sequence = ANY (v_old) AND c.is_answered AND c.holds_key;
            GET DIAGNOSTICS out_released = ROW_COUNT;
            IF v_young = 0 AND v_looked = p_rows THEN out_next := v_old[cardinality(v_old)]; END IF;
            RETURN NEXT;
        END $$;

        """
}
