extension PostgresSchema {
    // As in SQLite: legs are columns of their change, so that an answer or a settled leg is one row update; bodies have a
    // table of their own, because an update writes its whole row anew. No foreign keys on the way of a write.
    //
    // Digests (SHA-256 of user and key, of user and record) stand in the indexes in place of the texts: an index entry may
    // hold 2,700 bytes at most, and one write with a longer key would take its whole group down.
    static let tables = """
        CREATE FUNCTION digest_of(owner_name text, item text) RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE AS
            $$ SELECT sha256(convert_to(length(owner_name)::text || ':' || owner_name || item, 'UTF8')) $$;
        CREATE SEQUENCE change_sequence AS bigint;
        CREATE TABLE change (
            sequence bigint PRIMARY KEY,
            owner bigint NOT NULL,              -- the gateway that delivers it
            group_number bigint NOT NULL,       -- of its owner; 0 once it was taken over
            lane bigint NOT NULL,               -- hash of its first lane; the others are in batch_lane
            accepted_at bigint NOT NULL,
            "user" text NOT NULL,               -- '' is anonymous
            record text,                        -- the first record; the others are in batch_record
            revision bigint,
            payload_hash text,
            record_count integer NOT NULL,
            has_revision boolean NOT NULL,
            idempotency_key text,               -- the client's
            key_digest bytea,
            outgoing_key text NOT NULL,
            holds_key boolean NOT NULL,         -- false: no key, or a repeat is a new attempt
            fingerprint text NOT NULL,
            method text NOT NULL,
            target text NOT NULL,
            side smallint NOT NULL,
            dual_write boolean NOT NULL,
            is_answered boolean NOT NULL DEFAULT false,
            answered_status integer,
            served_by smallint,
            answer_header_lines bytea,          -- NULL: no answer is kept
            answer_body bytea,                  -- NULL: it was too long
            legacy_state text NOT NULL,
            legacy_attempts integer NOT NULL DEFAULT 0,
            legacy_refusals integer NOT NULL DEFAULT 0,
            legacy_last_status integer,
            legacy_next_attempt_at bigint,
            new_state text NOT NULL,
            new_attempts integer NOT NULL DEFAULT 0,
            new_refusals integer NOT NULL DEFAULT 0,
            new_last_status integer,
            new_next_attempt_at bigint
        ) WITH (fillfactor = 80);
        CREATE UNIQUE INDEX change_key ON change (key_digest) WHERE holds_key;
        CREATE INDEX change_outstanding ON change (owner, sequence) WHERE \(outstanding);
        -- By -owner, so that no plan takes another index that has the owner in it, when all of them look alike still.
        CREATE INDEX change_outstanding_lane ON change (lane, (-owner), group_number) WHERE \(outstanding);
        -- 64 characters of the user: an index entry must not be longer than it may be.
        CREATE INDEX change_outstanding_user ON change (left("user", 64), owner, sequence) WHERE \(outstanding);
        -- Both are empty as long as legacy is written.
        CREATE INDEX change_unshared ON change (sequence) WHERE \(unshared);
        CREATE INDEX change_skipped ON change (sequence) WHERE \(skipped);
        CREATE INDEX change_parked ON change (sequence) WHERE \(parked);
        CREATE TABLE batch_record (
            sequence bigint NOT NULL,
            ordinal integer NOT NULL,
            record text NOT NULL,
            revision bigint,
            payload_hash text NOT NULL,
            lane bigint NOT NULL,
            PRIMARY KEY (sequence, ordinal)
        );
        -- The lanes after the first, of changes that are outstanding or parked.
        CREATE TABLE batch_lane (
            lane bigint NOT NULL,
            sequence bigint NOT NULL,
            PRIMARY KEY (lane, sequence)
        );
        CREATE INDEX batch_lane_sequence ON batch_lane (sequence);
        CREATE TABLE change_body (
            sequence bigint PRIMARY KEY,
            header_lines bytea NOT NULL,
            conditional_lines bytea NOT NULL,
            body bytea NOT NULL
        );
        ALTER TABLE change_body ALTER COLUMN body SET STORAGE EXTERNAL;
        CREATE TABLE record_revision (
            record_digest bytea NOT NULL,
            revision bigint NOT NULL,
            sequence bigint NOT NULL,           -- outlives its change
            "user" text NOT NULL,
            record text NOT NULL,
            payload_hash text NOT NULL,
            idempotency_key text,
            PRIMARY KEY (record_digest, revision)
        );
        CREATE INDEX record_revision_sequence ON record_revision (sequence);
        CREATE TABLE rollout (
            id integer PRIMARY KEY CHECK (id = 1),
            generation bigint NOT NULL,
            plan text NOT NULL,
            stage text NOT NULL,
            percent_hundredths integer NOT NULL,
            state text NOT NULL,
            since bigint NOT NULL,
            details text NOT NULL
        );
        CREATE TABLE event (
            sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            at bigint NOT NULL,
            actor text NOT NULL,
            action text NOT NULL,
            before text NOT NULL,
            after text NOT NULL,
            reason text NOT NULL
        );
        CREATE TABLE pin (
            user_digest bytea PRIMARY KEY,
            "user" text NOT NULL,
            side smallint NOT NULL,
            since bigint NOT NULL
        );
        CREATE TABLE counter (
            name text PRIMARY KEY,
            value bigint NOT NULL
        );
        -- version: of the shared state (rollout and pins). announcement: see JournalCluster.announce.
        INSERT INTO counter VALUES ('version', 0), ('announcement', 0);

        """

