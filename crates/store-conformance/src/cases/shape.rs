//! The database itself refuses a row that cannot be: E7, one statement for every CHECK.
//!
//! The statements use only names and words that both schemas share, and touch rows by their state.

use redrive_model::Code;
use redrive_store::{NewJob, When};

use crate::Harness;
use crate::kit::{Kit, secs};

/// Raw statements that would break a rule of the jobs table are refused by a CHECK.
pub async fn e7_the_database_refuses_impossible_jobs(h: &dyn Harness) {
    let k = Kit::new(h);
    one_in_each_state(&k).await;
    let queued = "state = 'queued'";
    let processing = "state = 'processing'";
    let complete = "state = 'complete'";
    let failed = "state = 'failed'";
    let cancelled = "state = 'cancelled'";
    for (set, rows) in [
        // A result only when complete, and then always unless it expired.
        ("result = 'x'", queued),
        ("result = 'x'", processing),
        ("result = 'x'", failed),
        ("result = 'x'", cancelled),
        ("result = NULL", complete),
        // A failure exactly when failed.
        ("failure_code = 'UNKNOWN'", queued),
        ("failure_message = 'x'", queued),
        ("failure_code = 'UNKNOWN', failure_message = 'x'", processing),
        ("failure_code = 'UNKNOWN', failure_message = 'x'", complete),
        ("failure_code = 'UNKNOWN', failure_message = 'x'", cancelled),
        ("failure_code = NULL", failed),
        ("failure_message = NULL", failed),
        // A lease exactly when processing.
        ("leased_by = NULL", processing),
        ("leased_at = NULL", processing),
        ("lease_expires_at = NULL", processing),
        ("lease_expires_at = due_at", queued),
        ("leased_at = due_at", complete),
        ("leased_at = due_at", failed),
        ("leased_at = due_at", cancelled),
        // No more executions than the cap, and a queued job can still run.
        ("attempt = 3", queued),
        ("attempt = 4", processing),
        ("attempt = 4", complete),
        ("attempt = 4", cancelled),
        ("attempt = -1", queued),
        ("max_attempts = 0", queued),
        // Ended exactly when terminal.
        ("finished_at = due_at", queued),
        ("finished_at = due_at", processing),
        ("finished_at = NULL", complete),
        ("finished_at = NULL", failed),
        ("finished_at = NULL", cancelled),
        // Only what is queued waits for a batch.
        ("awaits_batch = leased_by", processing),
        // States are a closed set, and a state is not changed alone.
        ("state = 'partial'", queued),
        ("state = 'uploaded'", queued),
        ("state = 'complete'", queued),
        ("state = 'processing'", queued),
        ("state = 'failed'", queued),
        ("state = 'cancelled'", queued),
        ("state = 'queued'", processing),
        ("state = 'queued'", complete),
        ("state = 'queued'", failed),
        ("state = 'queued'", cancelled),
        ("state = 'failed'", complete),
    ] {
        refused(h, &format!("UPDATE jobs SET {set} WHERE {rows}")).await;
    }
    // The same columns change where that is allowed: the statements above are refused for their meaning.
    for (set, rows) in [
        ("result = 'y'", complete),
        ("failure_code = 'UNKNOWN', failure_message = 'y'", failed),
        ("lease_expires_at = due_at", processing),
        ("attempt = 2", queued),
        ("attempt = 4", failed),
    ] {
        h.raw(&format!("UPDATE jobs SET {set} WHERE {rows}")).await.unwrap();
    }
}

/// Raw statements that would break a rule of batches, dead letters or groups are refused too.
pub async fn e7_the_database_refuses_impossible_batches_and_letters(h: &dyn Harness) {
    let k = Kit::new(h);
    let (_, members) = k.put_batch(k.new_batch(), vec![k.job(), k.job()]).await;
    assert_eq!(members.len(), 2);
    for claimed in k.claim(1).await {
        k.fail(&claimed, Code::HandlerFailed).await;
    }
    for statement in [
        "UPDATE batches SET ok = 2",
        "UPDATE batches SET ok = -1",
        "UPDATE batches SET failed = -1, hard = -1",
        "UPDATE batches SET hard = 2",
        "UPDATE batches SET total = 0",
        "UPDATE batches SET state = 'complete'",
        "UPDATE batches SET state = 'queued'",
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
    h.raw("UPDATE dead_letters SET state = 'discarded', closed_at = at").await.unwrap();
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
