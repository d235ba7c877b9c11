//! Rows 19 and 20: the server has committed and said so, and the worker does not hear it.

use redrive_lab::proxy::Then;
use redrive_lab::worker::{TTL, Write};
use redrive_model::State;

use crate::audit::audit;
use crate::kit::{Database, Folder, Process, completion_of};

/// Row 19: nothing is run on a guess; the worker asks what it holds. The attempt is counted once.
///
/// Also covers: M19.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_whose_answer_is_lost_is_found_again() {
    let (folder, database) = (Folder::new(), Database::postgres().await);
    let (proxy, wire) = database.through_proxy().await;
    let (worker, other) = (Process::start(&folder, &wire).await, Process::start(&folder, &wire).await);
    proxy.lose_answer_with(b"an-unheard-job", Then::Close);
    let gate = folder.file("an-unheard-job");
    folder.open("an-unheard-job");
    let job =
        database.enqueue(&Write { ledger: folder.ledger(), gate: Some(gate), ..Write::default() }).await;
    proxy.has_lost(1).await;
    let row = database.until(job, State::Complete).await;
    assert_eq!((row.attempt, row.token.0, row.crashes), (1, 1, 0));
    assert_eq!(folder.said(job, "started").len(), 1);
    assert!(worker.said().contains("claim.unheard") || other.said().contains("claim.unheard"));
    worker.drain().await;
    other.drain().await;
    audit(&database, &folder, &[job]).await;
}

/// Row 20: the worker asks again and hears what it had said. The job is not run again and not marked failed.
///
/// Also covers: M20.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_completion_whose_answer_is_lost_is_a_completion() {
    let (folder, database) = (Folder::new(), Database::postgres().await);
    let (proxy, wire) = database.through_proxy().await;
    let (worker, other) = (Process::start(&folder, &wire).await, Process::start(&folder, &wire).await);
    let job = Write { ledger: folder.ledger(), gate: Some(folder.file("gate")), ..Write::default() };
    let job = database.enqueue(&job).await;
    folder.started(job, 1).await;
    proxy.lose_answer_with(&completion_of(job), Then::Close);
    folder.open("gate");
    proxy.has_lost(1).await;
    let row = database.until(job, State::Complete).await;
    assert_eq!((row.attempt, row.token.0, row.result.as_deref()), (1, 1, Some("1")));
    // Its lease would have run out by now, had it been kept.
    database.passes(TTL + TTL / 2).await;
    let next = database.enqueue(&Write { ledger: folder.ledger(), ..Write::default() }).await;
    database.until(next, State::Complete).await;
    assert_eq!(database.row(job).await, row);
    assert_eq!(folder.said(job, "started").len(), 1);
    for worker in [worker, other] {
        let said = worker.said();
        assert!(!said.contains("lease.lost") && !said.contains("record.refused"), "{said}");
        worker.drain().await;
    }
    audit(&database, &folder, &[job, next]).await;
}
