//! What people do to jobs: cancel, reschedule, give up, pause.

use std::time::Duration;

use redrive_model::{Code, Outcome, Shown, State, Timestamp};
use redrive_store::{Acted, Claim, ClaimMode, Extension, Finished, NewJob, When};

use crate::Harness;
use crate::kit::{KEEP, Kit, TTL, secs, workload};

/// What waits or runs is cancelled; what has ended says how it ended; what is unknown says that.
pub async fn cancel_stops_what_waits_or_runs(h: &dyn Harness) {
    let k = Kit::new(h);
    let dead = k.put_dead(vec![k.job()]).await[0];
    let done = k.put_n(1).await[0];
    let claimed = k.claim_one().await;
    k.complete(&claimed).await;
    let runs = k.put_n(1).await[0];
    let running = k.claim_one().await;
    let waits = k.put_n(1).await[0];
    let unknown = k.id();
    k.advance(secs(2)).await;
    let acted = k.store.cancel(vec![waits, runs, done, dead, unknown, waits], Some(KEEP)).await.unwrap();
    let wrong = |state| Acted::WrongState(state);
    let expected = [
        Acted::Done,
        Acted::Done,
        wrong(State::Complete),
        wrong(State::Failed),
        Acted::NotFound,
        wrong(State::Cancelled),
    ];
    assert_eq!(acted, expected);
    for id in [waits, runs] {
        let row = k.row(id).await;
        assert_eq!((row.state, row.finished_at), (State::Cancelled, Some(k.now().await)));
        assert_eq!(row.purge_at, Some(k.later(KEEP).await));
    }
    // The worker that had it is told, and its end is noted, not taken.
    let answer = k.store.extend(k.worker(1), vec![running.lease], TTL).await.unwrap();
    assert_eq!(answer, [Extension::Lost]);
    let late = k.completion(&running).await;
    assert_eq!(k.finish(late).await, Finished::Lost);
    let attempt = &k.store.attempts(runs).await.unwrap()[0];
    assert_eq!((attempt.outcome.as_str(), attempt.late.as_deref()), ("cancelled", Some("complete")));
    assert_eq!((attempt.number, attempt.worker), (1, Some(k.worker(1))));
    assert_eq!(k.claim(9).await, []);
    k.audit().await;
}

/// Waiting jobs get another due time; nothing else does.
pub async fn reschedule_moves_what_waits(h: &dyn Harness) {
    let k = Kit::new(h);
    let runs = k.put_n(1).await[0];
    k.claim_one().await;
    let first = k.put_n(1).await[0];
    let second = k.put_one(NewJob { when: When::In(secs(100)), ..k.job() }).await;
    let acted = k.store.reschedule(vec![first, runs, k.id()], k.later(secs(50)).await).await.unwrap();
    assert_eq!(acted, [Acted::Done, Acted::WrongState(State::Processing), Acted::NotFound]);
    assert_eq!((k.claim(9).await, k.row(first).await.shown), (Vec::new(), Shown::Scheduled));
    assert_eq!(k.store.next_due().await.unwrap(), Some(k.later(secs(50)).await));
    k.store.reschedule(vec![second], k.now().await).await.unwrap();
    assert_eq!(k.claim_ids(9).await, [second]);
    k.store.reschedule(vec![first], Timestamp::MIN).await.unwrap();
    assert_eq!(k.row(first).await.due_at, k.now().await, "a due time in the past is now");
    assert_eq!(k.claim_ids(9).await, [first]);
    k.audit().await;
}

/// The next due time is the earliest of all waiting jobs, and nothing when nothing waits.
pub async fn the_next_due_time_is_the_earliest(h: &dyn Harness) {
    let k = Kit::new(h);
    assert_eq!(k.store.next_due().await.unwrap(), None);
    for (wait, names) in [(30, &["gateway"][..]), (10, &[]), (20, &["disk"])] {
        k.put_one(NewJob { when: When::In(secs(wait)), ..k.job_on(names) }).await;
    }
    assert_eq!(k.store.next_due().await.unwrap(), Some(k.later(secs(10)).await));
    k.advance(secs(10)).await;
    let claimed = k.claim_one().await;
    assert_eq!(k.store.next_due().await.unwrap(), Some(k.later(secs(10)).await));
    k.fail(&claimed, Code::GwTimeout).await;
    assert_eq!(k.store.next_due().await.unwrap(), Some(k.later(secs(5)).await));
    k.put_n(3).await;
    assert_eq!(
        k.store.next_due().await.unwrap(),
        Some(k.later(secs(5)).await),
        "what is due already is not awaited"
    );
    k.audit().await;
}

