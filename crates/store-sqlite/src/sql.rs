//! Every statement of this store, one file each. A test prepares them all against the schema.

macro_rules! statements {
    ($($name:ident = $file:literal;)+) => {
        $(pub(crate) const $name: &str = include_str!(concat!("sql/", $file, ".sql"));)+

        /// All of them by name, for the test.
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &str)] = &[$(($file, $name)),+];
    };
}

statements! {
    ASTRAY = "astray";
    CHANGE_DOCUMENT = "change_document";
    DELIVERIES = "deliveries";
    DELIVERY = "delivery";
    DISPLACE_DOCUMENT = "displace_document";
    DOCUMENT = "document";
    DOCUMENT_AT = "document_at";
    DOCUMENT_COUNTS = "document_counts";
    DOCUMENTS = "documents";
    END_MOVE = "end_move";
    FAILURE_RECORDS = "failure_records";
    FORGET_DELIVERIES = "forget_deliveries";
    FORGET_DOCUMENTS = "forget_documents";
    FORGET_RECORDS = "forget_records";
    HOLD_DOCUMENT = "hold_document";
    INSERT_DOCUMENT = "insert_document";
    INSERT_MOVE = "insert_move";
    INSERT_RECORD = "insert_record";
    LIVE_DOCUMENTS = "live_documents";
    LOSE_DOCUMENT = "lose_document";
    A_MOVE = "a_move";
    MOVES_OF = "moves_of";
    NOTE_DELIVERY = "note_delivery";
    NOTIFICATIONS = "notifications";
    COMING_TO = "coming_to";
    OPEN_MOVE = "open_move";
    OPEN_MOVES = "open_moves";
    PLACE_DOCUMENT = "place_document";
    REDIRECT_MOVE = "redirect_move";
    REMOVE_NOTIFICATION = "remove_notification";
    SET_NOTIFICATION = "set_notification";
    TELL_DOCUMENT = "tell_document";
    TELL_RECORDS = "tell_records";
    UNTOLD = "untold";
    UNTOLD_OWNERS = "untold_owners";
    ADD_MINUTE = "add_minute";
    BREAKER_TURNS = "breaker_turns";
    DEAD_COUNTS = "dead_counts";
    FORGET_MINUTES = "forget_minutes";
    FORGET_TURNS = "forget_turns";
    FORGET_TURNS_OF = "forget_turns_of";
    GATHER_MINUTES = "gather_minutes";
    MINUTES = "minutes";
    NEXT_EVENTS = "next_events";
    NOTE_TURN = "note_turn";
    SETTING = "setting";
    ATTEMPT_OUTCOME = "attempt_outcome";
    ATTEMPTS = "attempts";
    BATCH = "batch";
    BATCH_COUNTERS = "batch_counters";
    BATCH_FAILURES = "batch_failures";
    BATCH_PURGE_AT = "batch_purge_at";
    BATCHES = "batches";
    BATCHES_OF = "batches_of";
    BEAT = "beat";
    BREAKERS = "breakers";
    CANCEL = "cancel";
    CLAIM_JOB = "claim_job";
    CLOSE_DEAD = "close_dead";
    COMPLETE = "complete";
    DEAD = "dead";
    DEAD_COUNT = "dead_count";
    DEAD_COUNT_GROUPS = "dead_count_groups";
    DEAD_COUNT_LETTERS = "dead_count_letters";
    DEAD_LIST = "dead_list";
    DEAD_OF_JOB = "dead_of_job";
    DELETE_ATTEMPTS = "delete_attempts";
    DELETE_BATCHES = "delete_batches";
    DELETE_BREAKER = "delete_breaker";
    DELETE_DEAD = "delete_dead";
    DELETE_JOB = "delete_job";
    DELETE_LANE = "delete_lane";
    DELETE_LANE_TALLIES = "delete_lane_tallies";
    DELETE_LANE_TARGETS = "delete_lane_targets";
    DELETE_PAYLOAD = "delete_payload";
    DELETE_SETTING = "delete_setting";
    DISCARD_DEAD = "discard_dead";
    EVENT_BOUNDS = "event_bounds";
    EVENTS_AFTER = "events_after";
    EXPIRE = "expire";
    EXPIRED = "expired";
    EXTEND = "extend";
    FAIL = "fail";
    FIND_IDEMPOTENCY = "find_idempotency";
    FIND_TWIN = "find_twin";
    FIRST_SETTING = "first_setting";
    FORGET_KEYS = "forget_keys";
    FORGET_WORKERS = "forget_workers";
    FREE_KEY = "free_key";
    GATES = "gates";
    GROUP_STATE = "group_state";
    GROUPS = "groups";
    HAS_DEAD = "has_dead";
    HAS_OPEN_DEAD = "has_open_dead";
    IDLE_BREAKERS = "idle_breakers";
    IDLE_LANES = "idle_lanes";
    INSERT_ATTEMPT = "insert_attempt";
    INSERT_BATCH_EVENT = "insert_batch_event";
    INSERT_BREAKER = "insert_breaker";
    INSERT_DEAD = "insert_dead";
    INSERT_EVENT = "insert_event";
    INSERT_IDEMPOTENCY = "insert_idempotency";
    INSERT_JOB = "insert_job";
    INSERT_PAYLOAD = "insert_payload";
    JOB = "job";
    JOB_EVENTS = "job_events";
    JOBS = "jobs";
    LANE_TALLIES = "lane_tallies";
    LEASES_OF = "leases_of";
    LOOKUP = "lookup";
    MARK_LATE = "mark_late";
    MOVE_GROUP = "move_group";
    NEXT_DUE = "next_due";
    NEXT_LANE = "next_lane";
    OPEN_BATCH = "open_batch";
    PAUSED = "paused";
    PROCESSING_BY_LANE = "processing_by_lane";
    PRUNE_ATTEMPTS = "prune_attempts";
    HAS_OWN_ATTEMPT = "has_own_attempt";
    WRITE_OWN_ATTEMPT = "write_own_attempt";
    FORGET_OWN_ATTEMPT = "forget_own_attempt";
    LAST_EVENT = "last_event";
    LAST_FAILURE = "last_failure";
    CLAIMABLE = "claimable";
    PUBLISH = "publish";
    PURGE_EVENTS = "purge_events";
    PURGE_SCAN = "purge_scan";
    QUEUE_OF_LANE = "queue_of_lane";
    READY_OF_LANE = "ready_of_lane";
    REQUEUE = "requeue";
    RESCHEDULE = "reschedule";
    RETRY = "retry";
    RUNNING_OF_TARGET = "running_of_target";
    SAVE_STATE = "save_state";
    SET_SETTING = "set_setting";
    SET_STATE = "set_state";
    SHRINK_GROUP = "shrink_group";
    SWAP_BREAKER = "swap_breaker";
    TALLIES = "tallies";
    UNCOUNT_BATCH_FAILURES = "uncount_batch_failures";
    UPDATE_BATCH = "update_batch";
    UPSERT_GROUP = "upsert_group";
    WAKE_WAITERS = "wake_waiters";
    WAITS_ALONE = "waits_alone";
    WANT_DRAINED = "want_drained";
    WORKERS = "workers";
    NOTE_ACT = "note_act";
    CONCLUDE_ACT = "conclude_act";
    COUNT_BATCH_FAILURES = "count_batch_failures";
    ACTS = "acts";
    CHANGE_SETTING = "change_setting";
    SETTINGS = "settings";
    SETTLE_KEY = "settle_key";
    PAYLOAD = "payload";
    REPORT_PROGRESS = "report_progress";
    REPLAY_COUNTS = "replay_counts";
    END_SESSION = "end_session";
    FORGET_SESSIONS = "forget_sessions";
    OPEN_SESSION = "open_session";
    OWNER_COUNTS = "owner_counts";
    SESSION = "session";
    TOUCH_SESSION = "touch_session";
    ADD_TOKEN = "add_token";
    END_TOKEN_SESSIONS = "end_token_sessions";
    OPEN_TOKEN_SESSION = "open_token_session";
    REVOKE_TOKEN = "revoke_token";
    TOKEN = "token";
    TOKENS = "tokens";
    TOUCH_TOKEN = "touch_token";
}

