//! Storage and store that fail while a manifest is accepted: three quick tries, then nothing is left of it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use redrive_blob::{BlobsExt as _, Key, Point, Seam};
use redrive_engine::Code;
use redrive_engine::store::{JobFilter, PageRequest, Store};
use redrive_fetch::AcceptError;
use redrive_lab::faulty::{Fault, Faulty, Plan};

use super::kit::{Kit, NDJSON, lines, of_ann, stores};

/// Fails the first so many times at a step.
struct Fails(Point, AtomicUsize);

impl Seam for Fails {
    fn before(&self, point: Point) -> io::Result<()> {
        let left = point == self.0
            && self.1.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        if left { Err(io::Error::other("sector 7")) } else { Ok(()) }
    }
}

async fn kit(store: Arc<dyn Store>, point: Point, times: usize, held: usize) -> Kit {
    let seam = Arc::new(Fails(point, AtomicUsize::new(times)));
    Kit::with(store, seam, |options| options.limits.held_resources = held).await
}

async fn jobs(store: &dyn Store) -> usize {
    store.jobs(JobFilter::default(), PageRequest { limit: 200, cursor: None }).await.unwrap().rows.len()
}

#[tokio::test]
async fn storage_that_fails_twice_is_asked_a_third_time() {
    for point in [Point::WriteTemp, Point::SyncTemp, Point::Rename] {
        let store = stores().await.remove(0);
        let kit = kit(store, point, 2, 10_000).await;
        let accepted = kit.accept(&lines(50), NDJSON, of_ann(None)).await.unwrap();
        assert_eq!((kit.row(accepted.batch).await.counters.total, kit.kept().await), (50, 1), "{point:?}");
    }
}

#[tokio::test]
async fn storage_that_goes_on_failing_is_unavailable_and_nothing_is_half_accepted() {
    for (point, held) in [
        (Point::WriteTemp, 10_000),
        (Point::Rename, 10_000),
        (Point::WriteTemp, 10),
        (Point::SyncTemp, 10),
        (Point::Rename, 10),
    ] {
        let store = stores().await.remove(0);
        let kit = kit(store, point, usize::MAX, held).await;
        match kit.accept(&lines(50), NDJSON, of_ann(Some("k"))).await {
            Err(AcceptError::Unavailable(failure)) => assert_eq!(failure.code, Code::StorageUnavailable),
            other => panic!("{other:?}"),
        }
        assert_eq!((jobs(&*kit.store).await, kit.kept().await, kit.temps()), (0, 0, 0), "{point:?} {held}");
    }
}

#[tokio::test]
async fn a_store_that_fails_once_or_loses_its_answer_is_asked_again() {
    for store in stores().await {
        for (n, fault) in [Fault::Refused, Fault::AnswerLost].into_iter().enumerate() {
            for held in [10, 10_000] {
                for key in [None, Some(format!("{n}-{held}"))] {
                    let faulty =
                        Arc::new(Faulty::new(store.clone(), Plan { verb: "enqueue", nth: 1, fault }));
                    let kit = Kit::holding(faulty.clone(), held).await;
                    let before = jobs(&*store).await;
                    let accepted = kit.accept(&lines(20), NDJSON, of_ann(key.as_deref())).await.unwrap();
                    assert!(faulty.happened());
                    let row = kit.row(accepted.batch).await;
                    let expected = if held == 10 { (0, 1) } else { (20, 20) };
                    assert_eq!((row.counters.total, jobs(&*store).await - before), expected);
                    assert_eq!(kit.kept().await, 1);
                }
            }
        }
    }
}

#[tokio::test]
async fn a_store_that_stays_away_is_unavailable_and_nothing_is_left() {
    for store in stores().await {
        // One behind the other, they refuse three calls in a row.
        let plan = Plan { verb: "enqueue", nth: 1, fault: Fault::Refused };
        let away = (0..3).fold(store.clone(), |store, _| Arc::new(Faulty::new(store, plan)));
        let kit = Kit::on(away).await;
        match kit.accept(&lines(20), NDJSON, of_ann(None)).await {
            Err(AcceptError::Unavailable(failure)) => assert_eq!(failure.code, Code::SystemUnavailable),
            other => panic!("{other:?}"),
        }
        assert_eq!((jobs(&*store).await, kit.kept().await, kit.temps()), (0, 0, 0));
    }
}

