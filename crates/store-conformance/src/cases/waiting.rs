//! A job that waits for a batch of its own: without a slot, without a cost, and never for ever.

use redrive_model::{BatchId, Code, Done, JobId, Outcome, Shown, State};
use redrive_store::{Acted, Enqueue, NewJob, QueueStats};

use crate::Harness;
use crate::kit::{Kit, secs};

/// Who waits for a batch of its own is counted as that, also while its target is held, and never as anything else.
pub async fn a_waiting_job_is_counted_as_one(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_one(NewJob { priority: 9, ..k.job_on(&["gateway"]) }).await;
    wait_for_batch(&k, vec![k.job(), k.job()]).await;
    let expected =
        QueueStats { ready: 2, waiting_batch: 1, oldest_age: Some(secs(0)), ..QueueStats::default() };
    assert_eq!(k.store.queue().await.unwrap(), expected);
    k.hold("gateway", None).await;
    assert_eq!(k.store.queue().await.unwrap(), expected, "it waits for its batch, whatever its target does");
    k.audit().await;
}

/// The transaction that ends the batch makes the job due, once, with its attempt given back.
pub async fn a_waiting_job_wakes_when_its_batch_ends(h: &dyn Harness) {
    let k = Kit::new(h);
    let waiter = k.put_one(NewJob { priority: 9, ..k.job() }).await;
    let (batch, _) = wait_for_batch(&k, vec![k.job(), k.job()]).await;
    let row = k.row(waiter).await;
    assert_eq!((row.state, row.shown, row.awaits), (State::Queued, Shown::WaitingBatch, Some(batch)));
    assert_eq!((row.attempt, row.leased_by), (0, None));
    assert_eq!(k.store.attempts(waiter).await.unwrap()[0].outcome, "awaits_batch");
    k.audit().await;
    // Time alone does not wake it, however much of it.
    k.advance(secs(365 * 86_400)).await;
    let members = k.claim(10).await;
    assert_eq!(members.len(), 2);
    assert_eq!(k.store.next_due().await.unwrap(), None, "there is nothing that time alone would start");
    k.complete(&members[0]).await;
    assert_eq!(k.claim(10).await, []);
    k.advance(secs(5)).await;
    k.fail(&members[1], Code::HandlerFailed).await;
    let row = k.row(waiter).await;
    assert_eq!((row.shown, row.awaits, row.due_at), (Shown::Queued, None, k.now().await));
    k.audit().await;
    let claimed = k.claim_one().await;
    assert_eq!((claimed.lease.job, claimed.facts.attempt), (waiter, 1));
    k.complete(&claimed).await;
    k.audit().await;
}

/// A batch that has ended already, or that nobody knows, is not waited for: the job is due at once.
pub async fn a_batch_that_ended_or_never_was_is_not_waited_for(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    let claimed = k.claim_one().await;
    let new = k.new_batch();
    let ended = new.id;
    k.enqueue(Enqueue { open: vec![new], seal: vec![ended], ..Enqueue::default() }).await;
    k.end(&claimed, Outcome::Done(Done::AwaitBatch(ended))).await;
    let row = k.row(id).await;
    assert_eq!((row.shown, row.awaits, row.due_at), (Shown::Queued, None, k.now().await));
    let claimed = k.claim_one().await;
    k.end(&claimed, Outcome::Done(Done::AwaitBatch(k.batch_id()))).await;
    assert_eq!(k.claim_ids(1).await, [id]);
    k.audit().await;
}

/// Every job that waits for a batch is woken, and one that waits for another batch is not.
pub async fn all_waiters_of_a_batch_wake_and_no_others(h: &dyn Harness) {
    let k = Kit::new(h);
    let put = k.put((0..4).map(|_| NewJob { priority: 0, ..k.job() }).collect()).await;
    let claimed = k.claim(4).await;
    let (batches, members) = (0..2).fold((Vec::new(), Vec::new()), |(mut batches, mut jobs), _| {
        let new = k.new_batch();
        jobs.push(NewJob { batch: Some(new.id), ..k.job() });
        batches.push(new);
        (batches, jobs)
    });
    let ids: Vec<BatchId> = batches.iter().map(|b| b.id).collect();
    k.enqueue(Enqueue { open: batches, jobs: members, seal: ids.clone(), ..Enqueue::default() }).await;
    for (n, claimed) in claimed.iter().enumerate() {
        k.end(claimed, Outcome::Done(Done::AwaitBatch(ids[usize::from(n == 3)]))).await;
    }
    let member = k.claim_one().await;
    assert_eq!(member.batch, Some(ids[0]));
    k.complete(&member).await;
    assert_eq!(k.row(put[3]).await.shown, Shown::WaitingBatch);
    let woken: Vec<JobId> = k.claim_ids(3).await;
    assert_eq!(woken, put[..3]);
    k.audit().await;
}

/// A waiting job can be cancelled, but not rescheduled: only its batch says when it runs.
pub async fn a_waiting_job_can_be_cancelled_but_not_rescheduled(h: &dyn Harness) {
    let k = Kit::new(h);
    let waiter = k.put_one(NewJob { priority: 9, ..k.job() }).await;
    let (_, members) = wait_for_batch(&k, vec![k.job()]).await;
    let acted = k.store.reschedule(vec![waiter], k.now().await).await.unwrap();
    assert_eq!(acted, [Acted::WrongState(State::Queued)]);
    assert_eq!(k.row(waiter).await.shown, Shown::WaitingBatch);
    assert_eq!(k.cancel(waiter).await, Acted::Done);
    let claimed = k.claim_one().await;
    assert_eq!(claimed.lease.job, members[0]);
    k.complete(&claimed).await;
    let row = k.row(waiter).await;
    assert_eq!(
        (row.state, row.awaits),
        (State::Cancelled, None),
        "the end of the batch does not wake the dead"
    );
    k.audit().await;
}

/// The batch may end while the answer that waits for it is on its way: at once on two handles, nobody sleeps for ever.
pub async fn a_batch_that_ends_at_the_same_moment_wakes_its_waiter(h: &dyn Harness) {
    let k = Kit::new(h);
    let second = Kit::on(h, h.second().await);
    for _ in 0..20 {
        let waiter = k.put_one(NewJob { priority: 0, ..k.job() }).await;
        let waiting = k.claim_one().await;
        let (batch, _) = k.put_batch(k.new_batch(), vec![k.job()]).await;
        let member = k.claim_one().await;
        futures::join!(k.end(&waiting, Outcome::Done(Done::AwaitBatch(batch))), second.complete(&member));
        assert_eq!(k.row(waiter).await.shown, Shown::Queued);
        let claimed = k.claim_one().await;
        k.complete(&claimed).await;
    }
    k.audit().await;
}

/// The only claimable job opens a batch with these members and waits for it.
async fn wait_for_batch(k: &Kit<'_>, members: Vec<NewJob>) -> (BatchId, Vec<JobId>) {
    let claimed = k.claim_one().await;
    let (batch, jobs) = k.put_batch(k.new_batch(), members).await;
    k.end(&claimed, Outcome::Done(Done::AwaitBatch(batch))).await;
    (batch, jobs)
}
