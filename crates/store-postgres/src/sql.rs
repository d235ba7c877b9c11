//! Every statement of this store, one file each. `redrive` in them stands for the configured schema. A test prepares
//! them all.

use std::sync::Arc;

use sqlx::AssertSqlSafe;

macro_rules! statements {
    ($($name:ident)+) => {
        /// The statements, with the configured schema put in.
        #[derive(Debug)]
        pub(crate) struct Sql { $(pub(crate) $name: Statement),+ }

        impl Sql {
            /// Puts the schema in. The name has been checked to be a plain identifier.
            pub(crate) fn new(schema: &str) -> Self {
                Self { $($name: Statement::new(include_str!(concat!("sql/", stringify!($name), ".sql")), schema)),+ }
            }

            /// All of them by name, for the test.
            #[cfg(test)]
            pub(crate) fn all(&self) -> Vec<(&'static str, &Statement)> {
                vec![$((stringify!($name), &self.$name)),+]
            }
        }
    };
}

/// One statement, cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Statement(Arc<str>);

impl Statement {
    fn new(text: &str, schema: &str) -> Self {
        Self(with_schema(text, schema).into())
    }

    /// The text as sqlx takes it. It is ours alone: nothing from outside is ever part of it.
    pub(crate) fn text(&self) -> AssertSqlSafe<Arc<str>> {
        AssertSqlSafe(self.0.clone())
    }

    /// The same for a list of dead letters, in the order that is wanted.
    pub(crate) fn ordered(&self, scan: &str, schema: &str, oldest_first: bool) -> AssertSqlSafe<String> {
        AssertSqlSafe(in_order(&self.scanning(scan, schema).0, oldest_first))
    }

    /// The statement with a way to pick rows put in.
    pub(crate) fn scanning(&self, scan: &str, schema: &str) -> AssertSqlSafe<String> {
        AssertSqlSafe(self.0.replace("{scan}", &with_schema(scan, schema)))
    }
}

/// A list of dead letters in the order that is wanted.
pub(crate) fn in_order(statement: &str, oldest_first: bool) -> String {
    let words = if oldest_first { ("max", ">", "ASC") } else { ("min", "<", "DESC") };
    statement.replace("{last}", words.0).replace("{behind}", words.1).replace("{order}", words.2)
}

/// Replaces our schema's name by the configured one.
pub(crate) fn with_schema(text: &str, schema: &str) -> String {
    text.replace("redrive.", &format!("{schema}."))
}

statements! {
    a_move
    acts
    add_minutes
    astray
    add_token
    attempts
    batch
    batch_failures
    batches
    batches_ended
    beat
    breaker_turns
    breakers
    cancel
    change_document
    change_setting
    claim
    claim_chosen
    claim_heads
    complete
    complete_state
    conclude_act
    count_batch_failures
    dead
    dead_count
    dead_count_groups
    dead_count_letters
    dead_counts
    dead_list
    dead_of_job
    delete_batches
    delete_breakers
    delete_lane_targets
    delete_lanes
    delete_setting
    delete_tallies
    deliveries
    delivery
    discard
    displace_document
    document
    document_counts
    documents
    documents_at
    end_move
    end_session
    enqueue
    enqueue_for
    enqueue_new
    ensure_alone
    event_head
    events_after
    events_purged
    expire
    expired
    extend
    fail
    failure_records
    few_queued
    find_existing
    find_idempotency
    find_lane
    find_twin
    first_setting
    forget_deliveries
    forget_documents
    forget_keys
    forget_minutes
    forget_records
    forget_sessions
    forget_turns
    forget_turns_of
    forget_workers
    free_key
    fresh_xid
    gather_minutes
    give_up
    group_state
    groups
    hold_document
    idle_breakers
    idle_lanes
    insert_breaker
    insert_document
    insert_idempotency
    insert_move
    insert_record
    intern_lane
    job
    job_events
    jobs
    lane_target
    lanes
    last_failures
    leases_of
    live_documents
    lock_batches
    lock_document
    lock_lanes
    lock_ramps
    lock_setting
    lock_tallies
    lookup
    lose_document
    mark_late
    minutes
    move_group
    moves_of
    next_due
    next_events
    note_act
    note_delivery
    note_turn
    notifications
    now
    oldest_xid
    open_batch
    open_dead_upto
    coming_to
    open_move
    open_moves
    open_session
    open_token_session
    outcomes
    owner_counts
    paused
    payloads
    place_document
    processing_by_lane
    prune_attempts
    publish
    purge
    purge_events
    purge_scan
    queue_of_lanes
    redirect_move
    remove_notification
    replay_counts
    report_progress
    requeue
    reschedule
    retry
    revoke_token
    running_of_target
    save_state
    session
    set_idempotency_reply
    set_notification
    set_setting
    settings
    settle_key
    share_batches
    swap_breaker
    tallies
    tell_document
    tell_records
    token
    tokens
    touch_session
    touch_token
    uncount_batch_failures
    untold
    untold_owners
    update_batches
    wait_briefly
    waits_alone
    want_drained
    workers
}

