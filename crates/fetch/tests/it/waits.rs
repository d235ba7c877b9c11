//! Origins that ask for time get it.

use std::sync::Arc;
use std::time::Duration;

use redrive_engine::model::{BatchState, State, instant};
use redrive_engine::store::clock::ManualClock;
use redrive_engine::{BatchOptions, Code};
use redrive_lab::origin::{Answer, Origin};

use crate::bench::{Bench, quick, resource, until};

/// Also covers: M34.
#[tokio::test]
async fn a_busy_answer_delays_its_own_job_and_costs_an_attempt() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    origin.once("/busy", [Answer::retry_after(503, "1")]);
    let busy = bench.enqueue(&resource(&origin.url("/busy"))).await;
    until(|| origin.count("/busy") == 1).await;
    let row = bench.fetch(&origin.url("/other")).await;
    assert_eq!((row.state, origin.count("/busy")), (State::Complete, 1), "others are not held");
    let row = bench.ended(busy).await;
    assert_eq!((row.state, row.attempt), (State::Complete, 2));
    let heard = origin.heard("/busy");
    assert_eq!(heard.len(), 2);
    assert!(heard[1].at - heard[0].at >= Duration::from_secs(1), "{heard:?}");
    running.drain().await;
}

#[tokio::test]
async fn too_many_requests_hold_the_host_and_cost_nothing() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let elsewhere = Origin::start().await.unwrap();
    let running = bench.start();
    origin.once("/a", [Answer::retry_after(429, "1")]);
    let first = bench.enqueue(&resource(&origin.url("/a"))).await;
    until(|| origin.count("/a") == 1).await;
    // The hold is written before the attempt's end is.
    let held = || async { !bench.engine.attempts(first).await.unwrap().is_empty() };
    while !held().await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let second = bench.enqueue(&resource(&origin.url("/b"))).await;
    let row = bench.fetch(&elsewhere.url("/c")).await;
    assert_eq!((row.state, origin.count("/b")), (State::Complete, 0), "other hosts go on, this one waits");
    for id in [first, second] {
        let row = bench.ended(id).await;
        assert_eq!((row.state, row.attempt), (State::Complete, 1));
    }
    let asked = origin.heard("/a")[0].at;
    for heard in [&origin.heard("/a")[1], &origin.heard("/b")[0]] {
        assert!(heard.at - asked >= Duration::from_secs(1), "{heard:?}");
    }
    assert_eq!(origin.requests(), 3);
    running.drain().await;
}

/// The store's time is moved by hand; requests are real.
#[tokio::test]
async fn a_host_that_only_ever_says_429_ends_its_part_of_a_batch_after_a_day() {
    let clock = ManualClock::new(instant::from_millis(1_800_000_000_000));
    let store = redrive_store_sqlite::Options::default().clock(clock.clone()).in_memory().unwrap();
    let bench = Bench::on(Arc::new(store)).await;
    let (origin, well) = (Origin::start().await.unwrap(), Origin::start().await.unwrap());
    bench.engine.register(bench.workload(quick()));
    let mut resources = vec![resource(&well.url("/a"))];
    for n in 0..40 {
        let path = format!("/{n}");
        origin.say(&path, [Answer::retry_after(429, "3600")]);
        resources.push(resource(&origin.url(&path)));
    }
    let batch = bench.engine.enqueue_batch(&resources, BatchOptions::default()).await.unwrap();
    let mut hours = 0;
    let row = loop {
        bench.engine.run_until_idle().await.unwrap();
        let row = bench.engine.batch(batch).await.unwrap().unwrap();
        if row.state != BatchState::Processing {
            break row;
        }
        clock.advance(Duration::from_secs(3606));
        hours += 1;
        assert!(hours <= 24, "{:?} after {hours} hours", row.counters);
    };
    assert_eq!((row.state, row.counters.ok, row.counters.failed), (BatchState::Partial, 1, 40), "strict");
    let codes = bench.engine.batch_failures(batch).await.unwrap();
    assert!(codes.iter().all(|of| of.code == Code::DownloadRateLimited), "{codes:?}");
    assert_eq!(origin.requests(), 25, "one after each hold");
}
