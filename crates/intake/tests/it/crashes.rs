//! What a process that died leaves, and who puts it right.

use redrive_blob::Key;
use redrive_blob::shelf::Meta;
use redrive_engine::JobId;
use redrive_engine::model::LeaseToken;
use redrive_engine::store::intake::{Began, DocumentChange, MoveRow, NewDocument, NewMove, Stage};

use crate::bench::{Bench, PDF};
use crate::gateway::{FakeGateway, Say};

/// A document as a scan takes it in.
async fn taken(bench: &Bench, path: &str) -> JobId {
    bench.put(&format!("queue/{path}"), PDF);
    let key = Key::parse(&format!("queue/{path}")).unwrap();
    let (item, _) = bench.mover.shelf.look(&key).await.unwrap().unwrap();
    let id = redrive_intake::document_id(bench.mover.shelf.root(), &item, 0);
    let document = NewDocument {
        id,
        root: bench.mover.shelf.root().to_owned(),
        path: path.to_owned(),
        key: key.as_str().to_owned(),
        version: item.version,
        bytes: item.bytes,
        owner: "default".to_owned(),
    };
    bench.intake.take_in(vec![document]).await.unwrap();
    id
}

async fn begun(bench: &Bench, id: JobId, token: i64, to: &str) -> MoveRow {
    let intent = NewMove {
        document: id,
        token: LeaseToken(token),
        to: to.to_owned(),
        why: "process".to_owned(),
        meta: None,
    };
    match bench.intake.begin_move(intent).await.unwrap() {
        Began::Open(row) => row,
        other => panic!("{other:?}"),
    }
}

async fn relocate(bench: &Bench, row: &MoveRow) {
    let (from, to) = (Key::parse(&row.from).unwrap(), Key::parse(&row.to).unwrap());
    bench.mover.shelf.relocate(&from, &row.version, &to, &Meta::new()).await.unwrap();
}

/// Also covers: M41.
#[tokio::test]
async fn moves_that_were_only_written_down_and_moves_that_were_only_made_are_finished() {
    let gateway = FakeGateway::start([Say::Xml]).await;
    let bench = Bench::new(&gateway.url).await;
    let (a, b) = (taken(&bench, "a.pdf").await, taken(&bench, "b.pdf").await);
    begun(&bench, a, 1, "pdf/a.pdf").await;
    let made = begun(&bench, b, 1, "pdf/b.pdf").await;
    relocate(&bench, &made).await;
    // Their jobs were never handed in: the process died before.
    let running = bench.start().await;
    bench.until_stage(Stage::Done, 2).await;
    assert_eq!(bench.files(), ["result/a.pdf", "result/a.xml", "result/b.pdf", "result/b.xml"]);
    assert!(bench.intake.open_moves(bench.mover.shelf.root(), 0, 10).await.unwrap().is_empty());
    running.drain().await;
}

#[tokio::test]
async fn a_move_that_somebody_slow_made_after_its_end_loses_nothing() {
    let gateway = FakeGateway::start([Say::Xml]).await;
    let bench = Bench::new(&gateway.url).await;
    let id = taken(&bench, "a.pdf").await;
    let slow = begun(&bench, id, 1, "pdf/a.pdf").await;
    bench.mover.finish(slow.clone()).await.unwrap().unwrap();
    let back = begun(&bench, id, 1, "queue/a.pdf").await;
    bench.mover.finish(back).await.unwrap().unwrap();
    // The slow one has read the first row long ago, and makes that move only now: the rows say queue/, the file is in pdf/.
    assert_eq!(bench.mover.finish(slow).await.unwrap(), None, "its row has ended");
    assert_eq!(bench.files(), ["pdf/a.pdf"]);
    let next = begun(&bench, id, 1, "failed/a.pdf").await;
    bench.mover.finish(next).await.unwrap().unwrap();
    assert_eq!(bench.files(), ["failed/a.pdf"]);
    assert_eq!(bench.documents().await[0].place, "failed/a.pdf");
}

#[tokio::test]
async fn a_second_mover_that_finds_nothing_does_not_lose_what_the_first_has_moved_on() {
    let gateway = FakeGateway::start([Say::Xml]).await;
    let bench = Bench::new(&gateway.url).await;
    let id = taken(&bench, "a.pdf").await;
    let first = begun(&bench, id, 1, "pdf/a.pdf").await;
    bench.mover.finish(first.clone()).await.unwrap().unwrap();
    let on = begun(&bench, id, 1, "result/a.pdf").await;
    bench.mover.finish(on).await.unwrap().unwrap();
    assert_eq!(bench.mover.finish(first).await.unwrap(), None);
    let document = &bench.documents().await[0];
    assert_eq!((document.stage, document.place.as_str()), (Stage::Waiting, "result/a.pdf"));
    assert_eq!(bench.files(), ["result/a.pdf"]);
}

#[tokio::test]
async fn a_row_whose_job_ended_unheard_takes_no_place_for_ever() {
    let gateway = FakeGateway::start([Say::Broken]).await;
    let (bench, running) = Bench::started(&gateway.url).await;
    bench.put("queue/a.pdf", PDF);
    bench.until_stage(Stage::Failed, 1).await;
    let id = bench.documents().await[0].id;
    // As if nobody had heard of its end.
    bench
        .intake
        .change_document(id, LeaseToken(i64::MAX), DocumentChange::stage(Stage::Processing))
        .await
        .unwrap();
    std::fs::create_dir_all(bench.at("queue")).unwrap();
    bench.put("queue/wake.txt", b"look");
    bench.until_stage(Stage::Failed, 1).await;
    assert!(bench.at("failed/a.pdf").is_file());
    assert_eq!(bench.intake.live_documents(bench.mover.shelf.root()).await.unwrap(), 0);
    running.drain().await;
}
