//! Batches: exact counters, one end, and the way back when a member gets another chance.

use redrive_model::batch::{Counters, EndRule};
use redrive_model::{BatchState, Code, JobId, Shown, State};
use redrive_store::{
    Acted, BatchFilter, Enqueue, EventKind, JobFilter, NewBatch, NewJob, PageRequest, StoreError,
};

use crate::Harness;
use crate::kit::{Kit, owner, secs, workload};

/// How a batch ends, for every mix and both rules; the rest of it always runs to its end.
/// Also covers: F2.
pub async fn f2_a_batch_ends_as_its_rule_says(h: &dyn Harness) {
    use BatchState::{Cancelled, Complete, Failed, Partial};
    let k = Kit::new(h);
    // Members that complete, fail retryably at the cap, fail hard, and are cancelled; then strict and tolerant.
    for (ok, soft, hard, cancelled, strict, tolerant) in [
        (2, 0, 0, 0, Complete, Complete),
        (1, 1, 0, 0, Partial, Partial),
        (1, 0, 1, 0, Failed, Partial),
        (0, 2, 0, 0, Failed, Partial),
        (0, 0, 2, 0, Failed, Partial),
        (1, 0, 0, 1, Partial, Partial),
        (0, 1, 0, 1, Failed, Partial),
        (0, 0, 0, 2, Cancelled, Cancelled),
        (1, 1, 1, 1, Failed, Partial),
    ] {
        for (end_rule, expected) in [(EndRule::Strict, strict), (EndRule::Tolerant, tolerant)] {
            let total = ok + soft + hard + cancelled;
            let members = (0..total).map(|_| NewJob { max_attempts: Some(1), ..k.job() }).collect();
            let (id, jobs) = k.put_batch(NewBatch { end_rule, ..k.new_batch() }, members).await;
            for &job in &jobs[total - cancelled..] {
                assert_eq!(k.cancel(job).await, Acted::Done);
            }
            for (n, claimed) in k.claim(total).await.iter().enumerate() {
                if n + 1 < total - cancelled {
                    assert_eq!(k.batch(id).await.state, BatchState::Processing, "nobody ends it early");
                }
                match n {
                    n if n < ok => k.complete(claimed).await,
                    n if n < ok + soft => exhaust(&k, claimed).await,
                    _ => k.fail(claimed, Code::HandlerFailed).await,
                }
            }
            let batch = k.batch(id).await;
            let label = format!("{ok} {soft} {hard} {cancelled} {end_rule}");
            assert_eq!((batch.state, batch.finished_at), (expected, Some(k.now().await)), "{label}");
            let n = |n: usize| n as u64;
            let counters = Counters {
                total: n(total),
                ok: n(ok),
                failed: n(soft + hard),
                hard: n(hard),
                cancelled: n(cancelled),
            };
            assert_eq!(batch.counters, counters, "{label}");
        }
    }
    k.audit().await;
}

/// A batch is described as it was opened; opening it again changes nothing; its newest failure and letter are shown.
pub async fn a_batch_shows_its_newest_failure(h: &dyn Harness) {
    let k = Kit::new(h);
    let new = NewBatch { owner: Some(owner("ann")), label: Some("a\0b".into()), ..k.new_batch() };
    let (id, jobs) = k.put_batch(new.clone(), vec![k.job(), k.job(), k.job()]).await;
    let again = NewBatch { label: Some("changed".into()), end_rule: EndRule::Tolerant, ..new };
    k.enqueue(Enqueue { open: vec![again], ..Enqueue::default() }).await;
    let batch = k.batch(id).await;
    assert_eq!(
        (batch.label.as_deref(), batch.end_rule, batch.sealed),
        (Some("a\u{fffd}b"), EndRule::Strict, true)
    );
    assert_eq!(
        (batch.owner, batch.workload, batch.last_failure),
        (Some(owner("ann")), workload("work"), None)
    );
    assert_eq!((batch.created_at, batch.updated_at, batch.dead_offset), (k.now().await, k.now().await, None));
    let claimed = k.claim(3).await;
    k.fail(&claimed[0], Code::InvalidMapping).await;
    k.advance(secs(5)).await;
    k.fail(&claimed[1], Code::HandlerFailed).await;
    let batch = k.batch(id).await;
    let sentence = Code::HandlerFailed.entry().what_happened.to_owned();
    assert_eq!(batch.last_failure, Some((Code::HandlerFailed, sentence)));
    assert_eq!((batch.last_failure_at, batch.updated_at), (Some(k.now().await), k.now().await));
    assert_eq!(batch.dead_offset, Some(k.dead_of(jobs[1]).await.offset));
    k.complete(&claimed[2]).await;
    k.audit().await;
}

