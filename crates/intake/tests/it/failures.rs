//! What becomes of a PDF whose runs fail: counted, back to the queue, given up in the end, and never deleted.

use std::time::Duration;

use redrive_engine::store::intake::Stage;
use redrive_engine::{By, Code};
use redrive_intake::MAX_RETRIES;

use crate::bench::{Bench, PDF};
use crate::gateway::{FakeGateway, Say};

#[tokio::test]
async fn a_broken_pdf_is_given_up_after_four_runs_with_a_record_of_each() {
    let gateway = FakeGateway::start([Say::Broken]).await;
    let (bench, running) = Bench::started(&gateway.url).await;
    bench.put("queue/team/broken.pdf", PDF);
    bench.until_stage(Stage::Failed, 1).await;
    bench.until("four records", async |bench| bench.records().await.len() == 4).await;
    assert_eq!(gateway.calls().0, 4, "three retries are four runs");
    assert_eq!(std::fs::read(bench.at("failed/team/broken.pdf")).unwrap(), PDF);
    assert!(!bench.files().iter().any(|name| name.starts_with("queue/") || name.starts_with("pdf/")));
    let document = &bench.documents().await[0];
    assert_eq!((document.retries, document.exceeded), (3, true));
    assert_eq!(document.place, "failed/team/broken.pdf");
    let records = bench.records().await;
    for (n, record) in records.iter().enumerate() {
        assert_eq!(record.document, document.id);
        assert_eq!(record.owner, "default");
        assert_eq!(record.pdf_key, "pdf/team/broken.pdf");
        assert_eq!(record.retry_count as usize, (n + 1).min(3), "never more than there may be");
        assert!(!record.notified);
        assert_eq!(record.code, Code::ParseError, "{record:?}");
        let last = n == 3;
        assert_eq!(record.max_retries_exceeded, last);
        assert_eq!(record.failed_key.as_deref(), last.then_some("failed/team/broken.pdf"));
    }
    assert!(records.windows(2).all(|two| two[0].failure_id != two[1].failure_id));
    running.drain().await;
}

#[tokio::test]
async fn a_document_that_recovers_ends_in_result_and_its_failures_stay_on_record() {
    let gateway = FakeGateway::start([Say::Status(500), Say::Broken, Say::Xml]).await;
    let (bench, running) = Bench::started(&gateway.url).await;
    bench.put("queue/a.pdf", PDF);
    bench.until_stage(Stage::Done, 1).await;
    bench.until("two records", async |bench| bench.records().await.len() == 2).await;
    assert_eq!(bench.files(), ["result/a.pdf", "result/a.xml"]);
    let document = &bench.documents().await[0];
    assert_eq!((document.stage, document.exceeded), (Stage::Done, false));
    assert!(bench.records().await.iter().all(|record| !record.max_retries_exceeded));
    running.drain().await;
}

#[tokio::test]
async fn a_document_that_waits_for_its_next_run_lies_in_the_queue() {
    let gateway = FakeGateway::start([Say::Status(500), Say::Silence]).await;
    let mut bench = Bench::new(&gateway.url).await;
    bench.wait = Duration::from_secs(3600);
    bench.put("queue/team/a.pdf", PDF);
    bench.put("temp/team/a/part", b"of a run that failed");
    let running = bench.start().await;
    bench.until_stage(Stage::Waiting, 1).await;
    bench.until("one record", async |bench| bench.records().await.len() == 1).await;
    bench.until("temp is cleared", async |bench| bench.files() == ["queue/team/a.pdf"]).await;
    let record = &bench.records().await[0];
    assert_eq!(record.queue_key.as_deref(), Some("queue/team/a.pdf"));
    assert_eq!((record.retry_count, record.failed_key.clone()), (1, None));
    assert_eq!((record.code, record.max_retries_exceeded), (Code::Gw5xx, false));
    running.drain().await;
}

#[tokio::test]
async fn the_number_of_retries_can_be_changed_while_everything_runs() {
    let gateway = FakeGateway::start([Say::Broken]).await;
    let (bench, running) = Bench::started(&gateway.url).await;
    bench.store.set_setting(MAX_RETRIES, Some("1"), "test").await.unwrap();
    bench.put("queue/a.pdf", PDF);
    bench.until_stage(Stage::Failed, 1).await;
    assert_eq!(gateway.calls().0, 2);
    running.drain().await;
}

#[tokio::test]
async fn a_cancelled_document_goes_to_failed_with_that_reason() {
    let gateway = FakeGateway::start([Say::Silence]).await;
    let (bench, running) = Bench::started(&gateway.url).await;
    bench.put("queue/a.pdf", PDF);
    bench.until("the gateway was asked", async |_| gateway.calls().0 == 1).await;
    let id = bench.documents().await[0].id;
    bench.engine.cancel(vec![id], &By::new("test")).await.unwrap();
    bench.until_stage(Stage::Failed, 1).await;
    bench.until("a record", async |bench| !bench.records().await.is_empty()).await;
    assert_eq!(bench.files(), ["failed/a.pdf"]);
    let records = bench.records().await;
    assert_eq!((records.len(), records[0].code), (1, Code::Cancelled));
    assert!(!records[0].max_retries_exceeded);
    assert_eq!(records[0].failed_key.as_deref(), Some("failed/a.pdf"));
    running.drain().await;
}

#[tokio::test]
async fn a_document_that_is_started_again_by_hand_can_still_succeed() {
    let gateway = FakeGateway::start([Say::Broken]).await;
    let (bench, running) = Bench::started(&gateway.url).await;
    bench.put("queue/a.pdf", PDF);
    bench.until_stage(Stage::Failed, 1).await;
    gateway.now(Say::Xml);
    let id = bench.documents().await[0].id;
    bench.engine.retry(vec![id], &By::new("test")).await.unwrap();
    bench.until_stage(Stage::Done, 1).await;
    let document = &bench.documents().await[0];
    assert_eq!((document.place.as_str(), document.exceeded), ("result/a.pdf", false));
    assert!(!bench.at("failed/a.pdf").exists());
    running.drain().await;
}
