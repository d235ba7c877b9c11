//! The event stream: complete, in order, none skipped, and readable from any place in it.

use redrive_model::decide::Requeue;
use redrive_model::{Code, Done, EventSeq, JobId, Outcome, State, instant};
use redrive_store::{Event, EventKind, NewEvent, StoreError};

use crate::kit::{KEEP, Kit, TTL, owner, secs, workload};
use crate::{Audit, Harness};

use EventKind::{
    BatchEnded, Cancelled, Complete, Expired, Failed, Processing, Published, Queued, Reclaimed, Released,
    Retry, Snoozed,
};

/// Every transition there is leaves its event, in order, with the facts that belong to it.
pub async fn e9_every_transition_leaves_its_event(h: &dyn Harness) {
    let k = Kit::new(h);
    let job =
        redrive_store::NewJob { owner: Some(owner("ann")), max_attempts: Some(9), ..k.job_on(&["gateway"]) };
    let id = k.put_one(job).await;
    let started = k.now().await;
    let claimed = k.claim_one().await;
    k.advance(secs(3)).await;
    k.fail(&claimed, Code::GwTimeout).await;
    for outcome in
        [Outcome::Done(Done::Snooze(secs(1))), Outcome::Released, Outcome::Done(Done::RescheduleNow)]
    {
        k.advance(secs(60)).await;
        let claimed = k.claim_one().await;
        k.end(&claimed, outcome).await;
    }
    k.claim_one().await;
    k.advance(TTL).await;
    let expired = k.store.expired(None, 1).await.unwrap();
    k.reclaim(&expired[0]).await;
    k.advance(secs(60)).await;
    let claimed = k.claim_one().await;
    k.fail(&claimed, Code::HandlerFailed).await;
    k.retry(id).await;
    let claimed = k.claim_one().await;
    k.complete(&claimed).await;
    k.store.expire(vec![id]).await.unwrap();
    let stopped = k.put_n(1).await[0];
    k.cancel(stopped).await;

    let events = k.store.job_events(id).await.unwrap();
    let kinds: Vec<_> = events.iter().map(|e| e.kind).collect();
    let pairs = [Retry, Snoozed, Released, Queued, Reclaimed, Failed].map(|end| [Processing, end]).concat();
    assert_eq!(kinds, [vec![Queued], pairs, vec![Queued, Processing, Complete, Expired]].concat());
    let (start, end) = (&events[1], &events[2]);
    assert_eq!((start.at, end.at, end.duration_ms), (started, instant::after(started, secs(3)), Some(3_000)));
    assert_eq!((start.code, end.code, end.attempt, end.generation), (None, Some(Code::GwTimeout), 1, 1));
    assert!(events.iter().all(|e| e.workload == Some(workload("work")) && e.owner == Some(owner("ann"))));
    assert_eq!(events.iter().map(|e| e.generation).filter(|g| *g == 2).count(), 4);
    // The stream is the same as the story of the jobs.
    let stream = k.events(EventSeq(0), events.len() + 2).await;
    assert_eq!(stream[..events.len()], events[..]);
    assert_eq!(stream[events.len()..].iter().map(|e| e.kind).collect::<Vec<_>>(), [Queued, Cancelled]);
    k.audit().await;
}

/// Each way back to the queue is told by its own word with the attempt, and by its kind in the stream.
pub async fn a_requeue_is_told_by_its_kind(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_one(k.job_on(&["gateway"])).await;
    let mut expected = vec![Queued];
    for code in [Code::GwThrottled, Code::DiskFull] {
        k.advance(secs(3_600)).await;
        let claimed = k.claim_one().await;
        k.fail(&claimed, code).await;
        let why = if code == Code::DiskFull { Requeue::Environment } else { Requeue::Throttle };
        expected.extend([Processing, EventKind::of_requeue(why)]);
    }
    let kinds: Vec<_> = k.store.job_events(id).await.unwrap().iter().map(|e| e.kind).collect();
    assert_eq!(kinds, expected);
    let words: Vec<_> = k.store.attempts(id).await.unwrap().into_iter().map(|a| a.outcome).collect();
    assert_eq!(words, [Requeue::Throttle.as_str(), Requeue::Environment.as_str()]);
    k.audit().await;
}