/// Members are added in parts; the batch ends only when it is sealed, and then takes no more.
pub async fn a_batch_is_filled_in_parts_and_sealed_at_the_end(h: &dyn Harness) {
    let k = Kit::new(h);
    let new = k.new_batch();
    let id = new.id;
    let member = || NewJob { batch: Some(id), ..k.job() };
    k.enqueue(Enqueue { open: vec![new], jobs: vec![member()], ..Enqueue::default() }).await;
    let claimed = k.claim_one().await;
    k.complete(&claimed).await;
    assert_eq!(k.batch(id).await.state, BatchState::Processing, "more may come");
    k.put(vec![member(), member()]).await;
    k.enqueue(Enqueue { seal: vec![id], ..Enqueue::default() }).await;
    let answer = k.store.enqueue(Enqueue::jobs(vec![k.job(), member()])).await;
    assert!(matches!(answer, Err(StoreError::Invalid(_))), "{answer:?}");
    assert_eq!(k.batch(id).await.counters.total, 3);
    assert_eq!(
        k.store.counts().await.unwrap().total(State::Queued),
        2,
        "nothing of the refused call was written"
    );
    for claimed in k.claim(2).await {
        k.complete(&claimed).await;
    }
    assert_eq!(k.batch(id).await.state, BatchState::Complete);
    k.audit().await;
}

/// Making the sealing call again, after a lost answer, changes nothing: not even when the batch ended.
pub async fn sealing_again_changes_nothing(h: &dyn Harness) {
    let k = Kit::new(h);
    let new = k.new_batch();
    let id = new.id;
    let job = NewJob { batch: Some(id), ..k.job() };
    let call = Enqueue { open: vec![new], jobs: vec![job], seal: vec![id], ..Enqueue::default() };
    k.enqueue(call.clone()).await;
    let claimed = k.claim_one().await;
    k.complete(&claimed).await;
    let before = k.batch(id).await;
    k.advance(secs(100)).await;
    k.enqueue(call).await;
    k.enqueue(Enqueue { seal: vec![id], ..Enqueue::default() }).await;
    assert_eq!(k.batch(id).await, before);
    let ends = k.events(redrive_model::EventSeq(0), 4).await;
    assert_eq!(ends.iter().filter(|e| e.kind == EventKind::BatchEnded).count(), 1);
    k.audit().await;
}

/// A batch without members ends when it is sealed, and not before.
pub async fn an_empty_batch_ends_when_it_is_sealed(h: &dyn Harness) {
    let k = Kit::new(h);
    let new = k.new_batch();
    let id = new.id;
    k.enqueue(Enqueue { open: vec![new], ..Enqueue::default() }).await;
    assert_eq!(k.batch(id).await.state, BatchState::Processing);
    k.enqueue(Enqueue { seal: vec![id], ..Enqueue::default() }).await;
    let batch = k.batch(id).await;
    assert_eq!(
        (batch.state, batch.counters, batch.sealed),
        (BatchState::Complete, Counters::default(), true)
    );
    assert_eq!(k.store.batch(k.batch_id()).await.unwrap(), None);
    k.audit().await;
}

/// A batch whose jobs are all there already, in other hands, has no members of its own and ends.
pub async fn a_batch_of_nothing_but_duplicates_ends(h: &dyn Harness) {
    let k = Kit::new(h);
    let there = k.put_one(k.keyed("k")).await;
    let (id, jobs) = k.put_batch(k.new_batch(), vec![k.keyed("k"), k.keyed("k")]).await;
    assert_eq!(jobs, [there, there]);
    let batch = k.batch(id).await;
    assert_eq!((batch.state, batch.counters.total), (BatchState::Complete, 0));
    assert_eq!(k.row(there).await.batch, None);
    k.audit().await;
}

