//! Many at once on an origin with the usual faults, by the usual policy: everything that can be had is stored, with the fewest
//! questions that can do it, and what is missing is named.

use std::collections::BTreeSet;
use std::time::Duration;

use redrive_engine::BatchOptions;
use redrive_engine::model::{Code, State};
use redrive_engine::store::{DeadFilter, JobFilter, PageRequest};
use redrive_fetch::{DownloadOptions, Resource};
use redrive_lab::bench::fetch::bad::{self, Fault, Manners};
use redrive_lab::origin::Origin;

use crate::bench::{Bench, quick, resource};

const PATHS: usize = 300;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_percent_busy_two_reset_one_gone_and_one_slow() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    bad::script(&origin, PATHS);
    let patient = DownloadOptions { guard: quick().guard, ..DownloadOptions::default() };
    bench.engine.register(bench.workload_by(patient, |policy| policy));
    let running = bench.engine.start();
    let of = |n: usize| resource(&origin.url(&format!("/{n}")));
    let resources: Vec<Resource> = (0..PATHS).map(of).collect();
    let batch = bench.engine.enqueue_batch(&resources, BatchOptions::default().tolerant()).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(60), bench.engine.batch_ended(batch)).await;
    let row = ended.expect("it never ended").unwrap().unwrap();

    let gone: BTreeSet<String> =
        (0..PATHS).filter(|n| bad::fault(*n) == Some(Fault::Gone)).map(|n| of(n).url).collect();
    let (ok, failed) = ((PATHS - gone.len()) as u64, gone.len() as u64);
    assert_eq!((row.counters.ok, row.counters.failed, row.counters.total), (ok, failed, PATHS as u64));
    // Twice where it was busy or reset, once where not, and nowhere too early.
    assert_eq!(bad::judge(&origin.all(), PATHS), Manners::default());
    assert_eq!(origin.requests(), PATHS + PATHS * 7 / 100);
    assert_eq!((bench.keys().await as u64, bench.temps()), (ok, 0));

    let page = || PageRequest { limit: 200, cursor: None };
    let dead = bench.store.dead_letters(DeadFilter::default(), page()).await.unwrap();
    assert!(dead.rows.iter().all(|dead| dead.code == Code::DownloadHttp4xx && dead.attempts == 1));
    let mut named = BTreeSet::new();
    for dead in &dead.rows {
        let payload = bench.store.payload(dead.job).await.unwrap().unwrap();
        named.insert(serde_json::from_slice::<Resource>(&payload.input).unwrap().url);
    }
    assert_eq!(named, gone);
    let all = bench.store.jobs(JobFilter::default(), page()).await.unwrap();
    for row in all.rows.iter().filter(|row| row.state == State::Complete).take(20) {
        bench.stored(row).await;
    }
    running.drain().await;
}
