//! People put files in, take them away, replace them and put them back, while we work.

use redrive_engine::store::intake::Stage;
use redrive_engine::store::{JobFilter, PageRequest};
use redrive_engine::{Code, WorkloadName};
use redrive_intake::Seen;

use crate::bench::{Bench, PDF};
use crate::gateway::{FakeGateway, Say};

/// Also covers: M42.
#[tokio::test]
async fn a_newer_upload_of_the_same_name_is_never_overwritten() {
    let gateway = FakeGateway::start([Say::Silence]).await;
    let (bench, running) = Bench::started(&gateway.url).await;
    bench.put("queue/a.pdf", PDF);
    bench.until("the first is being processed", async |_| gateway.calls().0 == 1).await;
    let second = [PDF, b"newer"].concat();
    bench.put("queue/a.pdf", &second);
    bench.until("so is the second", async |_| gateway.calls().0 == 2).await;
    gateway.now(Say::Xml);
    running.drain().await;
    let running = bench.start().await;
    bench.until_stage(Stage::Done, 2).await;
    let mut results =
        [bench.at("result/a.pdf"), bench.at("result/a-2.pdf")].map(|path| std::fs::read(path).unwrap());
    results.sort();
    assert_eq!(results, [PDF.to_vec(), second]);
    assert_eq!(bench.files(), ["result/a-2.pdf", "result/a-2.xml", "result/a.pdf", "result/a.xml"]);
    running.drain().await;
}

#[tokio::test]
async fn a_file_that_a_person_took_away_is_on_record_and_is_not_tried_again() {
    let gateway = FakeGateway::start([Say::Status(500)]).await;
    let bench = Bench::new(&gateway.url).await;
    bench.put("queue/a.pdf", PDF);
    bench.put("queue/b.pdf", PDF);
    let running = bench.start().await;
    bench.until("it was tried", async |_| gateway.calls().0 >= 2).await;
    for place in ["queue", "pdf"] {
        let _ = std::fs::remove_file(bench.at(&format!("{place}/a.pdf")));
    }
    bench
        .until("one is gone or was given up", async |bench| {
            let rows = bench.documents().await;
            rows.iter().filter(|row| row.stage.has_ended()).count() == 2
        })
        .await;
    let rows = bench.documents().await;
    let b = rows.iter().find(|row| row.path == "b.pdf").unwrap();
    assert_eq!((b.stage, b.place.as_str()), (Stage::Failed, "failed/b.pdf"));
    running.drain().await;
}

/// What the last look found.
async fn seen(bench: &Bench) -> Seen {
    let queue = WorkloadName::new("intake.queue").unwrap();
    let filter = JobFilter { workload: Some(queue), ..JobFilter::default() };
    let page = PageRequest { limit: 1, cursor: None };
    let row = bench.store.jobs(filter, page).await.unwrap().rows.remove(0);
    let state = bench.store.payload(row.id).await.unwrap().and_then(|payload| payload.state);
    state.and_then(|state| serde_json::from_slice(&state).ok()).unwrap_or_default()
}

#[tokio::test]
async fn what_was_taken_no_longer_counts_as_lying_in_the_queue() {
    let gateway = FakeGateway::start([Say::Silence]).await;
    let mut bench = Bench::new(&gateway.url).await;
    bench.interval = std::time::Duration::from_secs(600);
    for n in 1..=12 {
        bench.put(&format!("queue/{n}.pdf"), PDF);
    }
    let running = bench.start().await;
    // Ten are in work and stay there: nobody looks again.
    bench.until("two lie there", async |bench| seen(bench).await.lie == 2).await;
    assert_eq!(bench.documents().await.len(), 10);
    running.drain().await;
}

#[tokio::test]
async fn nothing_is_taken_while_intake_is_paused() {
    let gateway = FakeGateway::start([Say::Xml]).await;
    let bench = Bench::new(&gateway.url).await;
    bench.put("queue/a.pdf", PDF);
    let intake = WorkloadName::new("intake").unwrap();
    bench.store.pause(Some(&intake), "test").await.unwrap();
    let running = bench.start().await;
    bench
        .until("the look says why", async |bench| {
            let seen = seen(bench).await;
            seen.lie == 1 && seen.stopped.as_deref() == Some("paused")
        })
        .await;
    assert!(bench.documents().await.is_empty());
    bench.store.resume(Some(&intake)).await.unwrap();
    bench.until_stage(Stage::Done, 1).await;
    running.drain().await;
}

#[tokio::test]
async fn nothing_is_taken_while_the_disk_is_nearly_full() {
    let gateway = FakeGateway::start([Say::Xml]).await;
    let mut bench = Bench::new(&gateway.url).await;
    bench.reserve = u64::MAX;
    bench.put("queue/a.pdf", PDF);
    let running = bench.start().await;
    bench
        .until("the look says why", async |bench| {
            let seen = seen(bench).await;
            seen.lie == 1 && seen.stopped.as_deref() == Some("the disk is nearly full")
        })
        .await;
    assert!(bench.documents().await.is_empty() && bench.at("queue/a.pdf").exists());
    running.drain().await;
}

#[tokio::test]
async fn a_file_that_is_put_back_from_failed_is_a_new_document() {
    let gateway = FakeGateway::start([Say::Broken]).await;
    let (bench, running) = Bench::started(&gateway.url).await;
    bench.put("queue/a.pdf", PDF);
    bench.until_stage(Stage::Failed, 1).await;
    gateway.now(Say::Xml);
    // As `mv` does it: the same bytes, the same time of change.
    std::fs::create_dir_all(bench.at("queue")).unwrap();
    std::fs::rename(bench.at("failed/a.pdf"), bench.at("queue/a.pdf")).unwrap();
    bench.until_stage(Stage::Done, 1).await;
    assert_eq!(bench.documents().await.len(), 2);
    assert!(bench.at("result/a.pdf").is_file() && !bench.at("failed/a.pdf").exists());
    running.drain().await;
}

#[tokio::test]
async fn a_file_that_somebody_put_into_pdf_by_hand_is_processed_too() {
    let gateway = FakeGateway::start([Say::Xml]).await;
    let (bench, running) = Bench::started(&gateway.url).await;
    bench.put("pdf/team/a.pdf", PDF);
    bench.until_file("result/team/a.pdf").await;
    bench.until_stage(Stage::Done, 1).await;
    assert_eq!(bench.files(), ["result/team/a.pdf", "result/team/a.xml"]);
    running.drain().await;
}

#[tokio::test]
async fn another_file_in_the_place_of_one_that_was_read_is_not_mistaken_for_it() {
    let gateway = FakeGateway::start([Say::Broken, Say::Silence]).await;
    let (bench, running) = Bench::started(&gateway.url).await;
    bench.put("queue/a.pdf", PDF);
    bench.until("the second run is being made", async |_| gateway.calls().0 == 2).await;
    let other = [PDF, b"another"].concat();
    bench.put("pdf/a.pdf", &other);
    gateway.now(Say::Xml);
    running.drain().await;
    let running = bench.start().await;
    bench.until_file("result/a.pdf").await;
    assert_eq!(
        std::fs::read(bench.at("result/a.pdf")).unwrap(),
        other,
        "the new one is a document of its own"
    );
    bench
        .until("the old one is on record", async |bench| {
            bench
                .records()
                .await
                .iter()
                .any(|row| matches!(row.code, Code::SourceChanged | Code::SourceMissing))
        })
        .await;
    running.drain().await;
}
