//! Makes a call on a real store.

use redrive_model::Offset;
use redrive_store::{DeadFilter, DeadRow, DeadState, PageRequest, Purge, Result, Store};

use super::call::{Answer, Call, Letter};
use crate::Harness;

/// Makes the call through `store`, one of the harness's handles.
pub(crate) async fn perform(harness: &dyn Harness, store: &dyn Store, call: &Call) -> Answer {
    ask(harness, store, call.clone()).await.into()
}

async fn ask(harness: &dyn Harness, store: &dyn Store, call: Call) -> Result<Answer> {
    Ok(match call {
        Call::Enqueue(call) => Answer::Enqueued(store.enqueue(call).await?),
        Call::Publish(events) => {
            store.publish(events).await?;
            Answer::Nothing
        }
        Call::Claim(claim) => Answer::Claimed(store.claim(claim).await?),
        Call::Extend { worker, leases, ttl } => Answer::Extended(store.extend(worker, leases, ttl).await?),
        Call::SaveState { lease, state } => Answer::Saved(store.save_state(lease, state).await?),
        Call::Finish(finishes) => Answer::Finished(store.finish(finishes).await?),
        Call::Cancel { jobs, keep } => Answer::Acted(store.cancel(jobs, keep).await?),
        Call::Retry { jobs, by } => Answer::Acted(store.retry(jobs, by).await?),
        Call::GiveUp(call) => Answer::Acted(store.give_up(call).await?),
        Call::Reschedule { jobs, due_at } => Answer::Acted(store.reschedule(jobs, due_at).await?),
        Call::Discard(letters) => Answer::Count(store.discard(offsets(store, &letters).await?).await?),
        Call::MoveGroup { group, to } => Answer::Moved(store.move_group(&group, to).await?),
        Call::Pause(workload) => {
            store.pause(workload.as_ref(), "ann").await?;
            Answer::Nothing
        }
        Call::Resume(workload) => {
            store.resume(workload.as_ref()).await?;
            Answer::Nothing
        }
        Call::SwapBreaker { target, expected, breaker } => {
            Answer::Swapped(store.swap_breaker(&target, expected, &breaker, None).await?)
        }
        Call::Beat(beat) => Answer::Wanted(store.beat(beat).await?),
        Call::WantDrained { worker, wanted } => Answer::Wanted(store.want_drained(worker, wanted).await?),
        Call::Expire(jobs) => Answer::Acted(store.expire(jobs).await?),
        Call::Purge { scan } => Answer::Count(sweep(store, scan).await?),
        Call::PruneAttempts { job, keep } => Answer::Count(store.prune_attempts(job, keep).await?),
        Call::Forget(before) => Answer::Count(store.forget(before).await?),
        Call::Advance(by) => {
            harness.advance(by).await;
            Answer::Nothing
        }
    })
}

/// A whole sweep in chunks.
async fn sweep(store: &dyn Store, scan: usize) -> Result<u64> {
    let (mut removed, mut after) = (0, None);
    loop {
        let chunk = store.purge(Purge { after, scan }).await?;
        removed += chunk.jobs;
        match chunk.next {
            Some(next) => after = Some(next),
            None => return Ok(removed),
        }
    }
}

/// The offsets that these letters have on this store.
async fn offsets(store: &dyn Store, letters: &[Letter]) -> Result<Vec<Offset>> {
    let rows = all_dead(store).await?;
    let offset = |letter: &Letter| {
        let row = rows.iter().find(|row| (row.job, row.generation) == *letter);
        row.map_or(Offset(i64::MAX), |row| row.offset)
    };
    Ok(letters.iter().map(offset).collect())
}

/// All dead letters, oldest first.
pub(crate) async fn all_dead(store: &dyn Store) -> Result<Vec<DeadRow>> {
    let mut rows = Vec::new();
    for state in [DeadState::Open, DeadState::Replayed, DeadState::Discarded] {
        let filter = DeadFilter { state: Some(state), ..DeadFilter::default() };
        rows.extend(dead_letters(store, &filter).await?);
    }
    rows.sort_by_key(|row| row.offset);
    Ok(rows)
}

/// The dead letters of a filter, newest first, page by page.
pub(crate) async fn dead_letters(store: &dyn Store, filter: &DeadFilter) -> Result<Vec<DeadRow>> {
    let mut rows = Vec::new();
    let mut page = PageRequest { limit: 200, cursor: None };
    loop {
        let found = store.dead_letters(filter.clone(), page.clone()).await?;
        rows.extend(found.rows);
        match found.next {
            Some(next) => page.cursor = Some(next),
            None => return Ok(rows),
        }
    }
}
