//! One process at a time works on a file; a second one is told so in one line, and may look.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use redrive_model::State;
use redrive_store::{Enqueue, Store, StoreError};
use redrive_store_conformance::Kit;
use redrive_store_sqlite::{Options, SqliteStore};
use tempfile::TempDir;

use crate::damage::refused;
use crate::harness::{self, Sqlite, file_in};

/// The file whose presence tells the helper test below that it is meant.
const GO: &str = "go";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_store_on_the_same_file_is_refused_with_one_line() {
    let h = harness::file().await;
    Kit::new(&h).put_n(3).await;
    let said = refused(&h.path()).await;
    assert!(said.contains("in use by another redrive process"), "{said}");
    assert!(said.contains(&std::process::id().to_string()), "it says which: {said}");
    // Neither did the refused one disturb the first, nor does the lock outlive it.
    Kit::new(&h).audit().await;
    let folder = h.close();
    let again = SqliteStore::open(file_in(&folder)).await.unwrap();
    assert_eq!(again.counts().await.unwrap().total(State::Queued), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_process_on_the_same_file_is_refused() {
    let h = harness::file().await;
    Kit::new(&h).put_n(1).await;
    let folder = h.path().parent().unwrap().to_owned();
    let said = child_opens(&folder);
    assert!(said.starts_with("refused: ") && said.contains("in use by another redrive process"), "{said}");
    let closed = h.close();
    assert_eq!(child_opens(closed.path()), "opened with 1 queued");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lock_of_another_process_is_respected() {
    let folder = harness::file().await.close();
    let lock = harness::beside(&file_in(&folder), ".lock");
    // It says one line when it has the lock, and keeps it until its input ends.
    let mut holder = Command::new("flock")
        .arg(&lock)
        .args(["sh", "-c", "echo locked; read line"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(holder.stdout.take().unwrap()), &mut line)
        .unwrap();
    assert_eq!(line, "locked\n");
    let said = refused(&file_in(&folder)).await;
    assert!(said.contains("in use by another redrive process"), "{said}");
    drop(holder.stdin.take());
    holder.wait().unwrap();
    Sqlite::at(&file_in(&folder)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_starters_on_a_fresh_file_one_wins_and_the_schema_is_whole() {
    for _ in 0..10 {
        let folder = TempDir::new().unwrap();
        let path = file_in(&folder);
        let tries = futures_join(&path).await;
        let won: Vec<&SqliteStore> = tries.iter().filter_map(|t| t.as_ref().ok()).collect();
        assert_eq!(won.len(), 1, "exactly one may work");
        for lost in tries.iter().filter_map(|t| t.as_ref().err()) {
            assert!(matches!(lost, StoreError::Refused(_)), "{lost:?}");
        }
        let id = redrive_model::JobId::from_parts(won[0].now().await.unwrap(), [1; 10]);
        let name = redrive_model::WorkloadName::new("work").unwrap();
        let job = redrive_store::NewJob::new(id, name, Vec::new());
        won[0].enqueue(Enqueue::jobs(vec![job])).await.unwrap();
        assert!(won[0].job(id).await.unwrap().is_some());
    }
}

async fn futures_join(path: &Path) -> Vec<redrive_store::Result<SqliteStore>> {
    let tries: Vec<_> = (0..4).map(|_| tokio::spawn(SqliteStore::open(path.to_owned()))).collect();
    let mut answers = Vec::new();
    for one in tries {
        answers.push(one.await.unwrap());
    }
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_beside_a_working_store_sees_everything_and_writes_nothing() {
    let h = harness::file().await;
    let k = Kit::new(&h);
    let ids = k.put_n(3).await;
    let looking = Options::default().clock(harness::clock()).read_only(h.path()).unwrap();
    assert_eq!(looking.counts().await.unwrap().total(State::Queued), 3);
    assert_eq!(looking.job(ids[0]).await.unwrap().unwrap(), k.row(ids[0]).await);
    let claimed = k.claim_one().await;
    k.complete(&claimed).await;
    assert_eq!(looking.job(ids[0]).await.unwrap().unwrap().state, State::Complete);
    assert_eq!(looking.events_after(redrive_model::EventSeq(0), 10).await.unwrap().len(), 5);
    for answer in [
        looking.enqueue(Enqueue::jobs(vec![k.job()])).await.map(drop),
        looking.claim(k.ask(1)).await.map(drop),
        looking.cancel(ids.clone(), None).await.map(drop),
        looking.pause(None, "ann").await,
    ] {
        assert!(matches!(answer, Err(StoreError::Refused(_))), "{answer:?}");
    }
    let missing = h.path().with_file_name("nothing.db");
    assert!(matches!(Options::default().read_only(&missing), Err(StoreError::Refused(_))));
    assert!(!missing.exists(), "looking creates nothing");
    k.audit().await;
}

/// Runs the test below in a process of its own, in this folder; answers what it wrote down.
fn child_opens(folder: &Path) -> String {
    fs::write(folder.join(GO), "").unwrap();
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "lock::child_opens_the_file_in_its_working_folder", "--nocapture"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    fs::read_to_string(folder.join("said")).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_opens_the_file_in_its_working_folder() {
    // Does its part only in a folder that was prepared for it.
    if !Path::new(GO).exists() {
        return;
    }
    let said = match SqliteStore::open("redrive.db").await {
        Ok(store) => format!("opened with {} queued", store.counts().await.unwrap().total(State::Queued)),
        Err(error) => format!("refused: {error}"),
    };
    fs::write("said", said).unwrap();
}
