//! Large PDFs, in parts.

use std::time::Duration;

use redrive_engine::model::{BatchState, State};
use redrive_engine::store::intake::Stage;
use redrive_engine::store::{BatchFilter, DeadFilter, DeadState, JobFilter, JobRow, PageRequest};
use redrive_engine::{By, Code, Engine, Options, WorkloadName};
use redrive_intake::Noted;

use crate::bench::{Bench, On, quick};
use crate::reading::{Fault, ReadingGateway, large, whole};

const PAGE: PageRequest = PageRequest { limit: 100, cursor: None };

async fn bench(gateway: &ReadingGateway, mapping: &str) -> Bench {
    bench_on(On::Folder, gateway, mapping).await
}

async fn bench_on(on: On, gateway: &ReadingGateway, mapping: &str) -> Bench {
    let mut bench = Bench::on(on, &gateway.url).await;
    bench.pages_per_part = 5;
    bench.mapping = Some(mapping.to_owned());
    bench
}

async fn parts(bench: &Bench) -> Vec<JobRow> {
    let filter =
        JobFilter { workload: Some(WorkloadName::new("intake.part").unwrap()), ..JobFilter::default() };
    bench.store.jobs(filter, PAGE).await.unwrap().rows
}

async fn open_letters(bench: &Bench) -> Vec<String> {
    let filter = DeadFilter { state: Some(DeadState::Open), ..DeadFilter::default() };
    let rows = bench.store.dead_letters(filter, PAGE).await.unwrap().rows;
    rows.iter().map(|row| row.workload.as_str().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_pdf_is_made_in_parts_and_is_what_the_whole_would_be() {
    let gateway = ReadingGateway::start().await;
    let pdf = large(12);
    for (on, mapping) in [(On::Folder, "text"), (On::Folder, "alto"), (On::Bucket, "text")] {
        let bench = bench_on(on, &gateway, mapping).await;
        bench.put("queue/team/book.pdf", &pdf);
        let running = bench.start().await;
        bench.until_stage(Stage::Done, 1).await;
        running.drain().await;
        assert_eq!(bench.files(), ["result/team/book.pdf", "result/team/book.xml"], "temp is clean");
        let made = std::fs::read_to_string(bench.at("result/team/book.xml")).unwrap();
        assert!(made == whole(&pdf, mapping), "{mapping}");
        let row = bench.store.job(bench.documents().await[0].id).await.unwrap().unwrap();
        let noted = Noted::parse(row.result.as_deref().unwrap()).unwrap();
        assert_eq!((noted.pages, row.attempt), (Some(12), 1), "waiting costs no attempt");
        assert!(parts(&bench).await.iter().all(|part| part.state == State::Complete));
        assert_eq!(bench.records().await, []);
    }
    let third = [Some((1, 4)), Some((5, 8)), Some((9, 12))];
    assert_eq!(gateway.asked(), third.into_iter().flat_map(|range| [range; 3]).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_that_fails_is_the_failure_of_its_documents_run() {
    let gateway = ReadingGateway::start().await;
    gateway.fault(5, Fault::Status(500, 1));
    let bench = bench(&gateway, "text").await;
    let pdf = large(12);
    bench.put("queue/book.pdf", &pdf);
    let running = bench.start().await;
    bench.until_stage(Stage::Done, 1).await;
    bench.until("one record", async |bench| bench.records().await.len() == 1).await;
    running.drain().await;
    assert_eq!(bench.files(), ["result/book.pdf", "result/book.xml"]);
    assert!(std::fs::read_to_string(bench.at("result/book.xml")).unwrap() == whole(&pdf, "text"));
    let record = &bench.records().await[0];
    assert_eq!(record.code, Code::Gw5xx);
    let row = bench.store.job(bench.documents().await[0].id).await.unwrap().unwrap();
    let attempts = bench.store.attempts(row.id).await.unwrap();
    let said = attempts.iter().find_map(|attempt| attempt.message.clone()).unwrap();
    assert!(said.contains("pages 5–8: status 500"), "{said}");
    assert_eq!(row.attempt, 2);
    assert_eq!(open_letters(&bench).await, Vec::<String>::new(), "its document has told of it");
    assert_eq!(gateway.asked().iter().filter(|range| **range == Some((5, 8))).count(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_whose_part_never_works_is_given_up_and_leaves_nothing_in_temp() {
    for on in [On::Folder, On::Bucket] {
        given_up_on(on).await;
    }
}

async fn given_up_on(on: On) {
    let gateway = ReadingGateway::start().await;
    gateway.fault(9, Fault::Status(422, 100));
    let bench = bench_on(on, &gateway, "text").await;
    let pdf = large(12);
    bench.put("queue/team/book.pdf", &pdf);
    let running = bench.start().await;
    bench.until_stage(Stage::Failed, 1).await;
    bench.until("four records", async |bench| bench.records().await.len() == 4).await;
    let clean = async |bench: &Bench| !bench.files().iter().any(|name| name.starts_with("temp/"));
    bench.until("temp is clean", clean).await;
    running.drain().await;
    assert_eq!(std::fs::read(bench.at("failed/team/book.pdf")).unwrap(), pdf);
    for record in bench.records().await {
        assert_eq!(record.code, Code::ValidationError, "{record:?}");
        assert!(record.failure_reason.contains("pages 9–12: status 422"), "{record:?}");
    }
    assert_eq!(open_letters(&bench).await, ["intake"]);
    let workload = WorkloadName::new("intake.part").unwrap();
    let filter = BatchFilter { workload, owner: None, live: false };
    let batches = bench.engine.batches(filter, PAGE).await.unwrap().rows;
    assert_eq!(batches.len(), 4, "one for each run");
    assert!(batches.iter().all(|batch| batch.state != BatchState::Processing));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_knows_no_inspection_or_no_ranges_gets_the_whole() {
    let pdf = large(12);
    for ranges in [false, true] {
        let gateway = ReadingGateway::start().await;
        if ranges {
            gateway.knows_no_ranges();
        } else {
            gateway.knows_no_inspection();
        }
        let bench = bench(&gateway, "docbook").await;
        let running = bench.start().await;
        for (n, name) in (1..).zip(["a", "b"]) {
            bench.put(&format!("queue/{name}.pdf"), &pdf);
            bench.until_stage(Stage::Done, n).await;
            let made = std::fs::read_to_string(bench.at(&format!("result/{name}.xml"))).unwrap();
            assert!(made == whole(&pdf, "docbook"));
        }
        running.drain().await;
        assert_eq!(bench.files().len(), 4, "{:?}", bench.files());
        assert_eq!(bench.records().await, []);
        let asked = gateway.asked();
        assert_eq!(asked.iter().filter(|range| range.is_none()).count(), 2);
        assert_eq!(asked.len(), if ranges { 5 } else { 2 }, "it is found out once: {asked:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pdf_of_one_part_or_of_few_bytes_goes_as_a_whole() {
    let gateway = ReadingGateway::start().await;
    let bench = bench(&gateway, "text").await;
    let running = bench.start().await;
    bench.put("queue/few-pages.pdf", &large(5));
    bench.put("queue/small.pdf", &redrive_gateway::sample::pages(&["BT /F1 12 Tf 72 300 Td (a) Tj ET"; 9]));
    bench.until_stage(Stage::Done, 2).await;
    running.drain().await;
    assert_eq!(gateway.asked(), [None, None]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_of_a_document_that_is_cancelled_are_stopped_and_leave_nothing() {
    let gateway = ReadingGateway::start().await;
    gateway.fault(1, Fault::Gate);
    gateway.fault(9, Fault::Gate);
    let bench = bench(&gateway, "text").await;
    bench.put("queue/book.pdf", &large(12));
    let running = bench.start().await;
    bench.until("all were asked for", async |_| gateway.asked().len() == 3).await;
    let id = bench.documents().await[0].id;
    let waits = async |bench: &Bench| bench.store.job(id).await.unwrap().unwrap().awaits.is_some();
    bench.until("it waits", waits).await;
    bench.until("a part lies in temp", async |bench| bench.files().len() == 2).await;
    assert!(bench.files()[1].starts_with("temp/book/1-000005-000008-"), "{:?}", bench.files());
    bench.engine.cancel(vec![id], &By::new("ann")).await.unwrap();
    bench.until("temp is clean", async |bench| bench.files() == ["failed/book.pdf"]).await;
    // Two of them have their answers only now.
    gateway.gate.add_permits(10);
    let ended = async |bench: &Bench| parts(bench).await.iter().all(|part| part.state.is_terminal());
    bench.until("its parts have ended", ended).await;
    running.drain().await;
    assert_eq!(bench.files(), ["failed/book.pdf"]);
    assert_eq!(open_letters(&bench).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_goes_on_with_its_parts_in_the_next_process() {
    let gateway = ReadingGateway::start().await;
    gateway.fault(5, Fault::Gate);
    let mut bench = bench(&gateway, "alto").await;
    let pdf = large(12);
    bench.put("queue/book.pdf", &pdf);
    let running = bench.start().await;
    bench.until("two parts lie in temp", async |bench| bench.files().len() == 3).await;
    running.drain().await;
    gateway.gate.add_permits(10);
    bench.engine = Engine::new(bench.store.clone(), quick()).await.unwrap();
    let running = bench.start().await;
    bench.until_stage(Stage::Done, 1).await;
    running.drain().await;
    assert_eq!(bench.files(), ["result/book.pdf", "result/book.xml"]);
    assert!(std::fs::read_to_string(bench.at("result/book.xml")).unwrap() == whole(&pdf, "alto"));
    assert_eq!(gateway.asked().len(), 4, "only the part that was stopped was made again");
    assert_eq!(bench.records().await, []);
}

/// A process that is killed while one part is being made: no release, no last word. The leases run out, the part is made again, and
/// the parts that were made before are taken as they are.
#[test]
fn a_process_that_is_killed_within_a_part_costs_that_part_and_nothing_else() {
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let short =
        || Options { lease_ttl: Duration::from_secs(2), sweep: Duration::from_millis(100), ..quick() };
    let (outside, pdf) = (runtime(), large(12));
    for on in [On::Folder, On::Bucket] {
        let (gateway, mut bench) = outside.block_on(async {
            let gateway = ReadingGateway::start().await;
            gateway.fault(5, Fault::Gate);
            let bench = bench_on(on, &gateway, "text").await;
            bench.put("queue/team/book.pdf", &pdf);
            (gateway, bench)
        });
        let first = runtime();
        let running = first.block_on(async {
            bench.engine = Engine::new(bench.store.clone(), short()).await.unwrap();
            let running = bench.start().await;
            let complete = async |bench: &Bench| {
                parts(bench).await.iter().filter(|part| part.state == State::Complete).count() == 2
            };
            bench.until("two parts are made", complete).await;
            let waits = async |bench: &Bench| {
                let id = bench.documents().await[0].id;
                bench.store.job(id).await.unwrap().unwrap().awaits.is_some()
            };
            bench.until("its document waits", waits).await;
            bench.until("the third was asked for", async |_| gateway.asked().len() == 3).await;
            running
        });
        first.shutdown_background();
        drop(running);
        outside.block_on(async {
            gateway.gate.add_permits(10);
            bench.engine = Engine::new(bench.store.clone(), short()).await.unwrap();
            let running = bench.start().await;
            bench.until_stage(Stage::Done, 1).await;
            running.drain().await;
            assert_eq!(bench.files(), ["result/team/book.pdf", "result/team/book.xml"], "temp is clean");
            let made = std::fs::read_to_string(bench.at("result/team/book.xml")).unwrap();
            assert!(made == whole(&pdf, "text"));
            let third = gateway.asked().iter().filter(|range| **range == Some((5, 8))).count();
            assert_eq!((gateway.asked().len(), third), (4, 2));
            let row = bench.store.job(bench.documents().await[0].id).await.unwrap().unwrap();
            assert_eq!((row.attempt, row.crashes), (1, 0), "its document did not crash");
            assert_eq!(bench.records().await, []);
            assert_eq!(open_letters(&bench).await, Vec::<String>::new());
        });
    }
}
