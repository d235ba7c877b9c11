//! The `.docx` about a document that was given up.

use redrive_engine::store::intake::Stage;
use redrive_engine::{Enqueue, Input};
use redrive_intake::Analyse;

use crate::bench::{Bench, PDF};
use crate::gateway::{FakeGateway, Say};

async fn given_up(gateway: &FakeGateway) -> (Bench, redrive_engine::Running) {
    let (bench, running) = Bench::started(&gateway.url).await;
    bench.put("queue/team/a.pdf", PDF);
    bench.until_stage(Stage::Failed, 1).await;
    bench.until("a report", async |bench| bench.documents().await[0].report.is_some()).await;
    (bench, running)
}

fn reports(bench: &Bench) -> Vec<String> {
    bench.files().into_iter().filter(|name| name.starts_with("reports/")).collect()
}

#[tokio::test]
async fn a_document_that_was_given_up_has_one_report_with_its_properties() {
    let gateway = FakeGateway::start([Say::Broken]).await;
    let (bench, running) = given_up(&gateway).await;
    let document = bench.documents().await.remove(0);
    let key = document.report.clone().unwrap();
    assert_eq!(reports(&bench), std::slice::from_ref(&key));
    assert!(key.starts_with("reports/failure_analysis/team/a_analysis_2"), "{key}");
    let docx = std::fs::read(bench.at(&key)).unwrap();
    assert!(docx.starts_with(b"PK"));
    assert_eq!(gateway.calls().1, 1);
    // The same end again makes no second report.
    let analyse = Analyse { document: document.id, generation: 1, path: document.path.clone() };
    let job = bench.engine.job_ended(first_job(&bench).await).await.unwrap().unwrap();
    let twin = bench.engine.enqueue_with(&analyse, Enqueue::default().id(job.id)).await.unwrap().job();
    assert_eq!(twin, job.id);
    assert_eq!(reports(&bench).len(), 1);
    running.drain().await;
}

async fn first_job(bench: &Bench) -> redrive_engine::JobId {
    let filter = redrive_engine::store::JobFilter {
        workload: redrive_engine::WorkloadName::new(Analyse::WORKLOAD).ok(),
        ..Default::default()
    };
    let page = redrive_engine::store::PageRequest { limit: 10, cursor: None };
    bench.store.jobs(filter, page).await.unwrap().rows[0].id
}

#[tokio::test]
async fn a_report_is_written_though_the_gateway_cannot_open_the_file() {
    let gateway = FakeGateway::start([Say::Broken]).await;
    gateway.inspects(Say::Broken);
    let (bench, running) = given_up(&gateway).await;
    assert_eq!((reports(&bench).len(), gateway.calls().1), (1, 1), "a refusal is an answer");
    running.drain().await;
}

#[tokio::test]
async fn a_report_is_written_without_properties_when_the_gateway_stays_away() {
    let gateway = FakeGateway::start([Say::Broken]).await;
    gateway.inspects(Say::Status(500));
    let (bench, running) = given_up(&gateway).await;
    assert_eq!((reports(&bench).len(), gateway.calls().1), (1, 4), "asked four times, then written");
    running.drain().await;
}

#[tokio::test]
async fn a_second_end_of_a_document_has_a_report_of_its_own() {
    let gateway = FakeGateway::start([Say::Broken]).await;
    let (bench, running) = given_up(&gateway).await;
    let (id, first) = (bench.documents().await[0].id, bench.documents().await[0].report.clone());
    bench.engine.retry(vec![id], &redrive_engine::By::new("test")).await.unwrap();
    bench.until("another report", async |bench| bench.documents().await[0].report != first).await;
    assert_eq!(reports(&bench).len(), 2);
    assert_eq!(bench.files().iter().filter(|name| name.ends_with(".pdf")).count(), 1);
    running.drain().await;
}