/// A reader that goes on from any place, in steps of any size, sees every event exactly once and in order.
pub async fn a_reader_skips_no_event_whatever_its_steps(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_n(7).await;
    for (n, claimed) in k.claim(7).await.iter().enumerate() {
        let code = if n % 2 == 0 { Code::HandlerFailed } else { Code::GwTimeout };
        k.fail(claimed, code).await;
    }
    let all = k.events(EventSeq(0), 7 + 14).await;
    assert!(all.windows(2).all(|pair| pair[0].seq < pair[1].seq), "{all:#?}");
    assert_eq!(k.store.last_event().await.unwrap(), all.last().unwrap().seq);
    for step in [1, 2, 3, 5, 1_000] {
        let (mut at, mut seen) = (EventSeq(0), Vec::new());
        loop {
            let part = k.store.events_after(at, step).await.unwrap();
            assert!(part.len() <= step);
            let Some(last) = part.last() else { break };
            at = last.seq;
            seen.extend(part);
        }
        assert_eq!(seen, all, "in steps of {step}");
    }
    // Somebody who stands between the start and the end of an attempt gets the end.
    for (n, event) in all.iter().enumerate() {
        let rest = k.store.events_after(event.seq, 1_000).await.unwrap();
        assert_eq!(rest, all[n + 1..], "behind {event:#?}");
    }
    assert_eq!(k.store.events_after(EventSeq(0), 0).await.unwrap(), []);
    assert_eq!(k.store.events_after(all.last().unwrap().seq, 10).await.unwrap(), []);
    k.audit().await;
}

/// Readers on another handle, while writers are busy, see each job's start and end together, once, and in order.
pub async fn a_reader_beside_busy_writers_misses_nothing(h: &dyn Harness) {
    let k = Kit::new(h);
    let second = h.second().await;
    const JOBS: usize = 120;
    let write = async {
        for _ in 0..JOBS / 10 {
            k.put_n(10).await;
            let work = k.claim(10).await;
            futures::future::join_all(work.iter().map(|claimed| k.complete(claimed))).await;
        }
    };
    let read = async {
        let (mut at, mut seen): (_, Vec<Event>) = (EventSeq(0), Vec::new());
        let deadline = std::time::Instant::now() + secs(60);
        while seen.len() < JOBS * 3 {
            let part = second.events_after(at, 17).await.unwrap();
            at = part.last().map_or(at, |e| e.seq);
            seen.extend(part);
            assert!(std::time::Instant::now() < deadline, "{} events came", seen.len());
            tokio::task::yield_now().await;
        }
        seen
    };
    let ((), seen) = futures::join!(write, read);
    assert!(seen.windows(2).all(|pair| pair[0].seq < pair[1].seq));
    let of = |id: JobId| seen.iter().filter(|e| e.job == Some(id)).map(|e| e.kind).collect::<Vec<_>>();
    for id in seen.iter().filter(|e| e.kind == Queued).filter_map(|e| e.job) {
        assert_eq!(of(id), [Queued, Processing, Complete]);
    }
    k.audit().await;
}

/// Retention removes events from the oldest on; a reader that stands before them is told, never shown a gap.
pub async fn a_reader_that_fell_behind_is_told_that_events_are_gone(h: &dyn Harness) {
    let k = Kit::new(h);
    k.put_n(3).await;
    for claimed in k.claim(3).await {
        k.complete(&claimed).await;
    }
    let all = k.events(EventSeq(0), 9).await;
    assert_eq!(k.store.purge_events(EventSeq(0), 100).await.unwrap(), 0);
    assert_eq!(k.store.purge_events(all[2].seq, 2).await.unwrap(), 2, "no more than asked for");
    assert_eq!(k.store.purge_events(all[2].seq, 100).await.unwrap(), 1);
    for before in [EventSeq(0), all[0].seq, all[1].seq] {
        match k.store.events_after(before, 100).await {
            Err(StoreError::EventsGone { oldest }) => assert!(oldest > all[2].seq && oldest <= all[3].seq),
            other => panic!("behind {before}: {other:?}"),
        }
    }
    assert_eq!(k.events(all[2].seq, 6).await, all[3..], "who had seen what was removed goes on");
    // The newest one always stays, so that a reader can always tell where it is.
    k.store.purge_events(EventSeq(i64::MAX), 100).await.unwrap();
    assert_eq!(k.store.last_event().await.unwrap(), all[8].seq);
    assert_eq!(k.store.events_after(all[8].seq, 10).await.unwrap(), []);
    let new = k.put_n(1).await[0];
    let next = k.events(all[8].seq, 1).await;
    assert_eq!((next[0].job, next[0].seq > all[8].seq), (Some(new), true));
    Audit { events: false, ..Audit::default() }.run(&*k.store).await;
}

