//! What retention removes, and what it must not.

use std::time::Duration;

use redrive_convert::{Retention, RetentionOptions};
use redrive_engine::Code;
use redrive_engine::model::State;
use redrive_engine::store::EventKind;
use redrive_engine::store::clock::{Clock, ManualClock};

use crate::bench::Bench;
use crate::gateway::{FakeGateway, Say};

const DAY: Duration = Duration::from_secs(24 * 3600);
const OPTIONS: RetentionOptions =
    RetentionOptions { pdf: DAY.saturating_mul(7), xml: DAY.saturating_mul(30), every: DAY };

/// The files get their age from the disk's clock, the rows from the store's, which is moved.
fn walk_of(bench: &Bench, options: RetentionOptions) -> Retention {
    Retention::new(bench.store.clone(), bench.sources.clone(), bench.results.clone(), options)
}

/// Also covers: M44.
#[tokio::test]
async fn pdfs_go_after_seven_days_and_xml_after_thirty_and_the_row_says_so() {
    let clock = ManualClock::new(redrive_engine::store::clock::SystemClock.now());
    let bench = Bench::with_clock(clock.clone()).await;
    let gateway = FakeGateway::start([Say::Xml("<a/>")]).await;
    let running = bench.start(bench.workload(&gateway.url));
    let done = bench.upload("done").await;
    bench.ended(done).await;
    gateway.now(Say::Status(400, &[], ""));
    let failed = bench.upload("failed").await;
    bench.ended(failed).await;
    running.drain().await;
    let waiting = bench.upload("waiting").await;
    let walk = walk_of(&bench, OPTIONS);
    walk.walk().await.unwrap();
    assert_eq!((bench.sources().await.len(), bench.results().await.len()), (3, 1), "everything is young");

    clock.advance(DAY * 7 + Duration::from_secs(60));
    walk.walk().await.unwrap();
    let mut kept = [format!("{failed}.pdf"), format!("{waiting}.pdf")];
    kept.sort();
    assert_eq!(bench.sources().await, kept, "what failed or waits keeps its source");
    assert_eq!(bench.results().await.len(), 1);

    clock.advance(DAY * 23);
    walk.walk().await.unwrap();
    assert_eq!((bench.sources().await.len(), bench.results().await.len()), (2, 0));
    let row = bench.engine.job(done).await.unwrap().unwrap();
    assert_eq!((row.state, row.expired_at.is_some()), (State::Complete, true), "{row:#?}");
    let events = bench.store.job_events(done).await.unwrap();
    assert_eq!(events.iter().filter(|event| event.kind == EventKind::Expired).count(), 1);
    let again = walk.walk().await.unwrap();
    assert_eq!((again.0.deleted, again.1.deleted), (0, 0));
    let row = bench.engine.job(failed).await.unwrap().unwrap();
    assert_eq!(row.failure_code, Some(Code::Gw4xx));
}

/// A file without a row: its row may be on its way for a day; after that nobody will ever ask for it.
///
/// Also covers: M5.
#[tokio::test]
async fn orphans_go_after_a_day_and_strangers_stay() {
    let clock = ManualClock::new(redrive_engine::store::clock::SystemClock.now());
    let bench = Bench::with_clock(clock.clone()).await;
    let orphan = redrive_engine::model::JobId::from_parts(clock.now(), [9; 10]);
    let (uploads, results) = (bench.home().join("uploads"), bench.home().join("results"));
    std::fs::write(uploads.join(format!("{orphan}.pdf")), "x").unwrap();
    std::fs::create_dir(results.join(orphan.to_string())).unwrap();
    std::fs::write(results.join(orphan.to_string()).join("3.xml"), "x").unwrap();
    std::fs::write(uploads.join("holiday.jpg"), "x").unwrap();
    let walk = walk_of(
        &bench,
        RetentionOptions { pdf: Duration::from_secs(1), xml: Duration::from_secs(1), ..OPTIONS },
    );
    clock.advance(DAY - Duration::from_secs(60));
    walk.walk().await.unwrap();
    assert_eq!((bench.sources().await.len(), bench.results().await.len()), (2, 1));
    clock.advance(Duration::from_secs(120));
    walk.walk().await.unwrap();
    assert_eq!((bench.sources().await, bench.results().await.len()), (vec!["holiday.jpg".to_owned()], 0));
}
