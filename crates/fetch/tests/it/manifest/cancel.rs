//! Cancelling a batch, also while it is being unpacked: every resource is counted once and named.

use std::sync::Arc;
use std::time::Duration;

use redrive_engine::model::batch::Counters;
use redrive_engine::model::{BatchState, State, instant};
use redrive_engine::store::{Acted, JobFilter, JobRow, PageRequest, RetryBy};
use redrive_engine::{By, Code, Engine, WorkloadName};
use redrive_fetch::{Canceller, Starter, Unpacker};
use redrive_lab::faulty::{Fault, Faulty, Plan};

use super::kit::{Kit, NDJSON, eventually, lines, numbers, of_ann, stores};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_batch_stops_what_has_not_ended_and_says_by_whom() {
    for store in stores().await {
        let kit = Kit::on(store).await;
        let text = lines(2_500).replace("yes-1", "slow-1");
        let accepted = kit.accept(&text, NDJSON, of_ann(None)).await.unwrap();
        kit.register();
        let running = kit.engine.start();
        // All of it is unpacked, so that what is stopped is what the act says.
        let unpacked = |counters: Counters| counters.ok > 10 && counters.total == 2_500;
        eventually(async || unpacked(kit.row(accepted.batch).await.counters).then_some(())).await;
        let by = By::new("ann").because("enough");
        kit.manifests.cancel(accepted.batch, &by).await.unwrap();
        // Asking twice is one act, unless it is over by then.
        if let Err(refused) = kit.manifests.cancel(accepted.batch, &by).await {
            assert_eq!(refused.code(), Code::ConflictState);
        }
        let row = kit.ended(accepted.batch).await;
        let c = row.counters;
        assert_eq!(c.ok + c.failed + c.cancelled, 2_500, "{c:?}");
        assert!(c.cancelled > 0);
        assert_eq!(kit.missing_ids(accepted.batch).await.len() as u64, c.failed + c.cancelled);
        let refused = kit.manifests.cancel(accepted.batch, &by).await.unwrap_err();
        assert_eq!(refused.code(), Code::ConflictState);
        let act = eventually(async || {
            let acts = kit
                .store
                .acts(redrive_engine::store::ActFilter::default(), PageRequest::default())
                .await
                .unwrap()
                .rows;
            acts.into_iter().find(|act| act.outcome.is_some())
        })
        .await;
        assert_eq!((act.act.actor.as_str(), act.act.action.as_str()), ("ann", "batch.cancel"));
        assert_eq!(act.act.reason.as_deref(), Some("enough"));
        assert_eq!(act.outcome.unwrap(), format!("{} stopped", c.cancelled));
        running.drain().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_is_cancelled_while_it_is_unpacked_counts_every_resource() {
    for store in stores().await {
        for (verb, nth) in [("enqueue", 1), ("enqueue", 2), ("cancel", 1), ("save_state", 2)] {
            let kit = Kit::holding(store.clone(), 100).await;
            let accepted = kit.accept(&lines(350), NDJSON, of_ann(None)).await.unwrap();
            if verb == "cancel" {
                kit.manifests.cancel(accepted.batch, &By::new("ann")).await.unwrap();
            }
            // It dies in the middle, and is cancelled there.
            let plan = Plan { verb, nth, fault: Fault::CrashAfter };
            let faulty = Arc::new(Faulty::new(store.clone(), plan));
            let doomed = Engine::new(faulty.clone(), numbers()).await.unwrap();
            doomed.register(Unpacker::new(faulty.clone(), kit.blobs.clone()).chunks_of(100));
            let running = doomed.start();
            eventually(async || faulty.happened().then_some(())).await;
            drop(running);
            if verb != "cancel" {
                kit.manifests.cancel(accepted.batch, &By::new("ann")).await.unwrap();
            }
            // Nobody fetches here: all that can end a member is the cancellation.
            kit.engine.register(Unpacker::new(kit.store.clone(), kit.blobs.clone()).chunks_of(100));
            kit.engine.register(Canceller::new(kit.store.clone(), kit.blobs.clone()));
            let running = kit.engine.start();
            let row = kit.ended(accepted.batch).await;
            let c = row.counters;
            assert_eq!((row.state, c.total, c.cancelled), (BatchState::Cancelled, 350, 350), "{verb} {nth}");
            assert_eq!(kit.missing_ids(accepted.batch).await.len(), 350);
            running.drain().await;
        }
    }
}

/// The job that unpacks the only batch of this store.
async fn unpacks(kit: &Kit) -> JobRow {
    let workload = Some(WorkloadName::new("fetch.unpack").unwrap());
    let filter = JobFilter { workload, ..JobFilter::default() };
    let page = kit.store.jobs(filter, PageRequest::default()).await.unwrap();
    page.rows.into_iter().max_by_key(|row| row.created_at).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_batch_ends_also_when_its_unpacking_waits_for_days_or_was_cancelled_alone() {
    for store in stores().await {
        for alone in [false, true] {
            let kit = Kit::holding(store.clone(), 100).await;
            let accepted = kit.accept(&lines(350), NDJSON, of_ann(None)).await.unwrap();
            let unpack = unpacks(&kit).await;
            if alone {
                store.cancel(vec![unpack.id], None).await.unwrap();
            } else {
                let far = instant::after(store.now().await.unwrap(), Duration::from_secs(30 * 24 * 3600));
                assert_eq!(store.reschedule(vec![unpack.id], far).await.unwrap(), [Acted::Done]);
            }
            kit.manifests.cancel(accepted.batch, &By::new("ann")).await.unwrap();
            // Nobody unpacks here.
            kit.engine.register(Canceller::new(kit.store.clone(), kit.blobs.clone()));
            let running = kit.engine.start();
            let row = kit.ended(accepted.batch).await;
            let c = row.counters;
            assert_eq!((row.state, c.total, c.cancelled), (BatchState::Cancelled, 350, 350), "{alone}");
            assert_eq!(kit.missing_ids(accepted.batch).await.len(), 350, "each has its name");
            assert_eq!(unpacks(&kit).await.state, State::Cancelled, "nobody goes on with it");
            running.drain().await;
            assert!(kit.engine.audit().await.unwrap().is_clean());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_cancels_and_dies_in_the_middle_of_a_manifest_is_gone_on_with() {
    for store in stores().await {
        for (verb, nth, fault) in [
            ("enqueue", 1, Fault::CrashAfter),
            ("enqueue", 2, Fault::CrashBefore),
            ("cancel", 2, Fault::CrashBefore),
            ("cancel", 3, Fault::CrashAfter),
            ("enqueue", 3, Fault::CrashBefore),
        ] {
            let kit = Kit::holding(store.clone(), 100).await;
            let accepted = kit.accept(&lines(1_200), NDJSON, of_ann(None)).await.unwrap();
            // A part was unpacked before.
            let plan = Plan { verb: "enqueue", nth: 4, fault: Fault::CrashBefore };
            let faulty = Arc::new(Faulty::new(store.clone(), plan));
            let unpacker = Engine::new(faulty.clone(), numbers()).await.unwrap();
            unpacker.register(Unpacker::new(faulty.clone(), kit.blobs.clone()).chunks_of(100));
            let running = unpacker.start();
            eventually(async || faulty.happened().then_some(())).await;
            drop(running);
            let there = kit.row(accepted.batch).await.counters.total;
            assert!(there > 0 && there < 1_200, "{there}");
            kit.manifests.cancel(accepted.batch, &By::new("ann")).await.unwrap();
            let faulty = Arc::new(Faulty::new(store.clone(), Plan { verb, nth, fault }));
            let doomed = Engine::new(faulty.clone(), numbers()).await.unwrap();
            doomed.register(Canceller::new(faulty.clone(), kit.blobs.clone()));
            let running = doomed.start();
            eventually(async || faulty.happened().then_some(())).await;
            drop(running);
            // Nobody fetches here either.
            kit.engine.register(Unpacker::new(kit.store.clone(), kit.blobs.clone()).chunks_of(100));
            kit.engine.register(Canceller::new(kit.store.clone(), kit.blobs.clone()));
            let running = kit.engine.start();
            let row = kit.ended(accepted.batch).await;
            let c = row.counters;
            assert_eq!((c.total, c.ok + c.failed + c.cancelled), (1_200, 1_200), "{verb} {nth}: {c:?}");
            assert_eq!(c.cancelled, 1_200, "{verb} {nth}: nobody fetches: {c:?}");
            assert_eq!(kit.missing_ids(accepted.batch).await.len(), 1_200, "{verb} {nth}");
            running.drain().await;
            assert!(kit.engine.audit().await.unwrap().is_clean());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_whose_manifest_is_lost_ends_when_it_is_cancelled_with_exact_counts() {
    for store in stores().await {
        // Nothing was unpacked, or a part.
        for nth in [0, 4] {
            let kit = Kit::holding(store.clone(), 100).await;
            let accepted = kit.accept(&lines(350), NDJSON, of_ann(None)).await.unwrap();
            let manifest = kit.home.path().join("manifests").join(&accepted.manifest_key);
            if nth == 0 {
                std::fs::remove_file(&manifest).unwrap();
            } else {
                let plan = Plan { verb: "enqueue", nth, fault: Fault::CrashBefore };
                let faulty = Arc::new(Faulty::new(store.clone(), plan));
                let doomed = Engine::new(faulty.clone(), numbers()).await.unwrap();
                doomed.register(Unpacker::new(faulty.clone(), kit.blobs.clone()).chunks_of(100));
                let running = doomed.start();
                eventually(async || faulty.happened().then_some(())).await;
                drop(running);
                std::fs::remove_file(&manifest).unwrap();
            }
            kit.register();
            let running = kit.engine.start();
            eventually(async || {
                let error = kit.manifests.snapshot(&kit.row(accepted.batch).await).await.unwrap().last_error;
                error.filter(|error| error.code == Code::StorageManifestMissing.name())
            })
            .await;
            let unpacked = kit.row(accepted.batch).await.counters.total;
            assert_eq!((unpacked > 0, unpacked < 350), (nth > 0, true), "{unpacked}");
            let run = |c: Counters| c.ok + c.failed == unpacked;
            eventually(async || run(kit.row(accepted.batch).await.counters).then_some(())).await;
            kit.manifests.cancel(accepted.batch, &By::new("ann")).await.unwrap();
            let row = kit.ended(accepted.batch).await;
            let c = row.counters;
            assert_eq!((c.total, c.ok + c.failed + c.cancelled), (350, 350), "{unpacked}: {c:?}");
            assert_eq!(c.cancelled, 350 - unpacked, "what was unpacked had run: {c:?}");
            let expected = if unpacked == 0 { BatchState::Cancelled } else { BatchState::Failed };
            assert_eq!(row.state, expected);
            let missing = kit.missing_ids(accepted.batch).await;
            assert_eq!(missing.len() as u64, c.failed, "nobody knows the others any more: {missing:?}");
            running.drain().await;
            assert!(kit.engine.audit().await.unwrap().is_clean());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_cancels_right_after_a_retry_wins_also_when_the_retry_comes_late() {
    for store in stores().await {
        let kit = Kit::on(store.clone()).await;
        let accepted = kit.accept(&lines(30).replace("yes", "no"), NDJSON, of_ann(None)).await.unwrap();
        kit.register();
        let running = kit.engine.start();
        kit.ended(accepted.batch).await;
        running.drain().await;
        let by = By::new("ann");
        kit.manifests.again(accepted.batch, &by).await.unwrap();
        // One of them was started again already, and nobody fetches from now on.
        let wanted = JobFilter { batch: Some(accepted.batch), ..JobFilter::default() };
        let members = store.jobs(wanted, PageRequest { limit: 200, cursor: None }).await.unwrap().rows;
        store.retry(vec![members[0].id], RetryBy::default()).await.unwrap();
        kit.manifests.cancel(accepted.batch, &by).await.unwrap();
        let canceller = Engine::new(store.clone(), numbers()).await.unwrap();
        canceller.register(Canceller::new(store.clone(), kit.blobs.clone()));
        let running = canceller.start();
        kit.ended(accepted.batch).await;
        running.drain().await;
        let starter = Engine::new(store.clone(), numbers()).await.unwrap();
        starter.register(Starter::new(store.clone()));
        let running = starter.start();
        eventually(async || {
            let acts = store
                .acts(redrive_engine::store::ActFilter::default(), PageRequest::default())
                .await
                .unwrap()
                .rows;
            acts.into_iter().find(|act| act.act.action == "batch.again" && act.outcome.is_some())
        })
        .await;
        running.drain().await;
        let row = kit.row(accepted.batch).await;
        assert_ne!(row.state, BatchState::Processing, "{:?}", row.counters);
        assert_eq!((row.counters.failed, row.counters.cancelled), (29, 1));
        // A retry after that is another wish, and is done.
        kit.manifests.again(accepted.batch, &by).await.unwrap();
        let again = Engine::new(store.clone(), numbers()).await.unwrap();
        again.register(Starter::new(store.clone()));
        let running = again.start();
        eventually(async || (kit.row(accepted.batch).await.counters.failed == 0).then_some(())).await;
        running.drain().await;
    }
}