/// Retrying a member opens an ended batch again; when the member is back it ends again, by what is true then.
pub async fn a_retried_member_opens_its_batch_again(h: &dyn Harness) {
    let k = Kit::new(h);
    let (id, jobs) = k.put_batch(k.new_batch(), vec![k.job(), k.job()]).await;
    let claimed = k.claim(2).await;
    k.complete(&claimed[0]).await;
    k.fail(&claimed[1], Code::HandlerFailed).await;
    assert_eq!(k.batch(id).await.state, BatchState::Failed);
    k.audit().await;
    k.advance(secs(10)).await;
    assert_eq!(k.retry(jobs[1]).await, Acted::Done);
    let batch = k.batch(id).await;
    assert_eq!((batch.state, batch.finished_at), (BatchState::Processing, None));
    assert_eq!((batch.counters.failed, batch.counters.hard, batch.counters.ok), (0, 0, 1));
    k.audit().await;
    k.advance(secs(10)).await;
    let claimed = k.claim_one().await;
    k.complete(&claimed).await;
    let batch = k.batch(id).await;
    assert_eq!((batch.state, batch.finished_at), (BatchState::Complete, Some(k.now().await)));
    let ends = k.events(redrive_model::EventSeq(0), 11).await;
    assert_eq!(ends.iter().filter(|e| e.kind == EventKind::BatchEnded).count(), 2);
    k.audit().await;
}

/// Cancelling the members ends the batch as cancelled; those that were through stay as they are.
pub async fn a_batch_is_cancelled_by_its_members(h: &dyn Harness) {
    let k = Kit::new(h);
    let (id, jobs) = k.put_batch(k.new_batch(), vec![k.job(), k.job(), k.job()]).await;
    k.claim(1).await;
    let acted = k.store.cancel(jobs.clone(), Some(secs(60))).await.unwrap();
    assert_eq!(acted, [Acted::Done; 3]);
    let batch = k.batch(id).await;
    assert_eq!((batch.state, batch.counters.cancelled), (BatchState::Cancelled, 3));
    let (id, jobs) = k.put_batch(k.new_batch(), vec![k.job(), k.job()]).await;
    let claimed = k.claim_one().await;
    k.complete(&claimed).await;
    let acted = k.store.cancel(jobs, Some(secs(60))).await.unwrap();
    assert_eq!(acted, [Acted::WrongState(State::Complete), Acted::Done]);
    assert_eq!(k.batch(id).await.state, BatchState::Partial);
    k.audit().await;
}

/// Members that were refused at the door count as failed, hard only when their code cannot be retried.
pub async fn members_refused_at_the_door_count_as_failed(h: &dyn Harness) {
    let k = Kit::new(h);
    let members = vec![k.rejected(Code::NotPdf), k.rejected(Code::IoError), k.job()];
    let (id, _) = k.put_batch(k.new_batch(), members).await;
    let batch = k.batch(id).await;
    assert_eq!((batch.counters.failed, batch.counters.hard), (2, 1));
    assert_eq!(batch.last_failure.map(|(code, _)| code), Some(Code::IoError));
    let claimed = k.claim_one().await;
    k.complete(&claimed).await;
    assert_eq!(k.batch(id).await.state, BatchState::Failed);
    k.audit().await;
}

/// A job cannot belong to a batch that does not exist, and a batch that does not exist cannot be sealed.
pub async fn an_unknown_batch_is_refused(h: &dyn Harness) {
    let k = Kit::new(h);
    let orphan = NewJob { batch: Some(k.batch_id()), ..k.job() };
    let answer = k.store.enqueue(Enqueue::jobs(vec![k.job(), orphan])).await;
    assert!(matches!(answer, Err(StoreError::NotFound { .. })), "{answer:?}");
    let answer = k
        .store
        .enqueue(Enqueue { jobs: vec![k.job()], seal: vec![k.batch_id()], ..Enqueue::default() })
        .await;
    assert!(matches!(answer, Err(StoreError::NotFound { .. })), "{answer:?}");
    assert_eq!(k.store.counts().await.unwrap().states, []);
    k.audit().await;
}

/// Many members that end at the same moment on two handles are all counted.
pub async fn members_that_end_at_once_are_all_counted(h: &dyn Harness) {
    let k = Kit::new(h);
    let second = Kit::on(h, h.second().await);
    let (id, _) = k.put_batch(k.new_batch(), (0..40).map(|_| k.job()).collect()).await;
    let claimed = k.claim(40).await;
    let ends = claimed.iter().enumerate().map(|(n, claimed)| {
        let k = if n % 2 == 0 { &k } else { &second };
        async move {
            if n % 4 == 0 { k.fail(claimed, Code::HandlerFailed).await } else { k.complete(claimed).await }
        }
    });
    futures::future::join_all(ends).await;
    let batch = k.batch(id).await;
    assert_eq!((batch.state, batch.counters.ok, batch.counters.failed), (BatchState::Failed, 30, 10));
    k.audit().await;
}