/// A store whose first enqueue is done without being heard of, and whose next two are refused.
fn unheard_then_away(store: Arc<dyn Store>) -> Arc<dyn Store> {
    let plan = |nth, fault| Plan { verb: "enqueue", nth, fault };
    let away = Arc::new(Faulty::new(store, plan(2, Fault::Refused)));
    let away = Arc::new(Faulty::new(away, plan(2, Fault::Refused)));
    Arc::new(Faulty::new(away, plan(1, Fault::AnswerLost)))
}

#[tokio::test]
async fn a_manifest_whose_answer_was_lost_is_accepted_though_later_tries_were_refused() {
    for store in stores().await {
        for held in [10, 10_000] {
            let kit = Kit::holding(unheard_then_away(store.clone()), held).await;
            let accepted = kit.accept(&lines(20), NDJSON, of_ann(None)).await.unwrap();
            let expected = if held == 10 { 0 } else { 20 };
            assert_eq!((kit.row(accepted.batch).await.counters.total, kit.kept().await), (expected, 1));
        }
    }
}

#[tokio::test]
async fn a_manifest_that_may_have_been_accepted_is_kept_and_found_by_its_key() {
    for store in stores().await {
        for held in [10, 10_000] {
            let gone = Plan { verb: "batch", nth: 1, fault: Fault::Refused };
            let away = Arc::new(Faulty::new(unheard_then_away(store.clone()), gone));
            let kit = Kit::holding(away, held).await;
            let key = format!("unheard-{held}");
            match kit.accept(&lines(20), NDJSON, of_ann(Some(&key))).await {
                Err(AcceptError::Unavailable(failure)) => assert_eq!(failure.code, Code::SystemUnavailable),
                other => panic!("{other:?}"),
            }
            assert_eq!(kit.kept().await, 1, "its batch may be there");
            let again = kit.accept(&lines(20), NDJSON, of_ann(Some(&key))).await.unwrap();
            assert!(again.replayed);
            assert_eq!(kit.kept().await, 1, "the one that the batch points at");
            kit.blobs.hash(&Key::parse(&again.manifest_key).unwrap()).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_manifest_stays_where_nobody_can_say_that_there_is_no_batch() {
    let plan = |verb| Plan { verb, nth: 1, fault: Fault::Refused };
    let store = stores().await.remove(0);
    let away = (0..3).fold(store, |store, _| Arc::new(Faulty::new(store, plan("enqueue"))));
    let kit = Kit::on(Arc::new(Faulty::new(away, plan("batch")))).await;
    let refused = kit.accept(&lines(20), NDJSON, of_ann(None)).await;
    assert!(matches!(refused, Err(AcceptError::Unavailable(_))), "{refused:?}");
    assert_eq!(kit.kept().await, 1, "the sweeper finds out");
}

#[tokio::test]
async fn when_the_last_answer_is_lost_what_is_there_decides() {
    for store in stores().await {
        let lost = Plan { verb: "enqueue", nth: 3, fault: Fault::AnswerLost };
        let refused = |nth| Plan { verb: "enqueue", nth, fault: Fault::Refused };
        let wire: Arc<dyn Store> = Arc::new(Faulty::new(store.clone(), Plan { nth: 1, ..lost }));
        let wire: Arc<dyn Store> = Arc::new(Faulty::new(wire, refused(1)));
        let kit = Kit::on(Arc::new(Faulty::new(wire, refused(1)))).await;
        let accepted = kit.accept(&lines(20), NDJSON, of_ann(None)).await.unwrap();
        assert_eq!((kit.row(accepted.batch).await.counters.total, kit.kept().await), (20, 1));
    }
}
