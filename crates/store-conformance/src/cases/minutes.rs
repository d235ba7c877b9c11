//! What happened, counted by minute: each event once, whoever counts, in steps that both databases share.

use std::collections::BTreeMap;
use std::time::Duration;

use redrive_model::{Code, Timestamp, instant};
use redrive_store::{EventKind, KEEP_MINUTES, MINUTES_READER, MinuteRow, STEPS_MS, Store};
use tokio::time::Instant;

use crate::Harness;
use crate::kit::{Kit, secs, workload};

const PATIENCE: Duration = Duration::from_secs(20);

/// Counts until so many rows of events were gone over: on Postgres readers may have to wait for others.
async fn count(store: &dyn Store, rows: usize, at_once: usize) {
    let (mut counted, deadline) = (0, Instant::now() + PATIENCE);
    while counted < rows {
        assert!(Instant::now() < deadline, "{counted} of {rows} rows were counted");
        match store.roll_up(at_once).await.unwrap() {
            0 => tokio::time::sleep(Duration::from_millis(5)).await,
            n => counted += n,
        }
    }
    assert_eq!(counted, rows);
    assert_eq!(store.roll_up(at_once).await.unwrap(), 0, "nothing is left");
}

/// The minute that an instant is in.
fn minute(at: Timestamp) -> Timestamp {
    instant::from_millis(instant::to_millis(at).div_euclid(60_000) * 60_000)
}

type Brief = (u32, String, &'static str, Option<Code>, u64);

fn brief(rows: &[MinuteRow]) -> Vec<Brief> {
    let row = |row: &MinuteRow| (row.slot, row.workload.to_string(), row.kind.as_str(), row.code, row.jobs);
    rows.iter().map(row).collect()
}

/// Arrivals, successes, retries and failures are counted in the minute in which they happened, by workload and code.
pub async fn what_happened_is_counted_by_minute(h: &dyn Harness) {
    let k = Kit::new(h);
    let since = minute(k.now().await);
    h.set_clock(instant::after(since, secs(10))).await;
    k.put(vec![k.job(), k.job(), k.job_of("other")]).await;
    let claimed = k.claim(10).await;
    let other = claimed.iter().find(|one| one.workload == workload("other")).unwrap();
    let work: Vec<_> = claimed.iter().filter(|one| one.workload == workload("work")).collect();
    k.complete(work[0]).await;
    h.set_clock(instant::after(since, secs(70))).await;
    k.fail(work[1], Code::GwTimeout).await;
    k.fail(other, Code::HandlerFailed).await;
    count(&*k.store, 6, 4).await;
    let counted = k.store.minutes(since, 1).await.unwrap();
    assert_eq!(
        brief(&counted),
        [
            (0, "other".into(), "queued", None, 1),
            (0, "work".into(), "complete", None, 1),
            (0, "work".into(), "queued", None, 2),
            (1, "other".into(), "failed", Some(Code::HandlerFailed), 1),
            (1, "work".into(), "retry", Some(Code::GwTimeout), 1),
        ]
    );
    assert!(counted.iter().all(|row| row.took_ms.is_some() == (row.kind == EventKind::Complete)));
    let both = k.store.minutes(since, 2).await.unwrap();
    assert!(both.iter().all(|row| row.slot == 0), "{both:?}");
    assert_eq!(brief(&k.store.minutes(instant::after(since, secs(60)), 1).await.unwrap()).len(), 2);
    k.audit().await;
}

/// A job that goes back to the queue is no arrival; one that is started again by hand is one.
pub async fn only_what_is_handed_in_is_an_arrival(h: &dyn Harness) {
    let k = Kit::new(h);
    let since = minute(k.now().await);
    let dead = k.put_dead(vec![k.job()]).await;
    k.retry(dead[0]).await;
    let claimed = k.claim_one().await;
    k.end(&claimed, redrive_model::Outcome::Done(redrive_model::Done::RescheduleIn(secs(5)))).await;
    count(&*k.store, 4, 100).await;
    let counted = k.store.minutes(since, 60).await.unwrap();
    let arrivals: u64 = counted.iter().filter(|row| row.kind == EventKind::Queued).map(|row| row.jobs).sum();
    assert_eq!(arrivals, 2, "{counted:?}");
}

/// How long a completed attempt took is one of the steps, at its border and behind it.
pub async fn how_long_attempts_took_is_counted_in_steps(h: &dyn Harness) {
    let k = Kit::new(h);
    let since = minute(k.now().await);
    let mut expected = BTreeMap::<i64, u64>::new();
    let (last, steps) = STEPS_MS.split_last().unwrap();
    for (place, step) in steps.iter().enumerate() {
        let behind = steps.get(place + 1).unwrap_or(last);
        for (took, counts_as) in [(*step, *step), (*step + 1, *behind)] {
            k.put_one(k.job()).await;
            let claimed = k.claim_one().await;
            k.advance(Duration::from_millis(took.unsigned_abs())).await;
            k.complete(&claimed).await;
            *expected.entry(counts_as).or_default() += 1;
        }
    }
    count(&*k.store, steps.len() * 4, 1_000).await;
    let mut counted = BTreeMap::<i64, u64>::new();
    for row in k.store.minutes(since, 24 * 60).await.unwrap() {
        if let Some(took) = row.took_ms {
            *counted.entry(took).or_default() += row.jobs;
        }
    }
    assert_eq!(counted, expected);
}

/// Many who count at the same time count each event once, and the place up to which it was counted is a reader's.
pub async fn many_who_count_at_once_count_each_event_once(h: &dyn Harness) {
    let k = Kit::new(h);
    let since = minute(k.now().await);
    let second = h.second().await;
    k.put_n(60).await;
    let newest = k.events(redrive_model::EventSeq(0), 60).await.last().unwrap().seq;
    let deadline = Instant::now() + PATIENCE;
    let counting = |store: std::sync::Arc<dyn Store>| async move {
        loop {
            store.roll_up(7).await.unwrap();
            let marks = store.settings(MINUTES_READER).await.unwrap();
            if marks.first().is_some_and(|mark| mark.value == newest.to_string()) {
                return;
            }
            assert!(Instant::now() < deadline, "{marks:?} of {newest}");
            tokio::task::yield_now().await;
        }
    };
    futures::future::join_all([
        counting(k.store.clone()),
        counting(second.clone()),
        counting(k.store.clone()),
        counting(second),
    ])
    .await;
    let counted = k.store.minutes(since, 60).await.unwrap();
    assert_eq!(brief(&counted), [(0, "work".into(), "queued", None, 60)]);
}

/// Counts go when they are older than they are kept.
pub async fn counts_of_minutes_are_kept_for_a_day(h: &dyn Harness) {
    let k = Kit::new(h);
    let since = minute(k.now().await);
    k.put_n(3).await;
    count(&*k.store, 3, 10).await;
    k.advance(KEEP_MINUTES - secs(3600)).await;
    k.put_n(1).await;
    count(&*k.store, 1, 10).await;
    assert_eq!(k.store.minutes(since, 60).await.unwrap().len(), 2, "both are kept");
    k.advance(secs(2 * 3600)).await;
    k.put_n(1).await;
    count(&*k.store, 1, 10).await;
    let left = k.store.minutes(since, 60).await.unwrap();
    assert_eq!(left.iter().map(|row| row.jobs).collect::<Vec<_>>(), [1, 1], "{left:?}");
}
