//! How many requests at once a host sees: more while it answers well, half when it does not, never more than the limit.

use std::time::Duration;

use redrive_engine::Code;
use redrive_lab::origin::{Answer, Origin};

use crate::bench::{Bench, quick, resource};

const PER_HOST: usize = 10;

/// Fetches so many things that take a moment, and tells how many of them were asked for at once.
async fn many(bench: &Bench, origin: &Origin, name: &str, count: usize) -> usize {
    let path = |n| format!("/{name}/{n}");
    for n in 0..count {
        origin.say(&path(n), [Answer::Slow(Duration::from_millis(40))]);
    }
    let _before = origin.most_at_once();
    bench.fetch_all((0..count).map(|n| origin.url(&path(n)))).await;
    origin.most_at_once()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_sees_more_at_once_while_it_answers_well_and_half_when_it_does_not() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    bench.engine.register(bench.workload_for(quick(), 4 * PER_HOST, PER_HOST));
    let running = bench.engine.start();
    assert!((1..=4).contains(&many(&bench, &origin, "first", 4).await), "nobody begins with many");
    let most = many(&bench, &origin, "grown", 80).await;
    assert!((8..=PER_HOST).contains(&most), "{most}: it bears more, and the limit is {PER_HOST}");

    origin.once("/throttle", [Answer::retry_after(429, "1")]);
    bench.fetch_all([origin.url("/throttle")]).await;
    // Five, and one more for each round of successes.
    let most = many(&bench, &origin, "throttled", 10).await;
    assert!((2..=7).contains(&most), "{most} after it asked for time");

    origin.say("/silent", [Answer::Silence]);
    assert_eq!(bench.fails(&resource(&origin.url("/silent"))).await.0, Code::DownloadTimeout);
    let most = many(&bench, &origin, "silent", 6).await;
    assert!((1..=4).contains(&most), "{most} after it did not answer");
    running.drain().await;
}