/// Retention beside a slow reader: it gets the next event or is told that it is gone, at no moment a later one.
pub async fn a_purge_beside_a_reader_never_hides_a_gap(h: &dyn Harness) {
    let k = Kit::new(h);
    let second = h.second().await;
    const ROUNDS: u32 = 150;
    let write = async {
        for round in 0..ROUNDS {
            let numbered =
                |n: u32| NewEvent { topic: "n".into(), payload: (round * 10 + n).to_be_bytes().to_vec() };
            k.store.publish((0..10).map(numbered).collect()).await.unwrap();
            let newest = k.store.last_event().await.unwrap();
            k.store.purge_events(newest, 1_000).await.unwrap();
        }
    };
    let read = async {
        let (mut at, mut next) = (EventSeq(0), None);
        let deadline = std::time::Instant::now() + secs(60);
        while next != Some(ROUNDS * 10) {
            match second.events_after(at, 2).await {
                Ok(events) => {
                    for event in events {
                        let number = u32::from_be_bytes(event.payload.unwrap().try_into().unwrap());
                        assert_eq!(number, next.unwrap_or(number), "an event was skipped in silence");
                        (at, next) = (event.seq, Some(number + 1));
                    }
                }
                Err(StoreError::EventsGone { oldest }) => {
                    (at, next) = (EventSeq(oldest.0 - 1), None);
                }
                Err(other) => panic!("{other:?}"),
            }
            assert!(std::time::Instant::now() < deadline, "at {at}, {next:?} is next");
            tokio::task::yield_now().await;
        }
    };
    futures::join!(write, read);
    k.audit().await;
}

/// Users' own events stand in the same stream, in the order they were given, with their bytes as they were.
pub async fn published_events_stand_in_the_stream(h: &dyn Harness) {
    let k = Kit::new(h);
    let event = |topic: &str, payload: &[u8]| NewEvent { topic: topic.into(), payload: payload.to_vec() };
    let id = k.put_n(1).await[0];
    k.store.publish(vec![event("a", b"\0\xff1"), event("b", b"")]).await.unwrap();
    k.store.publish(Vec::new()).await.unwrap();
    k.put_n(1).await;
    let all = k.events(EventSeq(0), 4).await;
    assert_eq!(all.iter().map(|e| e.kind).collect::<Vec<_>>(), [Queued, Published, Published, Queued]);
    let own: Vec<_> = all[1..3].iter().map(|e| (e.topic.as_deref(), e.payload.as_deref())).collect();
    assert_eq!(own, [(Some("a"), Some(&b"\0\xff1"[..])), (Some("b"), Some(&b""[..]))]);
    assert!(all[1..3].iter().all(|e| e.job.is_none() && e.at == all[0].at));
    assert_eq!(k.store.job_events(id).await.unwrap().len(), 1);
    k.audit().await;
}

/// The end of a batch is an event behind the end of its last member, and it tells which batch.
pub async fn the_end_of_a_batch_is_an_event(h: &dyn Harness) {
    let k = Kit::new(h);
    let new = redrive_store::NewBatch { owner: Some(owner("ann")), ..k.new_batch() };
    let (batch, _) = k.put_batch(new, vec![k.job(), k.job()]).await;
    for claimed in k.claim(2).await {
        k.complete(&claimed).await;
    }
    let all = k.events(EventSeq(0), 7).await;
    let kinds: Vec<_> = all.iter().map(|e| e.kind).collect();
    assert_eq!(kinds, [Queued, Queued, Processing, Complete, Processing, Complete, BatchEnded]);
    assert_eq!((all[6].batch, all[6].job, all[6].owner.clone()), (Some(batch), None, Some(owner("ann"))));
    assert_eq!(all[6].workload, Some(workload("work")));
    k.audit().await;
}

/// After its row was purged, an event keeps the job's id and forgets workload and owner.
pub async fn an_event_outlives_its_job(h: &dyn Harness) {
    let k = Kit::new(h);
    let id = k.put_one(redrive_store::NewJob { owner: Some(owner("ann")), ..k.job() }).await;
    k.cancel(id).await;
    k.advance(KEEP).await;
    k.store.purge(redrive_store::Purge { after: None, scan: 10 }).await.unwrap();
    assert_eq!(k.store.job(id).await.unwrap(), None);
    let all = k.events(EventSeq(0), 2).await;
    assert_eq!(all.iter().map(|e| e.kind).collect::<Vec<_>>(), [Queued, Cancelled]);
    assert!(all.iter().all(|e| e.job == Some(id) && e.workload.is_none() && e.owner.is_none()));
    assert_eq!(k.store.counts().await.unwrap().total(State::Cancelled), 0);
    k.audit().await;
}
