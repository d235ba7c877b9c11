//! A host that is down, with breakers as they are: its jobs are held, one of them tries now and then, and all go on when it is back.

use std::time::Duration;

use redrive_engine::JobId;
use redrive_engine::model::{Shown, State};
use redrive_lab::origin::{Answer, Origin};

use crate::bench::{Bench, host, resource, until, until_so};

/// How many attempts these jobs were charged. Waits until none of them runs: a probe is charged until it has ended.
async fn charged(bench: &Bench, ids: &[JobId]) -> u32 {
    let mut rows = Vec::new();
    until_so(async || {
        rows.clear();
        for id in ids {
            rows.push(bench.store.job(*id).await.unwrap().unwrap());
        }
        rows.iter().all(|row| row.state != State::Processing)
    })
    .await;
    rows.iter().map(|row| row.attempt).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_of_a_dead_host_are_held_probed_and_released() {
    let bench = Bench::with_breakers(Duration::from_millis(200)).await;
    let (origin, well) = (Origin::start().await.unwrap(), Origin::start().await.unwrap());
    origin.away(true);
    let running = bench.start();
    let mut ids = Vec::new();
    for n in 0..12 {
        ids.push(bench.enqueue(&resource(&origin.url(&format!("/{n}")))).await);
    }
    let at = host(origin.address());
    until_so(async || bench.breaker(&at).await != "closed").await;
    let spent = charged(&bench, &ids).await;
    assert!(spent <= 8, "{spent} attempts to find out, of 48 that there are");
    let asked = origin.connections();
    let shown = bench.store.job(ids[11]).await.unwrap().unwrap().shown;
    assert_eq!(shown, Shown::Held);
    bench.fetch_all([well.url("/other")]).await;

    // Two probes at least, each of which calls twice.
    until(|| origin.connections() >= asked + 4).await;
    assert_eq!(charged(&bench, &ids).await, spent, "who tries it loses nothing");
    assert_ne!(bench.breaker(&at).await, "closed");

    origin.away(false);
    for id in &ids {
        assert_eq!(bench.ended(*id).await.state, State::Complete);
    }
    assert_eq!(charged(&bench, &ids).await, spent + 12, "each is fetched by one attempt more");
    assert!(matches!(bench.breaker(&at).await, "ramp" | "closed"));
    running.drain().await;
}

#[tokio::test]
async fn what_a_host_does_not_have_is_no_reason_to_hold_it() {
    let bench = Bench::with_breakers(Duration::from_secs(60)).await;
    let origin = Origin::start().await.unwrap();
    let running = bench.start();
    for n in 0..12 {
        origin.say(&format!("/{n}"), [Answer::status(404)]);
        bench.fails(&resource(&origin.url(&format!("/{n}")))).await;
    }
    assert_eq!(bench.breaker(&host(origin.address())).await, "closed");
    bench.fetch_all([origin.url("/there")]).await;
    running.drain().await;
}