/// Whether a job that must run alone waits is known without claiming it.
pub async fn a_job_that_waits_to_run_alone_is_seen(h: &dyn Harness) {
    let k = Kit::new(h);
    let ours = [workload("work"), workload("nobody.has.it")];
    let waits = async || k.store.waits_alone(&ours).await.unwrap();
    k.put_n(1).await;
    assert!(!waits().await);
    for _ in 0..2 {
        let claimed = k.claim_one().await;
        k.end(&claimed, Outcome::Crashed).await;
        k.advance(secs(3_600)).await;
    }
    assert!(waits().await, "the second crash moved it");
    assert!(!k.store.waits_alone(&[workload("other")]).await.unwrap());
    assert!(!k.store.waits_alone(&[]).await.unwrap());
    let alone = k.claim_with(Claim { mode: ClaimMode::Alone, ..k.ask(1) }).await;
    assert_eq!(alone.len(), 1);
    assert!(!waits().await);
}

/// Waiting for work ends by itself after its time, and much earlier when work comes in on any handle.
pub async fn waiting_for_work_ends_when_there_is_some(h: &dyn Harness) {
    let k = Kit::new(h);
    k.store.wait_for_work(Duration::from_millis(20)).await;
    let second = h.second().await;
    let started = std::time::Instant::now();
    // A hint may get lost, so work keeps coming until somebody has noticed.
    let producer = async {
        loop {
            k.put_n(1).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        () = second.wait_for_work(secs(60)) => {}
        () = producer => {}
    }
    // No audit here: the last enqueue was abandoned on its way and may be committed at any moment.
    assert!(started.elapsed() < secs(30), "nobody was told");
}

/// Pausing and resuming twice is the same as once; a pause of something unknown is kept; all is all.
pub async fn o10_pauses_can_be_repeated_and_cover_one_or_all(h: &dyn Harness) {
    let k = Kit::new(h);
    let work = k.put_one(k.job()).await;
    let other = k.put_one(k.job_of("other")).await;
    assert_eq!(k.store.paused().await.unwrap(), Vec::<String>::new());
    for _ in 0..2 {
        k.store.pause(Some(&workload("work")), "ann").await.unwrap();
        k.store.pause(Some(&workload("nobody.knows")), "ann").await.unwrap();
    }
    let mut paused = k.store.paused().await.unwrap();
    paused.sort_unstable();
    assert_eq!(paused, ["nobody.knows", "work"]);
    assert_eq!(k.claim_ids(9).await, [other]);
    for _ in 0..2 {
        k.store.pause(None, "bob").await.unwrap();
        k.store.resume(Some(&workload("work"))).await.unwrap();
        k.store.resume(Some(&workload("nobody.knows"))).await.unwrap();
        k.store.resume(Some(&workload("never.paused"))).await.unwrap();
    }
    assert_eq!(k.store.paused().await.unwrap(), [""]);
    assert_eq!(k.claim(9).await, []);
    k.store.resume(None).await.unwrap();
    assert_eq!(k.store.paused().await.unwrap(), Vec::<String>::new());
    assert_eq!(k.claim_ids(9).await, [work]);
    k.audit().await;
}

/// A pause keeps everything: what runs may end, what waits keeps its time and its attempts, new work is accepted.
pub async fn s4_a_pause_keeps_what_is_there(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_n(1).await;
    let running = k.claim_one().await;
    let later = k.put_one(NewJob { when: When::In(secs(10)), ..k.job() }).await;
    k.store.pause(None, "ann").await.unwrap();
    let new = k.put_n(1).await[0];
    let held = k.store.extend(k.worker(1), vec![running.lease], TTL).await.unwrap();
    assert!(matches!(held[0], Extension::Held(_)));
    k.advance(secs(30)).await;
    k.complete(&running).await;
    assert_eq!(k.claim(9).await, []);
    let row = k.row(later).await;
    assert_eq!((row.state, row.attempt, row.shown), (State::Queued, 0, Shown::Queued));
    k.store.resume(None).await.unwrap();
    assert_eq!(k.claim_ids(9).await, [new, later]);
    k.audit().await;
}

/// A pause is seen by every handle at its next claim.
pub async fn a_pause_holds_for_everybody(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_n(1).await[0];
    let second = h.second().await;
    k.store.pause(Some(&workload("work")), "ann").await.unwrap();
    assert_eq!(second.claim(k.ask(1)).await.unwrap(), []);
    second.resume(Some(&workload("work"))).await.unwrap();
    assert_eq!(k.claim_ids(1).await, [id]);
    k.audit().await;
}