/// Ways to pick a bounded number of jobs, newest first. `:before` is the cursor, `:scan` the bound.
pub(crate) mod scan {
    use std::borrow::Cow;

    /// Several ways as one, if there are any. Each stops at the bound by itself, so that together they read no more than a few times as much.
    pub(crate) fn merged(scans: &[&'static str]) -> Option<Cow<'static, str>> {
        match scans {
            [] => None,
            [one] => Some((*one).into()),
            many => {
                let parts = many.join(") UNION ALL SELECT id FROM (");
                Some(format!("SELECT id FROM (SELECT id FROM ({parts})) ORDER BY id DESC LIMIT :scan").into())
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
        newest: "SELECT id FROM jobs INDEXED BY jobs_single WHERE batch_id IS NULL \
             AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :scan",
        failed: "SELECT id FROM jobs INDEXED BY jobs_single_stopped WHERE state = 'failed' AND state IN ('failed', 'cancelled') \
             AND batch_id IS NULL AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :scan",
        cancelled: "SELECT id FROM jobs INDEXED BY jobs_single_stopped WHERE state = 'cancelled' AND state IN ('failed', 'cancelled') \
             AND batch_id IS NULL AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :scan",
    };

    /// The one job that the text is the id of.
    pub(crate) const NAMED: &str = "SELECT id FROM jobs WHERE id = unhex(replace(:text, '-', '')) AND (:before IS NULL OR id < :before) LIMIT :scan";
    pub(crate) const NEWEST: &str =
        "SELECT id FROM jobs WHERE (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :scan";
    pub(crate) const CHORE: &str = "SELECT id FROM jobs INDEXED BY jobs_chore WHERE chore = 1 \
         AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :scan";
    pub(crate) const OWNER: &str = "SELECT id FROM jobs WHERE owner = :owner AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :scan";
    pub(crate) const BATCH: &str = "SELECT id FROM jobs WHERE batch_id = :batch AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :scan";
    pub(crate) const BATCH_FAILED: &str = "SELECT id FROM jobs INDEXED BY jobs_batch_failed WHERE batch_id = :batch AND state = 'failed' \
         AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :scan";
    pub(crate) const REPLAY: &str = "SELECT id FROM jobs WHERE replay_id = :replay AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :scan";
    pub(crate) const FAILED: &str = "SELECT id FROM jobs WHERE state = 'failed' AND state IN ('failed', 'cancelled') \
         AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :scan";
    pub(crate) const CANCELLED: &str = "SELECT id FROM jobs WHERE state = 'cancelled' AND state IN ('failed', 'cancelled') \
         AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :scan";
    pub(crate) const PROCESSING: &str = "SELECT id FROM jobs INDEXED BY jobs_leased WHERE state = 'processing' \
         AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :scan";
    pub(crate) const WORKER: &str = "SELECT id FROM jobs INDEXED BY jobs_leased WHERE state = 'processing' AND leased_by = :worker \
         AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :scan";
    pub(crate) const QUEUED: &str = "SELECT id FROM jobs INDEXED BY jobs_ready WHERE state = 'queued' \
         AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :scan";
    pub(crate) const ACTS: &str =
        "SELECT number FROM audit WHERE :before IS NULL OR number < :before ORDER BY number DESC LIMIT :scan";
    pub(crate) const DEAD_NEWEST: &str = "SELECT seq FROM dead_letters WHERE (:before IS NULL OR seq {behind} :before) ORDER BY seq {order} LIMIT :scan";
    pub(crate) const DEAD_GROUP: &str = "SELECT seq FROM dead_letters WHERE fingerprint = :group AND state = 'open' \
         AND (:before IS NULL OR seq {behind} :before) ORDER BY seq {order} LIMIT :scan";
}

/// A list of dead letters in the order that is wanted.
pub(crate) fn in_order(statement: &str, oldest_first: bool) -> String {
    let words = if oldest_first { ("max", ">", "ASC") } else { ("min", "<", "DESC") };
    statement.replace("{last}", words.0).replace("{behind}", words.1).replace("{order}", words.2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::{Place, Sync, open_writer};

    #[test]
    fn every_statement_prepares_on_the_schema() {
        let conn = open_writer(Place::Memory, Sync::EachCommit).unwrap();
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
        for (name, sql) in ALL {
            let scans: &[&str] = match *name {
                "jobs" => &job_scans,
                "dead_list" => &[scan::DEAD_NEWEST, scan::DEAD_GROUP],
                "acts" => &[scan::ACTS],
                _ => &[""],
            };
            for scan in scans {
                let sql = in_order(&sql.replace("{scan}", scan), true);
                conn.prepare(&sql).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
    }

    fn plan(statement: &str, params: impl rusqlite::Params) -> Vec<String> {
        let conn = open_writer(Place::Memory, Sync::EachCommit).unwrap();
        let mut explained = conn.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
        explained.query_map(params, |row| row.get(3)).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn the_claim_reads_the_ready_index_in_order() {
        let plan = plan(READY_OF_LANE, [1i64, 2, 3]);
        assert_eq!(plan, ["SEARCH jobs USING COVERING INDEX jobs_ready (lane=? AND due_at<?)"]);
    }

    #[test]
    fn open_moves_are_found_without_looking_through_documents() {
        for (sql, count) in [(COMING_TO, 2), (OPEN_MOVES, 3)] {
            let plan = plan(sql, rusqlite::params_from_iter(vec![rusqlite::types::Null; count]));
            assert_eq!(plan[0], "SCAN m USING INDEX moves_open");
            assert_eq!(plan[1], "SEARCH d USING PRIMARY KEY (id=?)");
        }
    }

    #[test]
    fn a_twin_is_searched_by_its_key() {
        let plan = plan(FIND_TWIN, [vec![0u8; 32]]);
        assert_eq!(plan, ["SEARCH jobs USING INDEX jobs_dedupe (dedupe=?)"]);
    }

    /// A statement that is run for every job makes no table of its own.
    #[test]
    fn what_every_job_goes_through_builds_nothing_and_throws_nothing_away() {
        let conn = open_writer(Place::Memory, Sync::EachCommit).unwrap();
        for (name, sql) in [("insert_job", INSERT_JOB), ("claim_job", CLAIM_JOB), ("complete", COMPLETE)] {
            let mut explained = conn.prepare(&format!("EXPLAIN {sql}")).unwrap();
            let params = vec![rusqlite::types::Null; explained.parameter_count()];
            let steps = explained.query_map(rusqlite::params_from_iter(params), |row| row.get(1)).unwrap();
            let steps: Vec<String> = steps.map(Result::unwrap).collect();
            assert!(!steps.contains(&"OpenEphemeral".to_owned()), "{name}: {steps:?}");
        }
    }

    #[test]
    fn chores_are_searched_in_order_by_their_own_index() {
        let plan = plan(scan::CHORE, rusqlite::named_params! { ":before": None::<i64>, ":scan": 100 });
        assert_eq!(plan, ["SEARCH jobs USING COVERING INDEX jobs_chore (chore=?)"]);
    }

    #[test]
    fn jobs_in_no_batch_are_searched_in_order_by_their_own_indexes() {
        for (scan, found) in [
            (scan::SINGLE.newest, "COVERING INDEX jobs_single (batch_id=?)"),
            (scan::SINGLE.failed, "INDEX jobs_single_stopped (state=?)"),
            (scan::SINGLE.cancelled, "INDEX jobs_single_stopped (state=?)"),
        ] {
            let plan = plan(scan, rusqlite::named_params! { ":before": None::<i64>, ":scan": 100 });
            assert_eq!(plan, [format!("SEARCH jobs USING {found}")]);
        }
    }
}