/// What members made is added up: once for each that completed, and not at all for a finish that came too late.
pub async fn a_batch_adds_up_what_its_members_made(h: &dyn Harness) {
    let k = Kit::new(h);
    let (id, _) = k.put_batch(k.new_batch(), (0..3).map(|_| k.job()).collect()).await;
    let claimed = k.claim(3).await;
    let mut ends = Vec::new();
    for (n, claimed) in claimed.iter().enumerate() {
        let mut end = match n {
            2 => k.failure(claimed, Code::HandlerFailed).await,
            _ => k.completion(claimed).await,
        };
        end.bytes = 10_u64.pow(u32::try_from(n).unwrap()) + (1 << 40);
        ends.push(end);
    }
    k.store.finish(ends.clone()).await.unwrap();
    assert_eq!(k.batch(id).await.bytes, 11 + (2 << 40), "what failed made nothing");
    k.store.finish(ends).await.unwrap();
    assert_eq!(k.batch(id).await.bytes, 11 + (2 << 40), "saying it again adds nothing");
    k.audit().await;
}

/// Failed members are told by minute and code; one that gets another chance is no longer among them.
pub async fn a_batch_tells_what_failed_in_it_and_when(h: &dyn Harness) {
    let k = Kit::new(h);
    let refused = k.rejected(Code::NotPdf);
    let members = [vec![refused], (0..5).map(|_| k.job()).collect()].concat();
    let (id, jobs) = k.put_batch(k.new_batch(), members).await;
    let told = async || -> Vec<(Code, u64)> {
        let failures = k.store.batch_failures(id).await.unwrap();
        assert!(failures.is_sorted_by(|a, b| (a.minute, a.code.name()) < (b.minute, b.code.name())));
        failures.iter().map(|f| (f.code, f.jobs)).collect()
    };
    assert_eq!(told().await, [(Code::NotPdf, 1)]);
    let first = k.store.batch_failures(id).await.unwrap();
    let claimed = k.claim(5).await;
    k.advance(secs(61)).await;
    for claimed in &claimed[..3] {
        k.fail(claimed, Code::HandlerFailed).await;
    }
    k.advance(secs(60)).await;
    k.fail(&claimed[3], Code::HandlerFailed).await;
    assert_eq!(told().await, [(Code::NotPdf, 1), (Code::HandlerFailed, 3), (Code::HandlerFailed, 1)]);
    let failures = k.store.batch_failures(id).await.unwrap();
    assert_eq!(first, failures[..1], "what was told stays as it is");
    let apart = |a: usize, b: usize| {
        let ms = |n: usize| redrive_model::instant::to_millis(failures[n].minute);
        ms(b) - ms(a)
    };
    assert_eq!(apart(1, 2), 60_000);
    assert!(apart(0, 1) >= 60_000);
    let dead: Vec<_> = jobs[1..3].to_vec();
    k.store.retry(dead, redrive_store::RetryBy::default()).await.unwrap();
    assert_eq!(told().await, [(Code::NotPdf, 1), (Code::HandlerFailed, 1), (Code::HandlerFailed, 1)]);
    k.audit().await;
    k.store.retry(vec![jobs[3]], redrive_store::RetryBy::default()).await.unwrap();
    assert_eq!(
        told().await,
        [(Code::NotPdf, 1), (Code::HandlerFailed, 1)],
        "nothing is told of what is no more"
    );
    let listed = async |filter: JobFilter| -> Vec<JobId> {
        let page = k.store.jobs(filter, PageRequest::default()).await.unwrap();
        page.rows.iter().map(|row| row.id).collect()
    };
    let of = |shown: Vec<Shown>, code| JobFilter { batch: Some(id), shown, code, ..JobFilter::default() };
    assert_eq!(listed(of(vec![Shown::Failed], None)).await, [jobs[4], jobs[0]], "found by themselves");
    assert_eq!(listed(of(vec![], Some(Code::HandlerFailed))).await, [jobs[4]]);
    assert_eq!(listed(of(vec![Shown::Failed, Shown::Processing], None)).await.len(), 3);
    let other = k.batch_id();
    assert_eq!(k.store.batch_failures(other).await.unwrap(), []);
    k.audit().await;
}