/// Ways to pick a bounded number of rows, newest first. `$1` is the cursor, `$2` the bound.
pub(crate) mod scan {
    use std::borrow::Cow;

    /// Several ways as one, if there are any. Each stops at the bound by itself, so that together they read no more than a few times as much.
    pub(crate) fn merged(scans: &[&'static str]) -> Option<Cow<'static, str>> {
        match scans {
            [] => None,
            [one] => Some((*one).into()),
            many => {
                let parts = many.join(") UNION ALL (");
                Some(format!("SELECT id FROM (({parts})) AS parts ORDER BY id DESC LIMIT $2").into())
            }
        }
    }

    /// Ways that differ by whether members of batches are wanted.
    pub(crate) struct Walk {
        pub(crate) newest: &'static str,
        pub(crate) failed: &'static str,
        pub(crate) cancelled: &'static str,
    }

    pub(crate) const ALL: Walk = Walk { newest: NEWEST, failed: FAILED, cancelled: CANCELLED };

    /// Only what is in no batch.
    pub(crate) const SINGLE: Walk = Walk {
        newest: "SELECT id FROM redrive.jobs WHERE batch_id IS NULL AND ($1::uuid IS NULL OR id < $1) ORDER BY id DESC LIMIT $2",
        failed: "SELECT id FROM redrive.jobs WHERE state = 'failed' AND batch_id IS NULL AND ($1::uuid IS NULL OR id < $1) ORDER BY id DESC LIMIT $2",
        cancelled: "SELECT id FROM redrive.jobs WHERE state = 'cancelled' AND batch_id IS NULL AND ($1::uuid IS NULL OR id < $1) ORDER BY id DESC LIMIT $2",
    };

    /// The one job that the text is the id of.
    pub(crate) const NAMED: &str =
        "SELECT id FROM redrive.jobs WHERE id = $8::text::uuid AND ($1::uuid IS NULL OR id < $1) LIMIT $2";
    pub(crate) const NEWEST: &str =
        "SELECT id FROM redrive.jobs WHERE ($1::uuid IS NULL OR id < $1) ORDER BY id DESC LIMIT $2";
    pub(crate) const CHORE: &str =
        "SELECT id FROM redrive.jobs WHERE chore AND ($1::uuid IS NULL OR id < $1) ORDER BY id DESC LIMIT $2";
    pub(crate) const OWNER: &str = "SELECT id FROM redrive.jobs WHERE owner = $4 AND ($1::uuid IS NULL OR id < $1) ORDER BY id DESC LIMIT $2";
    pub(crate) const BATCH: &str = "SELECT id FROM redrive.jobs WHERE batch_id = $5 AND ($1::uuid IS NULL OR id < $1) ORDER BY id DESC LIMIT $2";
    pub(crate) const BATCH_FAILED: &str = "SELECT id FROM redrive.jobs WHERE batch_id = $5 AND state = 'failed' \
         AND ($1::uuid IS NULL OR id < $1) ORDER BY id DESC LIMIT $2";
    pub(crate) const REPLAY: &str = "SELECT id FROM redrive.jobs WHERE replay_id = $11 AND ($1::uuid IS NULL OR id < $1) ORDER BY id DESC LIMIT $2";
    pub(crate) const FAILED: &str = "SELECT id FROM redrive.jobs WHERE state = 'failed' AND ($1::uuid IS NULL OR id < $1) ORDER BY id DESC LIMIT $2";
    pub(crate) const CANCELLED: &str = "SELECT id FROM redrive.jobs WHERE state = 'cancelled' AND ($1::uuid IS NULL OR id < $1) ORDER BY id DESC LIMIT $2";
    pub(crate) const PROCESSING: &str = "SELECT id FROM redrive.jobs WHERE state = 'processing' AND ($1::uuid IS NULL OR id < $1) ORDER BY id DESC LIMIT $2";
    pub(crate) const WORKER: &str = "SELECT id FROM redrive.jobs WHERE state = 'processing' AND leased_by = $14 \
         AND ($1::uuid IS NULL OR id < $1) ORDER BY id DESC LIMIT $2";
    pub(crate) const QUEUED: &str = "SELECT id FROM redrive.jobs WHERE state = 'queued' AND ($1::uuid IS NULL OR id < $1) ORDER BY id DESC LIMIT $2";
    pub(crate) const DEAD_NEWEST: &str = "SELECT seq FROM redrive.dead_letters WHERE ($1::int8 IS NULL OR seq {behind} $1) ORDER BY seq {order} LIMIT $2";
    pub(crate) const DEAD_GROUP: &str = "SELECT seq FROM redrive.dead_letters WHERE fingerprint = $6 AND state = 'open' \
         AND ($1::int8 IS NULL OR seq {behind} $1) ORDER BY seq {order} LIMIT $2";
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlx::{Connection, Executor, PgConnection, Row, SqlSafeStr};

    #[expect(clippy::disallowed_methods, reason = "the test script says here where its server is")]
    fn url() -> String {
        std::env::var("REDRIVE_TEST_POSTGRES").expect("REDRIVE_TEST_POSTGRES is not set: run ./test")
    }

    #[tokio::test]
    async fn every_statement_prepares_on_the_schema() {
        let schema = format!("prepare_{}", std::process::id());
        crate::Options::default().schema(&schema).unwrap().open(&url()).await.unwrap();
        let mut conn = PgConnection::connect(&url()).await.unwrap();
        let job_scans = [
            &scan::merged(&[scan::FAILED, scan::CANCELLED, scan::PROCESSING, scan::QUEUED]).unwrap(),
            scan::SINGLE.newest,
            scan::SINGLE.failed,
            scan::SINGLE.cancelled,
            scan::NAMED,
            scan::NEWEST,
            scan::CHORE,
            scan::OWNER,
            scan::BATCH,
            scan::BATCH_FAILED,
            scan::REPLAY,
            scan::FAILED,
            scan::CANCELLED,
            scan::PROCESSING,
            scan::WORKER,
            scan::QUEUED,
        ];
        for (name, statement) in Sql::new(&schema).all() {
            let scans: &[&str] = match name {
                "jobs" => &job_scans,
                "dead_list" => &[scan::DEAD_NEWEST, scan::DEAD_GROUP],
                _ => &[""],
            };
            for scan in scans {
                let sql = statement.ordered(scan, &schema, true).into_sql_str();
                conn.prepare(sql).await.unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
        conn.execute(sqlx::raw_sql(AssertSqlSafe(format!("DROP SCHEMA {schema} CASCADE")))).await.unwrap();
    }

    /// A backlog that was analysed while nothing ran makes the planner believe that nothing ever runs. Rows that a worker names
    /// must be found by their id all the same.
    #[tokio::test]
    async fn rows_of_a_lease_are_found_by_their_id_whatever_the_statistics_say() {
        let schema = format!("plans_{}", std::process::id());
        let store = crate::Options::default().schema(&schema).unwrap().open(&url()).await.unwrap();
        let mut conn = store.plain_connection().await.unwrap();
        let fill = format!(
            "INSERT INTO {schema}.lanes (workload, targets, priority, alone) VALUES ('work', '', 5, false);
             INSERT INTO {schema}.jobs (id, lane, state, due_at, created_at, queued_at)
             SELECT gen_random_uuid(), 1, 'queued', 0, 0, 0 FROM generate_series(1, 20000); ANALYZE {schema}.jobs"
        );
        conn.execute(sqlx::raw_sql(AssertSqlSafe(fill))).await.unwrap();
        let sql = Sql::new(&schema);
        for (name, statement) in [
            ("complete", &sql.complete),
            ("requeue", &sql.requeue),
            ("fail", &sql.fail),
            ("extend", &sql.extend),
            ("save_state", &sql.save_state),
        ] {
            let text = statement.text().into_sql_str();
            let count = (1..40).take_while(|n| text.as_str().contains(&format!("${n}"))).count();
            let nulls = vec!["NULL"; count].join(", ");
            let prepare =
                format!("SET plan_cache_mode = force_generic_plan; PREPARE {name} AS {}", text.as_str());
            conn.execute(sqlx::raw_sql(AssertSqlSafe(prepare))).await.unwrap();
            let explain = AssertSqlSafe(format!("EXPLAIN EXECUTE {name}({nulls})"));
            let lines: Vec<String> =
                sqlx::raw_sql(explain).fetch_all(&mut conn).await.unwrap().iter().map(|r| r.get(0)).collect();
            let plan = lines.join("\n");
            assert!(plan.contains("jobs_pkey"), "{name}:\n{plan}");
            assert!(!plan.contains("jobs_leased") && !plan.contains("Seq Scan on jobs"), "{name}:\n{plan}");
        }
        conn.execute(sqlx::raw_sql(AssertSqlSafe(format!("DROP SCHEMA {schema} CASCADE")))).await.unwrap();
    }
}