    // A gateway's heartbeat and its groups must not wait for each other, so they have a row each. Setting `ended_at` waits
    // for the group that is under way, and refuses every later one: that is the fence, whoever sets it.
    static let clusterTables = """
        CREATE TABLE gateway (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            name text NOT NULL,
            started_at timestamptz NOT NULL DEFAULT now(),
            expires_at timestamptz NOT NULL,
            ended_at timestamptz,
            heir bigint,                        -- the gateway that takes its changes over
            seen_version bigint NOT NULL DEFAULT 0,
            seen_announcement bigint NOT NULL DEFAULT 0
        ) WITH (fillfactor = 50);
        CREATE INDEX gateway_living ON gateway (id) WHERE ended_at IS NULL;
        CREATE TABLE gateway_group (
            gateway bigint PRIMARY KEY,
            last_group bigint NOT NULL DEFAULT 0,
            is_ended boolean NOT NULL DEFAULT false
        ) WITH (fillfactor = 20);

        CREATE FUNCTION gateway_joined() RETURNS trigger LANGUAGE plpgsql SET search_path TO cutover AS $$
        BEGIN
            INSERT INTO gateway_group (gateway) VALUES (NEW.id);
            RETURN NULL;
        END $$;
        CREATE TRIGGER gateway_joined AFTER INSERT ON gateway FOR EACH ROW EXECUTE FUNCTION gateway_joined();

        CREATE FUNCTION gateway_ended() RETURNS trigger LANGUAGE plpgsql SET search_path TO cutover AS $$
        BEGIN
            UPDATE gateway_group SET is_ended = true WHERE gateway = OLD.id;
            RETURN NULL;
        END $$;
        CREATE TRIGGER gateway_ended AFTER UPDATE OF ended_at ON gateway FOR EACH ROW
            WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL) EXECUTE FUNCTION gateway_ended();

        CREATE FUNCTION gateway_removed() RETURNS trigger LANGUAGE plpgsql SET search_path TO cutover AS $$
        BEGIN
            DELETE FROM gateway_group WHERE gateway = OLD.id;
            RETURN NULL;
        END $$;
        CREATE TRIGGER gateway_removed AFTER DELETE ON gateway FOR EACH ROW EXECUTE FUNCTION gateway_removed();

        -- Group numbers count per gateway: those of another say nothing to the new owner. A negative one says which takeover it
        -- was (`take_over`).
        CREATE FUNCTION change_taken_over() RETURNS trigger LANGUAGE plpgsql SET search_path TO cutover AS $$
        BEGIN
            NEW.group_number := 0;
            RETURN NEW;
        END $$;
        CREATE TRIGGER change_taken_over BEFORE UPDATE OF owner ON change FOR EACH ROW
            WHEN (OLD.owner <> NEW.owner AND NEW.group_number > 0) EXECUTE FUNCTION change_taken_over();

        """
}
