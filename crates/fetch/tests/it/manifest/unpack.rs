//! Large manifests are unpacked by a job: the total is known from the start, and a crash anywhere changes no count.

use std::sync::Arc;
use std::time::Duration;

use redrive_engine::model::{BatchState, State};
use redrive_engine::{Code, Engine};
use redrive_lab::faulty::{Fault, Faulty, Plan};

use super::kit::{Kit, NDJSON, eventually, lines, numbers, of_ann, stores};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_manifest_is_unpacked_and_its_batch_ends_with_exact_counts() {
    for store in stores().await {
        let kit = Kit::holding(store, 100).await;
        let accepted = kit.accept(&lines(500), NDJSON, of_ann(None)).await.unwrap();
        let row = kit.row(accepted.batch).await;
        assert_eq!((row.state, row.sealed, row.counters.total), (BatchState::Processing, false, 0));
        let snapshot = kit.manifests.snapshot(&row).await.unwrap();
        assert_eq!((snapshot.resources_total, snapshot.unpacked), (500, false));
        assert_eq!(kit.missing_ids(accepted.batch).await.len(), 500, "what is not unpacked is missing too");
        kit.register();
        let running = kit.engine.start();
        let row = kit.ended(accepted.batch).await;
        let c = row.counters;
        assert_eq!((row.state, c.total, c.ok, c.failed), (BatchState::Failed, 500, 450, 50));
        assert_eq!(row.bytes, 4500);
        let missing = kit.missing_ids(accepted.batch).await;
        assert!(missing.len() == 50 && missing.iter().all(|id| id.starts_with("no-")));
        running.drain().await;
        assert!(kit.engine.audit().await.unwrap().is_clean());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_dies_while_unpacking_costs_no_count() {
    for store in stores().await {
        // Whichever call it was: what is sure is that nothing was heard of it.
        for (verb, nth, fault) in [
            ("enqueue", 2, Fault::CrashAfter),
            ("enqueue", 3, Fault::CrashBefore),
            ("save_state", 1, Fault::CrashBefore),
            ("save_state", 2, Fault::CrashAfter),
        ] {
            let kit = Kit::holding(store.clone(), 100).await;
            let accepted = kit.accept(&lines(350), NDJSON, of_ann(None)).await.unwrap();
            let faulty = Arc::new(Faulty::new(store.clone(), Plan { verb, nth, fault }));
            let doomed = Engine::new(faulty.clone(), numbers()).await.unwrap();
            doomed.register(redrive_fetch::Unpacker::new(faulty.clone(), kit.blobs.clone()).chunks_of(100));
            let running = doomed.start();
            eventually(async || faulty.happened().then_some(())).await;
            drop(running);
            let before = kit.row(accepted.batch).await;
            assert!(!before.sealed && before.counters.total < 350, "{verb} {nth}: {before:?}");
            assert_eq!(kit.missing_ids(accepted.batch).await.len(), 350, "{verb} {nth} {fault:?}");
            kit.register();
            let running = kit.engine.start();
            let row = kit.ended(accepted.batch).await;
            let c = row.counters;
            assert_eq!((c.total, c.ok, c.failed, c.cancelled), (350, 315, 35, 0), "{verb} {nth} {fault:?}");
            running.drain().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manifest_that_is_gone_waits_among_the_dead_letters_and_goes_on_when_it_is_back() {
    for store in stores().await {
        let kit = Kit::holding(store, 10).await;
        let accepted = kit.accept(&lines(30), NDJSON, of_ann(None)).await.unwrap();
        let path = kit.home.path().join("manifests").join(&accepted.manifest_key);
        let aside = kit.home.path().join("aside");
        std::fs::rename(&path, &aside).unwrap();
        kit.register();
        let running = kit.engine.start();
        let error = eventually(async || {
            kit.manifests.snapshot(&kit.row(accepted.batch).await).await.unwrap().last_error
        })
        .await;
        assert_eq!(error.code, Code::StorageManifestMissing.name());
        let snapshot = kit.manifests.snapshot(&kit.row(accepted.batch).await).await.unwrap();
        assert_eq!((snapshot.status.as_str(), snapshot.unpacked), ("processing", false));
        std::fs::rename(&aside, &path).unwrap();
        let page = redrive_engine::store::PageRequest::default();
        let dead = kit.store.dead_letters(redrive_engine::store::DeadFilter::default(), page).await.unwrap();
        let [letter] = dead.rows.as_slice() else { panic!("{dead:?}") };
        kit.engine.retry(vec![letter.job], &redrive_engine::By::new("ann")).await.unwrap();
        let row = kit.ended(accepted.batch).await;
        assert_eq!((row.counters.total, row.counters.ok, row.counters.failed), (30, 27, 3));
        let unpacked = kit.engine.job_ended(letter.job).await.unwrap().unwrap();
        assert_eq!(unpacked.state, State::Complete);
        tokio::time::timeout(Duration::from_secs(10), running.drain()).await.unwrap();
    }
}