/// Batches of a workload, newest first, in pages; an owner's own on demand.
pub async fn batches_are_listed_newest_first_and_by_owner(h: &dyn Harness) {
    let k = Kit::new(h);
    let mut ids = Vec::new();
    for n in 0..5 {
        let owner = owner(if n % 2 == 0 { "ann" } else { "bob" });
        let about = Some(format!("{{\"n\": {n}}}"));
        let new = NewBatch { owner: Some(owner), about, ..k.new_batch() };
        ids.insert(0, new.id);
        k.enqueue(Enqueue { open: vec![new], ..Enqueue::default() }).await;
        if n != 2 {
            k.advance(secs(1)).await;
        }
    }
    let other = NewBatch { workload: workload("other"), ..k.new_batch() };
    k.enqueue(Enqueue { open: vec![other], ..Enqueue::default() }).await;
    let list_as = async |by: Option<&str>, live: bool| {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let filter = BatchFilter { workload: workload("work"), owner: by.map(owner), live };
            let page = k.store.batches(filter, PageRequest { limit: 2, cursor }).await.unwrap();
            found.extend(page.rows);
            cursor = page.next;
            if cursor.is_none() {
                return found;
            }
        }
    };
    let list = async |by| list_as(by, false).await;
    let all = list(None).await;
    // Two were opened in the same instant: the later id is the newer one.
    let told: Vec<_> = all.iter().map(|row| row.id).collect();
    let mut expected = ids.clone();
    expected.sort_by_key(|id| {
        let row = all.iter().find(|row| row.id == *id).expect("listed");
        std::cmp::Reverse((row.created_at, *id))
    });
    assert_eq!((told.len(), &told), (5, &expected));
    assert_eq!(all[0], k.batch(ids[0]).await, "a row of the list is the batch's row");
    assert_eq!(all[0].about.as_deref(), Some(r#"{"n": 4}"#));
    let of_bob: Vec<_> = list(Some("bob")).await.into_iter().map(|row| row.id).collect();
    assert_eq!(of_bob, [ids[1], ids[3]]);
    assert_eq!(list(Some("eve")).await, []);
    // One without members ends when it is sealed.
    k.enqueue(Enqueue { seal: vec![ids[1]], ..Enqueue::default() }).await;
    let live = |rows: Vec<redrive_store::BatchRow>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(
        live(list_as(Some("bob"), true).await),
        [ids[3]],
        "older ones that live are found behind those that ended"
    );
    assert_eq!(list_as(None, true).await.len(), 4);
    assert_eq!(list(None).await.len(), 5);
    let cursor = Some("nonsense".to_owned());
    let filter = BatchFilter { workload: workload("work"), owner: None, live: false };
    let answer = k.store.batches(filter, PageRequest { limit: 2, cursor }).await;
    assert!(matches!(answer, Err(StoreError::Invalid(_))), "{answer:?}");
    k.audit().await;
}

/// What is kept with a batch has a largest size, and nothing of a call that goes beyond it is written.
pub async fn what_is_kept_with_a_batch_is_bounded(h: &dyn Harness) {
    let k = Kit::new(h);
    let most = redrive_model::limits::MAX_ABOUT_BYTES;
    let kept = NewBatch { about: Some("x".repeat(most)), ..k.new_batch() };
    let id = kept.id;
    k.enqueue(Enqueue { open: vec![kept], ..Enqueue::default() }).await;
    assert_eq!(k.batch(id).await.about.map(|about| about.len()), Some(most));
    let new = NewBatch { about: Some("x".repeat(most + 1)), ..k.new_batch() };
    let id = new.id;
    let call = Enqueue { open: vec![new], jobs: vec![k.job()], ..Enqueue::default() };
    let answer = k.store.enqueue(call).await;
    assert!(matches!(answer, Err(StoreError::Invalid(_))), "{answer:?}");
    assert_eq!(k.store.batch(id).await.unwrap(), None);
    k.audit().await;
}

/// Ends the only execution with a failure that could have been retried.
async fn exhaust(k: &Kit<'_>, claimed: &redrive_store::Claimed) {
    let mut finish = k.failure(claimed, Code::GwTimeout).await;
    let reason = redrive_model::decide::DeadReason::Exhausted;
    finish.step = redrive_store::Step::Fail { reason, keep: Some(secs(60)) };
    k.finish(finish).await;
}
