//! However many targets users name: labels of metrics have few values, and what nobody uses is forgotten.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use redrive_engine::By;
use redrive_engine::model::breaker::{Breaker, Phase};
use redrive_engine::model::{Target, instant};
use redrive_engine::store::clock::ManualClock;

use crate::bench::{Bench, eventually, quick};

/// Remembers which series there are.
#[derive(Default, Clone)]
struct Series(Arc<Mutex<BTreeSet<String>>>);

impl Series {
    fn met(&self, key: &Key) {
        let labels: Vec<String> =
            key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        self.0.lock().unwrap().insert(format!("{} {}", key.name(), labels.join(" ")));
    }

    fn of(&self, metric: &str) -> Vec<String> {
        let met = self.0.lock().unwrap();
        met.iter().filter_map(|series| Some(series.strip_prefix(metric)?.trim().to_owned())).collect()
    }
}

impl Recorder for Series {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        self.met(key);
        Counter::noop()
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        self.met(key);
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        self.met(key);
        Histogram::noop()
    }
}

/// Retention removes what is left of targets that nobody uses any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn targets_that_nobody_uses_are_forgotten_and_shut_ones_stay() {
    let clock = ManualClock::new(instant::from_millis(1_800_000_000_000));
    let bench = Bench::with_clock(clock.clone());
    let now = bench.store.now().await.unwrap();
    let shut = Breaker { phase: Phase::Open { until: now }, epoch: 1, ..Breaker::new(now) };
    for n in 0..600 {
        let idle = Target::new(format!("host:{n}.odd.example")).unwrap();
        bench.store.swap_breaker(&idle, None, &Breaker::new(now), None).await.unwrap();
    }
    bench.store.swap_breaker(&Target::new("host:shut").unwrap(), None, &shut, None).await.unwrap();
    clock.advance(Duration::from_secs(25 * 3600));
    let running = bench.engine_with(quick()).await.start();
    eventually(async || (bench.store.breakers().await.unwrap().len() == 1).then_some(())).await;
    assert_eq!(bench.store.breakers().await.unwrap()[0].target.as_str(), "host:shut");
    running.drain().await;
}

#[test]
fn ten_thousand_hosts_are_one_value_of_a_label() {
    let series = Series::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    metrics::with_local_recorder(&series, || {
        runtime.block_on(async {
            let bench = Bench::new().await;
            let engine = bench.engine_with(quick()).await;
            let now = bench.store.now().await.unwrap();
            let shut = Breaker { phase: Phase::Open { until: now }, epoch: 1, ..Breaker::new(now) };
            let hosts = (0..10_000).map(|n| format!("host:{n}.odd.example"));
            for name in hosts.chain(["gateway".into(), "bucket:scans".into(), "proxies:office".into()]) {
                bench.store.swap_breaker(&Target::new(name).unwrap(), None, &shut, None).await.unwrap();
            }
            engine.measure().await.unwrap();
            // Whoever moves a breaker counts how long it was open.
            for n in 0..20 {
                let host = Target::new(format!("host:{n}.odd.example")).unwrap();
                engine.release(&host, &By::new("ann")).await.unwrap();
            }
        });
    });
    let kinds = ["target=bucket", "target=gateway", "target=host", "target=proxies"];
    assert_eq!(series.of("redrive_breaker_state"), kinds);
    assert_eq!(series.of("redrive_breakers_open"), kinds);
    assert_eq!(series.of("redrive_breaker_open_seconds_total"), ["target=host"]);
}
