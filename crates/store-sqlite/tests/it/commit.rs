//! A disk that fails in a commit: whether it happened is not known, and is not said to be.

use std::process::Command;

use redrive_model::State;
use redrive_store::{Enqueue, NewJob, StoreError};
use redrive_store_conformance::Kit;
use tokio::signal::unix::{SignalKind, signal};

use crate::harness::{self, beside};

/// Set in the process of the test's own.
const ALONE: &str = "REDRIVE_TEST_ALONE";
const FILE_TOO_LARGE: i32 = 25;

/// How large files of this process may become.
fn limit_files(most: &str) {
    let process = std::process::id().to_string();
    let set = Command::new("prlimit").args(["--pid", &process, &format!("--fsize={most}:")]).status();
    assert!(set.unwrap().success(), "prlimit {most}");
}

/// The limit is the whole process's, so the test runs in one of its own.
#[test]
#[expect(clippy::disallowed_methods, reason = "how the process is told that it is the test's own")]
fn a_commit_that_the_disk_fails_is_told_as_unknown() {
    let name = "commit::a_commit_that_the_disk_fails_is_told_as_unknown";
    if std::env::var_os(ALONE).is_some() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.unwrap().block_on(alone());
    } else {
        let this = std::env::current_exe().unwrap();
        let run = Command::new(this).args(["--exact", name, "--nocapture"]).env(ALONE, "1").output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    }
}

async fn alone() {
    // Otherwise the first byte too many ends the process.
    let _told = signal(SignalKind::from_raw(FILE_TOO_LARGE)).unwrap();
    let h = harness::file().await;
    let k = Kit::new(&h);
    k.put_n(5).await;
    let log = beside(&h.path(), "-wal");
    let room = std::fs::metadata(log).unwrap().len() + 8_192;
    limit_files(&room.to_string());
    let large = NewJob { input: vec![7; 100_000], ..k.job() };
    let id = large.id;
    let answer = k.store.enqueue(Enqueue::jobs(vec![large.clone()])).await;
    limit_files("unlimited");
    assert!(matches!(answer, Err(StoreError::Unknown { .. })), "{answer:?}");
    k.store.enqueue(Enqueue::jobs(vec![large])).await.unwrap();
    assert!(k.store.job(id).await.unwrap().is_some());
    assert_eq!(k.store.counts().await.unwrap().total(State::Queued), 6, "once, however often it was said");
    k.audit().await;
}
