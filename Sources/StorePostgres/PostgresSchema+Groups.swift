extension PostgresSchema {
    // One group is one pipeline: begin_group, keep_legs, keep_answers, commit_group. Isolation is READ COMMITTED: every
    // statement, those inside a volatile function too, sees what others have committed before it began. That is why the locks
    // are taken by a statement of their own: whatever runs after it sees all that was decided under the same locks.
    //
    // Plans are made once, for a table that may be empty then and huge soon. So no join is left to choose which side it walks:
    // the large table is always found by an index, by `= ANY` of an array or by a subquery with LIMIT, which is not pulled up.
    //
    // The locks of a group are taken in ascending order, after the row of its gateway, so that groups do not deadlock.
    static let groupFunctions = """
        CREATE FUNCTION begin_group(p_owner bigint, p_group bigint, p_coarse boolean, p_locks bigint[])
        RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE gateway_group g SET last_group = p_group
                WHERE g.gateway = p_owner AND g.last_group < p_group AND NOT g.is_ended;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'the lease of this gateway was taken by another' USING ERRCODE = '\(PostgresFailure.fenced)';
            END IF;
            IF p_coarse THEN
                PERFORM pg_advisory_xact_lock(\(PostgresLocks.space), \(PostgresLocks.allLanes));
            ELSIF cardinality(p_locks) > 0 THEN
                PERFORM pg_advisory_xact_lock_shared(\(PostgresLocks.space), \(PostgresLocks.allLanes));
                PERFORM pg_advisory_xact_lock(lock) FROM unnest(p_locks) AS lock;
            END IF;
        END $$;

        -- Lanes of a batch after its first count while it is outstanding or parked.
        CREATE FUNCTION settle_lanes(p_sequences bigint[]) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            DELETE FROM batch_lane b USING change c
                WHERE b.sequence = ANY (p_sequences) AND c.sequence = b.sequence AND c.sequence = ANY (p_sequences) AND NOT \(outstanding) AND NOT \(parked);
            INSERT INTO batch_lane (lane, sequence) SELECT b.lane, b.sequence
                FROM batch_record b JOIN change c ON c.sequence = b.sequence
                WHERE b.sequence = ANY (p_sequences) AND c.sequence = ANY (p_sequences) AND (\(outstanding) OR \(parked)) AND b.lane <> c.lane
                ON CONFLICT DO NOTHING;
        END $$;

        -- NULL as a state: that leg stays as it is.
        CREATE FUNCTION keep_legs(p_owner bigint, p_sequences bigint[],
            p_legacy_states text[], p_legacy_attempts integer[], p_legacy_refusals integer[],
            p_legacy_statuses integer[], p_legacy_nexts bigint[],
            p_new_states text[], p_new_attempts integer[], p_new_refusals integer[],
            p_new_statuses integer[], p_new_nexts bigint[])
        RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            v_batches bigint[];
        BEGIN
            WITH kept AS (
                UPDATE change c SET
                    legacy_state = coalesce(f.ls, c.legacy_state),
                    legacy_attempts = CASE WHEN f.ls IS NULL THEN c.legacy_attempts ELSE f.la END,
                    legacy_refusals = CASE WHEN f.ls IS NULL THEN c.legacy_refusals ELSE f.lr END,
                    legacy_last_status = CASE WHEN f.ls IS NULL THEN c.legacy_last_status ELSE f.lt END,
                    legacy_next_attempt_at = CASE WHEN f.ls IS NULL THEN c.legacy_next_attempt_at ELSE f.ln END,
                    new_state = coalesce(f.ns, c.new_state),
                    new_attempts = CASE WHEN f.ns IS NULL THEN c.new_attempts ELSE f.na END,
                    new_refusals = CASE WHEN f.ns IS NULL THEN c.new_refusals ELSE f.nr END,
                    new_last_status = CASE WHEN f.ns IS NULL THEN c.new_last_status ELSE f.nt END,
                    new_next_attempt_at = CASE WHEN f.ns IS NULL THEN c.new_next_attempt_at ELSE f.nn END
                FROM unnest(p_sequences, p_legacy_states, p_legacy_attempts, p_legacy_refusals, p_legacy_statuses,
                        p_legacy_nexts, p_new_states, p_new_attempts, p_new_refusals, p_new_statuses, p_new_nexts)
                    AS f (sequence, ls, la, lr, lt, ln, ns, na, nr, nt, nn)
                WHERE c.sequence = f.sequence AND c.sequence = ANY (p_sequences) AND c.owner = p_owner
                RETURNING c.sequence, c.record_count)
            SELECT array_agg(k.sequence) FILTER (WHERE k.record_count > 1) INTO v_batches FROM kept k;
            IF v_batches IS NOT NULL THEN PERFORM settle_lanes(v_batches); END IF;
        END $$;

        -- p_answered false: the attempt failed, the key is free again. An answer's headers and body are kept where a repeat
        -- can ask for them. An accepted revision makes the older ones of its record needless (those that another group is
        -- just looking after are left to it); one that was not accepted is free again.
        CREATE FUNCTION keep_answers(p_owner bigint, p_sequences bigint[], p_statuses integer[], p_served_by smallint[],
            p_answered boolean[], p_headers bytea[], p_bodies bytea[], p_revision_accepted boolean[],
            p_legacy_states text[], p_legacy_attempts integer[], p_legacy_refusals integer[],
            p_legacy_statuses integer[], p_legacy_nexts bigint[],
            p_new_states text[], p_new_attempts integer[], p_new_refusals integer[],
            p_new_statuses integer[], p_new_nexts bigint[])
        RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            v_batches bigint[];
            v_accepted bigint[];
            v_refused bigint[];
        BEGIN
            WITH kept AS (
                UPDATE change c SET is_answered = true, answered_status = f.status, served_by = f.served_by,
                    holds_key = c.holds_key AND f.answered,
                    answer_header_lines = CASE WHEN NOT f.answered THEN c.answer_header_lines
                        WHEN c.holds_key OR c.has_revision THEN f.headers END,
                    answer_body = CASE WHEN NOT f.answered THEN c.answer_body
                        WHEN c.holds_key OR c.has_revision THEN f.body END,
                    legacy_state = f.ls, legacy_attempts = f.la, legacy_refusals = f.lr, legacy_last_status = f.lt,
                    legacy_next_attempt_at = f.ln,
                    new_state = f.ns, new_attempts = f.na, new_refusals = f.nr, new_last_status = f.nt,
                    new_next_attempt_at = f.nn
                FROM unnest(p_sequences, p_statuses, p_served_by, p_answered, p_headers, p_bodies, p_revision_accepted,
                        p_legacy_states, p_legacy_attempts, p_legacy_refusals, p_legacy_statuses, p_legacy_nexts,
                        p_new_states, p_new_attempts, p_new_refusals, p_new_statuses, p_new_nexts)
                    AS f (sequence, status, served_by, answered, headers, body, revision_accepted,
                        ls, la, lr, lt, ln, ns, na, nr, nt, nn)
                WHERE c.sequence = f.sequence AND c.sequence = ANY (p_sequences) AND c.owner = p_owner
                RETURNING c.sequence, c.record_count, c.has_revision, f.revision_accepted)
            SELECT array_agg(k.sequence) FILTER (WHERE k.record_count > 1),
                array_agg(k.sequence) FILTER (WHERE k.has_revision AND k.revision_accepted),
                array_agg(k.sequence) FILTER (WHERE k.has_revision AND NOT k.revision_accepted)
                INTO v_batches, v_accepted, v_refused FROM kept k;
            IF v_refused IS NOT NULL THEN
                DELETE FROM record_revision r WHERE r.sequence = ANY (v_refused);
            END IF;
            IF v_accepted IS NOT NULL THEN
                DELETE FROM record_revision WHERE ctid = ANY (ARRAY(
                    SELECT r.ctid FROM record_revision r JOIN record_revision own
                        ON own.record_digest = r.record_digest AND own.revision > r.revision
                    WHERE own.sequence = ANY (v_accepted) AND r.record_digest = ANY (ARRAY(
                        SELECT o.record_digest FROM record_revision o WHERE o.sequence = ANY (v_accepted)))
                    FOR UPDATE OF r SKIP LOCKED));
            END IF;
            IF v_batches IS NOT NULL THEN PERFORM settle_lanes(v_batches); END IF;
        END $$;

        -- A group whose fate its gateway never learnt, because the connection broke: it answered 503, so nothing of it may be
        -- sent. Waits for a group that is still under way, and refuses one that is still on its way.
        CREATE FUNCTION disown_groups(p_owner bigint, p_after bigint, p_upto bigint) RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE
            v_sequences bigint[];
        BEGIN
            UPDATE gateway_group g SET last_group = greatest(g.last_group, p_upto) WHERE g.gateway = p_owner AND NOT g.is_ended;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'the lease of this gateway was taken by another' USING ERRCODE = '\(PostgresFailure.fenced)';
            END IF;
            WITH gone AS (
                UPDATE change c SET legacy_state = 'skipped', new_state = 'skipped', is_answered = true, holds_key = false
                WHERE c.owner = p_owner AND \(outstanding) AND c.group_number > p_after AND c.group_number <= p_upto
                RETURNING c.sequence)
            SELECT array_agg(g.sequence) INTO v_sequences FROM gone g;
            IF v_sequences IS NULL THEN RETURN 0; END IF;
            DELETE FROM record_revision r WHERE r.sequence = ANY (v_sequences);
            DELETE FROM batch_lane b WHERE b.sequence = ANY (v_sequences);
            RETURN cardinality(v_sequences);
        END $$;

        \(commitGroup)

        """

    // Contract §6.5 and §6.6, as SQLiteStore+Admission.swift says them. Submissions of one group see each other; but only one
    // that shares its key or a record with another one of the group, or meets a key or a revision that is stored, has to be
    // judged by itself ("related"): the others are stored together, before the next related one is judged.
    private static let commitGroup = """
        CREATE FUNCTION commit_group(p_owner bigint, p_group bigint, p_now bigint,
            p_users text[], p_keys text[], p_outgoing_keys text[], p_fingerprints text[], p_methods text[],
            p_targets text[], p_sides smallint[], p_dual_writes boolean[], p_legacy_states text[], p_new_states text[],
            p_headers bytea[], p_conditionals bytea[], p_bodies bytea[], p_lanes bigint[],
            p_record_counts integer[], p_item_ends integer[], p_has_revisions boolean[], p_related boolean[],
            p_item_submissions integer[], p_records text[], p_revisions bigint[], p_payloads text[],
            p_item_lanes bigint[], p_item_previous integer[])
        RETURNS TABLE (out_verdict text, out_sequence bigint, out_status integer, out_served_by smallint,
            out_headers bytea, out_body bytea, out_stale_records text[], out_stale_current bigint[],
            out_stale_received bigint[])
        LANGUAGE plpgsql AS $$
        DECLARE
            v_count CONSTANT integer := cardinality(p_users);
            v_sequences bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(p_users)]);
            v_related boolean[] := p_related;
            v_from integer := 1;
            v_hits integer[];
            v_hit integer;
            v_first integer;
            v_holder record;
            v_last record;
            v_found boolean;
            v_repeats bigint[];
            v_same boolean;
            -- What the next item of the same batch and record finds as its last revision, by item.
            v_last_revisions bigint[];
            v_last_sequences bigint[];
            v_last_payloads text[];
            v_last_keys text[];
        BEGIN
            -- An array that was assigned to is kept unpacked. In the packed form it came in, every look at an element walks over
            -- all before it: for a batch of ten thousand records that is a second. (Nor must a cursor or a plan for these very
            -- values pack it again: no FOR over a query here, and plan_cache_mode is force_generic_plan.)
            p_users[1] := p_users[1]; p_keys[1] := p_keys[1]; p_outgoing_keys[1] := p_outgoing_keys[1];
            p_fingerprints[1] := p_fingerprints[1]; p_methods[1] := p_methods[1]; p_targets[1] := p_targets[1];
            p_legacy_states[1] := p_legacy_states[1]; p_new_states[1] := p_new_states[1];
            p_headers[1] := p_headers[1]; p_conditionals[1] := p_conditionals[1]; p_bodies[1] := p_bodies[1];
            v_sequences[1] := v_sequences[1];
            IF cardinality(p_records) > 0 THEN
                p_records[1] := p_records[1]; p_payloads[1] := p_payloads[1]; p_revisions[1] := p_revisions[1];
            END IF;

            SELECT array_agg(hit) INTO v_hits FROM (
                SELECT i AS hit FROM generate_series(1, v_count) AS i WHERE p_keys[i] IS NOT NULL AND (
                    SELECT true FROM change c
                    WHERE c.holds_key AND c.key_digest = digest_of(p_users[i], p_keys[i]) LIMIT 1)
                UNION ALL
                SELECT p_item_submissions[j] FROM generate_series(1, cardinality(p_records)) AS j
                WHERE p_revisions[j] IS NOT NULL AND (
                    SELECT true FROM record_revision r WHERE r.revision >= p_revisions[j]
                        AND r.record_digest = digest_of(p_users[p_item_submissions[j]], p_records[j]) LIMIT 1)) AS found;
            FOREACH v_hit IN ARRAY coalesce(v_hits, '{}') LOOP
                v_related[v_hit] := true;
            END LOOP;

            FOR i IN 1..v_count + 1 LOOP
                IF i > v_count OR v_related[i] THEN
                    IF i > v_from THEN
                        INSERT INTO change (sequence, owner, group_number, lane, accepted_at, "user", record, revision,
                            payload_hash, record_count, has_revision, idempotency_key, key_digest, outgoing_key, holds_key,
                            fingerprint, method, target, side, dual_write, legacy_state, new_state)
                        SELECT v_sequences[s], p_owner, p_group, p_lanes[s], p_now, p_users[s], p_records[f], p_revisions[f],
                            p_payloads[f], p_record_counts[s], p_has_revisions[s], p_keys[s],
                            CASE WHEN p_keys[s] IS NOT NULL THEN digest_of(p_users[s], p_keys[s]) END,
                            p_outgoing_keys[s], p_keys[s] IS NOT NULL, p_fingerprints[s], p_methods[s], p_targets[s],
                            p_sides[s], p_dual_writes[s], p_legacy_states[s], p_new_states[s]
                        FROM generate_series(v_from, i - 1) AS s, LATERAL (SELECT CASE WHEN p_record_counts[s] > 0
                            THEN p_item_ends[s] - p_record_counts[s] + 1 END) AS first (f)
                        WHERE v_sequences[s] IS NOT NULL;
                        -- A retry of an accepted revision leaves the row of the first one: should the retry be refused, it
                        -- stays taken.
                        INSERT INTO record_revision (record_digest, revision, sequence, "user", record, payload_hash,
                            idempotency_key)
                        SELECT digest_of(p_users[s], p_records[j]), p_revisions[j], v_sequences[s], p_users[s],
                            p_records[j], p_payloads[j], p_keys[s]
                        FROM generate_series(p_item_ends[v_from] - p_record_counts[v_from] + 1, p_item_ends[i - 1]) AS j,
                            LATERAL (SELECT p_item_submissions[j]) AS of_item (s)
                        WHERE p_revisions[j] IS NOT NULL AND v_sequences[s] IS NOT NULL
                        ON CONFLICT DO NOTHING;
                        v_from := i;
                    END IF;
                    EXIT WHEN i > v_count;
                END IF;
                out_verdict := 'accepted';
                out_sequence := NULL; out_status := NULL; out_served_by := NULL; out_headers := NULL; out_body := NULL;
                out_stale_records := NULL; out_stale_current := NULL; out_stale_received := NULL;

                IF v_related[i] AND p_keys[i] IS NOT NULL THEN
                    SELECT c.sequence, c.fingerprint, c.is_answered, c.answered_status, c.served_by,
                        c.answer_header_lines, c.answer_body INTO v_holder FROM change c
                        WHERE c.holds_key AND c.key_digest = digest_of(p_users[i], p_keys[i]);
                    IF FOUND THEN
                        IF v_holder.fingerprint <> p_fingerprints[i] THEN
                            out_verdict := 'reused';
                        ELSIF NOT v_holder.is_answered THEN
                            out_verdict := 'running';
                        ELSIF v_holder.answered_status IS NULL OR v_holder.served_by IS NULL
                            OR v_holder.answer_header_lines IS NULL THEN
                            out_verdict := 'missing';
                            out_sequence := v_holder.sequence;
                        ELSE
                            out_verdict := 'replay';
                            out_status := v_holder.answered_status; out_served_by := v_holder.served_by;
                            out_headers := v_holder.answer_header_lines; out_body := v_holder.answer_body;
                        END IF;
                    END IF;
                END IF;

                IF v_related[i] AND p_has_revisions[i] AND out_verdict = 'accepted' THEN
                    v_repeats := '{}';
                    v_first := p_item_ends[i] - p_record_counts[i] + 1;
                    FOR j IN v_first..p_item_ends[i] LOOP
                        CONTINUE WHEN p_revisions[j] IS NULL;
                        -- An earlier item of this batch that rose counts as the last revision.
                        IF p_item_previous[j] > 0 AND v_last_revisions[p_item_previous[j]] IS NOT NULL THEN
                            SELECT v_last_revisions[p_item_previous[j]] AS revision,
                                v_last_sequences[p_item_previous[j]] AS sequence,
                                v_last_payloads[p_item_previous[j]] AS payload_hash,
                                v_last_keys[p_item_previous[j]] AS idempotency_key INTO v_last;
                            v_found := true;
                        ELSE
                            SELECT r.revision, r.sequence, r.payload_hash, r.idempotency_key INTO v_last
                                FROM record_revision r
                                WHERE r.record_digest = digest_of(p_users[i], p_records[j])
                                ORDER BY r.revision DESC LIMIT 1;
                            v_found := FOUND;
                        END IF;
                        IF NOT v_found OR p_revisions[j] > v_last.revision THEN
                            v_last_revisions[j] := p_revisions[j]; v_last_sequences[j] := NULL;
                            v_last_payloads[j] := p_payloads[j]; v_last_keys[j] := NULL;
                            CONTINUE;
                        END IF;
                        v_last_revisions[j] := v_last.revision; v_last_sequences[j] := v_last.sequence;
                        v_last_payloads[j] := v_last.payload_hash; v_last_keys[j] := v_last.idempotency_key;
                        IF p_revisions[j] = v_last.revision AND (p_payloads[j] = v_last.payload_hash
                            OR coalesce(v_last.idempotency_key = p_keys[i], false)) THEN
                            IF v_last.sequence IS NOT NULL THEN v_repeats := v_repeats || v_last.sequence; END IF;
                        ELSE
                            out_verdict := 'stale';
                            out_stale_records := out_stale_records || p_records[j];
                            out_stale_current := out_stale_current || v_last.revision;
                            out_stale_received := out_stale_received || p_revisions[j];
                        END IF;
                    END LOOP;
                    IF out_verdict = 'accepted' THEN
                        -- A write all of whose records repeat what one earlier change brought is that change again. Any other
                        -- repeat is accepted once more: both backends take it as the repeat it is.
                        FOR v_holder IN
                            SELECT c.sequence, c.is_answered, c.record_count, c.method, c.target, c.answered_status,
                                c.served_by, c.answer_header_lines, c.answer_body
                            FROM unnest(v_repeats) WITH ORDINALITY AS repeated (sequence, place)
                            JOIN change c ON c.sequence = repeated.sequence AND c.sequence = ANY (v_repeats) ORDER BY repeated.place
                        LOOP
                            IF NOT v_holder.is_answered THEN
                                out_verdict := 'running';
                                EXIT;
                            END IF;
                            v_same := v_holder.record_count = p_record_counts[i]
                                AND cardinality(v_repeats) = p_record_counts[i] AND v_holder.sequence = ALL (v_repeats)
                                AND v_holder.method = p_methods[i] AND v_holder.target = p_targets[i];
                            IF v_same AND v_holder.answered_status IS NOT NULL AND v_holder.served_by IS NOT NULL
                                AND v_holder.answer_header_lines IS NOT NULL THEN
                                out_verdict := 'replay';
                                out_status := v_holder.answered_status; out_served_by := v_holder.served_by;
                                out_headers := v_holder.answer_header_lines; out_body := v_holder.answer_body;
                                EXIT;
                            END IF;
                        END LOOP;
                    END IF;
                END IF;

                IF out_verdict = 'accepted' THEN
                    out_sequence := nextval('change_sequence');
                    v_sequences[i] := out_sequence;
                END IF;
                RETURN NEXT;
            END LOOP;

            INSERT INTO change_body (sequence, header_lines, conditional_lines, body)
                SELECT v_sequences[s], p_headers[s], p_conditionals[s], p_bodies[s]
                FROM generate_series(1, v_count) AS s WHERE v_sequences[s] IS NOT NULL;
            IF cardinality(p_records) > v_count OR EXISTS (SELECT 1 FROM unnest(p_record_counts) AS c WHERE c > 1) THEN
                INSERT INTO batch_record (sequence, ordinal, record, revision, payload_hash, lane)
                    SELECT v_sequences[s], j - p_item_ends[s] + p_record_counts[s] - 1, p_records[j], p_revisions[j],
                        p_payloads[j], p_item_lanes[j]
                    FROM generate_series(1, cardinality(p_records)) AS j, LATERAL (SELECT p_item_submissions[j]) AS of_item (s)
                    WHERE v_sequences[s] IS NOT NULL AND j > p_item_ends[s] - p_record_counts[s] + 1;
                INSERT INTO batch_lane (lane, sequence)
                    SELECT p_item_lanes[j], v_sequences[s]
                    FROM generate_series(1, cardinality(p_records)) AS j, LATERAL (SELECT p_item_submissions[j]) AS of_item (s)
                    WHERE v_sequences[s] IS NOT NULL AND p_item_lanes[j] <> p_lanes[s]
                    ON CONFLICT DO NOTHING;
            END IF;
        END $$;
        """
}
