//! What becomes of a PDF when all goes well.

use redrive_engine::model::State;
use redrive_engine::store::intake::Stage;
use redrive_intake::Noted;

use crate::bench::{Bench, PDF};
use crate::gateway::{FakeGateway, Say};

/// Also covers: K1.
#[tokio::test]
async fn a_pdf_in_the_queue_ends_in_result_with_its_xml() {
    let gateway = FakeGateway::start([Say::Xml]).await;
    let (bench, running) = Bench::started(&gateway.url).await;
    bench.put("queue/team/Bericht 1.pdf", PDF);
    bench.put("queue/notes.txt", b"no PDF");
    bench.until_stage(Stage::Done, 1).await;
    assert_eq!(
        bench.files(),
        ["queue/notes.txt", "result/team/Bericht 1.pdf", "result/team/Bericht 1.xml"],
        "sub-folders are kept, and what is no PDF stays"
    );
    assert_eq!(std::fs::read(bench.at("result/team/Bericht 1.pdf")).unwrap(), PDF);
    let document = &bench.documents().await[0];
    assert_eq!((document.owner.as_str(), document.retries, document.bytes), ("default", 0, PDF.len() as u64));
    assert!(document.sha256.is_some());
    let job = bench.engine.job_ended(document.id).await.unwrap().unwrap();
    assert_eq!((job.state, job.owner), (State::Complete, None));
    let noted = Noted::parse(job.result.as_deref().unwrap()).unwrap();
    assert_eq!((noted.pdf.as_str(), noted.pages), ("result/team/Bericht 1.pdf", Some(3)));
    assert_eq!(noted.outputs[0].key, "result/team/Bericht 1.xml");
    assert!(bench.records().await.is_empty());
    running.drain().await;
}

#[tokio::test]
async fn an_older_result_of_the_same_name_stays_as_it_is() {
    let gateway = FakeGateway::start([Say::Xml]).await;
    let (bench, running) = Bench::started(&gateway.url).await;
    bench.put("result/a.pdf", b"older");
    bench.put("result/a.xml", b"<older/>");
    bench.put("queue/a.pdf", PDF);
    bench.until_stage(Stage::Done, 1).await;
    assert_eq!(bench.files(), ["result/a-2.pdf", "result/a-2.xml", "result/a.pdf", "result/a.xml"]);
    assert_eq!(std::fs::read(bench.at("result/a.pdf")).unwrap(), b"older");
    running.drain().await;
}

#[tokio::test]
async fn files_of_the_older_folder_retry_are_taken_too() {
    let gateway = FakeGateway::start([Say::Xml]).await;
    let (bench, running) = Bench::started(&gateway.url).await;
    bench.put("retry/old/a.pdf", PDF);
    bench.until_stage(Stage::Done, 1).await;
    assert_eq!(bench.files(), ["result/old/a.pdf", "result/old/a.xml"]);
    running.drain().await;
}

#[tokio::test]
async fn many_files_are_each_processed_once() {
    let gateway = FakeGateway::start([Say::Xml]).await;
    let bench = Bench::new(&gateway.url).await;
    for n in 0..40 {
        bench.put(&format!("queue/{}/{n}.pdf", n % 3), &[PDF, n.to_string().as_bytes()].concat());
    }
    let running = bench.start().await;
    bench.until_stage(Stage::Done, 40).await;
    assert_eq!(gateway.calls().0, 40);
    assert_eq!(bench.files().len(), 80);
    assert!(bench.files().iter().all(|name| name.starts_with("result/")));
    running.drain().await;
}
