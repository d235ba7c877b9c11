//! Every limit ends a download in its own way, and nothing of what was refused stays.

use std::sync::Arc;
use std::time::Duration;

use redrive_blob::{Folder, Point, Seam};
use redrive_engine::model::State;
use redrive_engine::{By, Code};
use redrive_fetch::DownloadOptions;
use redrive_lab::origin::{Answer, Origin};

use crate::bench::{Bench, noise, quick, resource, until};

/// Also covers: M32.
#[tokio::test]
async fn what_is_too_large_stops_at_the_limit() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start_with(DownloadOptions { max_bytes: 100_000, ..quick() });
    origin.say("/exact", [Answer::Bytes(noise(100_000))]);
    let row = bench.fetch(&origin.url("/exact")).await;
    assert_eq!(bench.stored(&row).await.1.len(), 100_000, "the limit itself is allowed");
    for (path, answer) in [
        ("/announced", Answer::Bytes(noise(100_001))),
        ("/endless", Answer::Endless),
        ("/head", Answer::GiantHead(100_000)),
    ] {
        origin.say(path, [answer]);
        let (code, attempts) = bench.fails(&resource(&origin.url(path))).await;
        assert_eq!((code, attempts.len(), origin.count(path)), (Code::DownloadTooLarge, 1, 1), "{path}");
    }
    origin.say("/large-head", [Answer::with("x", "x-large", &"y".repeat(50_000))]);
    let row = bench.fetch(&origin.url("/large-head")).await;
    assert_eq!(bench.stored(&row).await.1, b"x", "64 KB of head are allowed");
    assert_eq!((bench.keys().await, bench.temps()), (2, 0));
    running.drain().await;
}

#[tokio::test]
async fn silence_before_and_within_an_answer_and_a_drip_have_their_codes() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start_with(DownloadOptions { min_speed: 10_000, ..quick() });
    let bytes = noise(100_000);
    for (path, answer, code) in [
        ("/silence", Answer::Silence, Code::DownloadTimeout),
        ("/stall", Answer::Stall(bytes.clone(), 0), Code::DownloadTooSlow),
        ("/drip", Answer::Drip(bytes.clone(), 10, Duration::from_millis(20)), Code::DownloadTooSlow),
    ] {
        origin.say(path, [answer]);
        let (found, attempts) = bench.fails(&resource(&origin.url(path))).await;
        assert_eq!((found, attempts.len()), (code, 4), "{path} {attempts:#?}");
    }
    running.drain().await;
}

#[tokio::test]
async fn a_slow_start_is_borne_and_the_whole_has_a_deadline() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start_with(DownloadOptions {
        min_speed: 100,
        deadline: Duration::from_millis(1_500),
        ..quick()
    });
    let bytes = noise(1_000);
    origin.say("/slow", [Answer::Drip(bytes.clone(), 100, Duration::from_millis(100))]);
    let row = bench.fetch(&origin.url("/slow")).await;
    assert_eq!((bench.stored(&row).await.1, row.attempt), (bytes.clone(), 1));
    // Weak: what has a strong validator would get further with every attempt.
    origin.say("/for-ever", [Answer::Drip(noise(10_000), 100, Duration::from_millis(100))]);
    let (code, attempts) = {
        let row = bench.ended(bench.enqueue(&resource(&origin.url("/for-ever"))).await).await;
        let attempts = bench.engine.attempts(row.id).await.unwrap();
        (attempts[0].code, attempts)
    };
    assert_eq!(code, Some(Code::DownloadTimeout), "{attempts:#?}");
    assert!(attempts[0].message.as_deref().unwrap().contains("1500 ms"), "{attempts:#?}");
    running.drain().await;
}

/// A disk that takes its time.
struct Slow;

impl Seam for Slow {
    fn before(&self, point: Point) -> std::io::Result<()> {
        if point == Point::WriteTemp {
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

/// Says that such a download ends, and not which look at the time ended it: on a fast machine frames run out now and then, and the look
/// beside them would do it too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_origin_that_is_faster_than_our_disk_does_not_outrun_the_deadline() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let disk = Folder::open_with(bench.home.path().join("slow"), Arc::new(Slow)).await.unwrap();
    let options = DownloadOptions { deadline: Duration::from_millis(500), ..quick() };
    bench.engine.register(bench.workload_on(options, Arc::new(disk), "disk"));
    let running = bench.engine.start();
    origin.say("/a", [Answer::Bytes(noise(4 << 20))]);
    let row = bench.fetch(&origin.url("/a")).await;
    let attempts = bench.engine.attempts(row.id).await.unwrap();
    assert_eq!(attempts[0].code, Some(Code::DownloadTimeout), "{attempts:#?}");
    running.drain().await;
}

/// There is always more to read: the word to stop is heard all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_origin_that_is_faster_than_our_disk_does_not_outrun_a_cancel() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let disk = Folder::open_with(bench.home.path().join("slow"), Arc::new(Slow)).await.unwrap();
    bench.engine.register(bench.workload_on(
        DownloadOptions { max_bytes: 1 << 30, ..quick() },
        Arc::new(disk),
        "disk",
    ));
    let running = bench.engine.start();
    origin.say("/a", [Answer::Endless]);
    let id = bench.enqueue(&resource(&origin.url("/a"))).await;
    until(|| origin.count("/a") == 1).await;
    bench.engine.cancel(vec![id], &By::new("a test")).await.unwrap();
    let row = bench.ended(id).await;
    assert_eq!((row.state, origin.count("/a")), (State::Cancelled, 1), "{row:#?}");
    tokio::time::timeout(Duration::from_secs(30), running.drain()).await.unwrap();
}
