//! The database itself refuses a row that cannot be: E7, one statement for every CHECK.
//!
//! The statements use only names and words that both schemas share, and touch rows by their state.

use redrive_model::Code;
use redrive_store::{NewJob, When};

use crate::Harness;
use crate::kit::{Kit, secs};

/// What no row of a state may become. `id` and `due_at` stand for any id and any instant.
const IMPOSSIBLE: &[(&str, &[&str])] = &[
    (
        "queued",
        &[
            "leased_by = id",
            "leased_at = due_at",
            "lease_expires_at = due_at",
            "probe = (attempt >= 0)",
            "failure_code = 'UNKNOWN'",
            "failure_message = 'x'",
            "result = 'x'",
            "finished_at = due_at",
            "attempt = 3",
            "attempt = -1",
        ],
    ),
    (
        "processing",
        &[
            "leased_by = NULL",
            "leased_at = NULL",
            "lease_expires_at = NULL",
            "failure_code = 'UNKNOWN'",
            "failure_message = 'x'",
            "result = 'x'",
            "finished_at = due_at",
            "awaits_batch = id",
            "attempt = 4",
        ],
    ),
    (
        "complete",
        &[
            "leased_by = NULL",
            "leased_at = NULL",
            "lease_expires_at = due_at",
            "probe = (attempt >= 0)",
            "failure_code = 'UNKNOWN'",
            "failure_message = 'x'",
            "result = NULL",
            "finished_at = NULL",
            "awaits_batch = id",
            "attempt = 4",
        ],
    ),
    (
        "failed",
        &[
            "leased_by = id",
            "leased_at = due_at",
            "lease_expires_at = due_at",
            "probe = (attempt >= 0)",
            "failure_code = NULL",
            "failure_message = NULL",
            "result = 'x'",
            "finished_at = NULL",
            "awaits_batch = id",
            "max_attempts = 0",
        ],
    ),
    (
        "cancelled",
        &[
            "leased_by = id",
            "leased_at = due_at",
            "lease_expires_at = due_at",
            "probe = (attempt >= 0)",
            "failure_code = 'UNKNOWN'",
            "failure_message = 'x'",
            "result = 'x'",
            "finished_at = NULL",
            "awaits_batch = id",
            "attempt = 4",
        ],
    ),
];

/// Raw statements that would break a rule of the jobs table are refused by a CHECK.
pub async fn e7_the_database_refuses_impossible_jobs(h: &dyn Harness) {
    let k = Kit::new(h);
    one_in_each_state(&k).await;
    for (state, changes) in IMPOSSIBLE {
        for change in *changes {
            refused(h, &format!("UPDATE jobs SET {change} WHERE state = '{state}'")).await;
        }
        // States are a closed set, and a state is not changed alone.
        for to in ["partial", "uploaded", "queued", "processing", "complete", "failed", "cancelled"] {
            if to != *state {
                refused(h, &format!("UPDATE jobs SET state = '{to}' WHERE state = '{state}'")).await;
            }
        }
    }
    // The same columns change where that is allowed: the statements above are refused for their meaning.
    for (change, state) in [
        ("result = 'y'", "complete"),
        ("result = NULL, expired_at = due_at", "complete"),
        ("failure_code = 'UNKNOWN', failure_message = 'y'", "failed"),
        ("attempt = 4", "failed"),
        ("lease_expires_at = due_at, leased_by = id, probe = (attempt >= 0)", "processing"),
        ("attempt = 2, awaits_batch = id", "queued"),
    ] {
        h.raw(&format!("UPDATE jobs SET {change} WHERE state = '{state}'")).await.unwrap();
    }
}

/// Raw statements that would break a rule of batches, dead letters or groups are refused too.
pub async fn e7_the_database_refuses_impossible_batches_and_letters(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_batch(k.new_batch(), vec![k.job(), k.job()]).await;
    let claimed = k.claim(2).await;
    k.fail(&claimed[0], Code::HandlerFailed).await;
    for statement in [
        "UPDATE batches SET ok = 2",
        "UPDATE batches SET ok = -1",
        "UPDATE batches SET cancelled = -1",
        "UPDATE batches SET failed = -1, hard = -1",
        "UPDATE batches SET hard = 2",
        "UPDATE batches SET hard = -1",
        "UPDATE batches SET total = 0",
        "UPDATE batches SET state = 'complete', finished_at = created_at",
        "UPDATE batches SET end_rule = 'lenient'",
        "UPDATE batches SET finished_at = created_at",
        "UPDATE dead_letters SET state = 'replayed'",
        "UPDATE dead_letters SET closed_at = at",
        "UPDATE dead_letters SET state = 'lost', closed_at = at",
        "UPDATE failure_groups SET open = -1",
        "UPDATE failure_groups SET state = 'old'",
    ] {
        refused(h, statement).await;
    }
    k.complete(&claimed[1]).await;
    for statement in ["UPDATE batches SET state = 'odd'", "UPDATE batches SET finished_at = NULL"] {
        refused(h, statement).await;
    }
    h.raw("UPDATE dead_letters SET state = 'discarded', closed_at = at").await.unwrap();
    h.raw("UPDATE batches SET state = 'partial'").await.unwrap();
}

/// A job in each stored state, without targets and with a cap of three.
async fn one_in_each_state(k: &Kit<'_>) {
    k.put_dead(vec![k.job()]).await;
    k.put_n(2).await;
    let claimed = k.claim(2).await;
    k.complete(&claimed[0]).await;
    let cancelled = k.put_n(1).await[0];
    k.cancel(cancelled).await;
    k.put_one(NewJob { when: When::In(secs(60)), ..k.job() }).await;
    let counts = k.store.counts().await.unwrap();
    for &state in redrive_model::State::ALL {
        assert_eq!(counts.total(state), 1, "{state}: {counts:#?}");
    }
    k.audit().await;
}

/// The database refuses it, and says that a CHECK did.
async fn refused(h: &dyn Harness, statement: &str) {
    match h.raw(statement).await {
        Ok(()) => panic!("accepted: {statement}"),
        Err(said) => assert!(said.to_lowercase().contains("check constraint"), "{statement}: {said}"),
    }
}
