//! A worker that dies in the middle of a large download costs no more than what came since the last note.

use std::sync::Arc;
use std::time::Duration;

use redrive_engine::store::Store;
use redrive_engine::{Engine, Options};
use redrive_fetch::DownloadOptions;
use redrive_lab::origin::{Answer, Origin};

use crate::bench::{Bench, noise, quick, resource, until};

/// Also covers: K1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_comes_after_a_dead_worker_goes_on_from_its_last_note() {
    let store: Arc<dyn Store> = Arc::new(redrive_store_sqlite::Options::default().in_memory().unwrap());
    let (bench, origin) = (Bench::on(store.clone()).await, Origin::start().await.unwrap());
    let bytes = noise(1 << 20);
    origin.say("/a", [Answer::Stall(bytes.clone(), 900 << 10), Answer::Bytes(bytes.clone())]);
    let options =
        || DownloadOptions { note_every: 256 << 10, slow_after: Duration::from_secs(20), ..quick() };
    let mortal =
        Options { lease_ttl: Duration::from_secs(1), poll: Duration::from_millis(50), ..Options::default() };
    let id = bench.enqueue(&resource(&origin.url("/a"))).await;

    let doomed = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (store, workload, numbers) = (store.clone(), bench.workload(options()), mortal.clone());
    let engine = Engine::new(store.clone(), numbers).await.unwrap();
    doomed.spawn(async move {
        engine.register(workload);
        let _running = engine.start();
        std::future::pending::<()>().await;
    });
    let temps = bench.home.path().join("fetched/.redrive-temp");
    let size = |entry: std::fs::DirEntry| entry.metadata().map_or(0, |meta| meta.len());
    // Notes are made before more is written: with so much there, 512 KiB are noted.
    until(|| std::fs::read_dir(&temps).unwrap().flatten().map(size).sum::<u64>() >= 800 << 10).await;
    doomed.shutdown_background();

    let engine = Engine::new(store, mortal).await.unwrap();
    engine.register(bench.workload(options()));
    let running = engine.start();
    let row = bench.ended(id).await;
    assert_eq!(bench.stored(&row).await.1, bytes);
    let froms: Vec<Option<usize>> = origin.heard("/a").iter().map(|heard| heard.request.from()).collect();
    assert!(matches!(froms[..], [None, Some(from)] if (512 << 10..=900 << 10).contains(&from)), "{froms:?}");
    running.drain().await;
}
