//! A file that is damaged, not ours or of another time is refused with one line and left exactly as it is.

use std::fs;
use std::path::Path;

use redrive_model::State;
use redrive_store::{Store, StoreError};
use redrive_store_conformance::Kit;
use redrive_store_sqlite::{Options, SqliteStore};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::harness::{self, beside, file_in, snapshot};

/// Opening is refused with one clear line, and not a byte of the file changes. Answers the line.
pub(crate) async fn refused(path: &Path) -> String {
    let before = fs::read(path).ok();
    let said = match SqliteStore::open(path).await {
        Err(StoreError::Refused(said)) => said,
        Err(other) => panic!("not refused but {other:?}"),
        Ok(_) => panic!("{} was opened; it had {:?} bytes", path.display(), before.map(|b| b.len())),
    };
    assert!(!said.is_empty() && !said.contains('\n'), "one line: {said:?}");
    assert!(fs::read(path).ok() == before, "the file was changed by the refused attempt: {said}");
    said
}

/// A closed database with a few hundred jobs.
async fn filled() -> TempDir {
    let h = harness::file().await;
    let k = Kit::new(&h);
    k.put_n(500).await;
    for claimed in k.claim(50).await {
        k.complete(&claimed).await;
    }
    drop(k);
    h.close()
}

/// Also covers: M30.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overwritten_header_is_refused() {
    let folder = filled().await;
    overwrite(&file_in(&folder), 0, b"this was SQLite format once     ");
    let said = refused(&file_in(&folder)).await;
    assert!(said.contains("damaged"), "{said}");
    assert!(matches!(Options::default().read_only(file_in(&folder)), Err(StoreError::Refused(_))));
}

/// Also covers: M30.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flipped_page_is_refused() {
    let folder = filled().await;
    let size = fs::metadata(file_in(&folder)).unwrap().len();
    let pages = size / 4_096;
    let mut found = 0;
    for page in [1, pages / 3, pages / 2, pages - 1] {
        let copy = snapshot(&file_in(&folder), &[""]);
        let mut bytes = fs::read(file_in(&copy)).unwrap();
        let at = usize::try_from(page * 4_096).unwrap();
        for byte in &mut bytes[at..at + 64] {
            *byte ^= 0xff;
        }
        fs::write(file_in(&copy), bytes).unwrap();
        let said = refused(&file_in(&copy)).await;
        assert!(said.contains("damaged"), "page {page}: {said}");
        found += 1;
    }
    assert_eq!(found, 4);
}

/// Also covers: M30.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_truncated_file_is_refused() {
    let folder = filled().await;
    let size = fs::metadata(file_in(&folder)).unwrap().len();
    for left in [size / 2, size - 4_096, 4_096, 100, 1, 0] {
        let copy = snapshot(&file_in(&folder), &["", ".lock"]);
        fs::OpenOptions::new().write(true).open(file_in(&copy)).unwrap().set_len(left).unwrap();
        let said = refused(&file_in(&copy)).await;
        assert!(said.contains("damaged") || said.contains("empty"), "{left} bytes left: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_database_is_refused() {
    for content in [&b"a letter to grandmother\n"[..], &[0u8; 8_192], "PK\u{3}\u{4}".repeat(2_000).as_bytes()]
    {
        let folder = TempDir::new().unwrap();
        fs::write(file_in(&folder), content).unwrap();
        refused(&file_in(&folder)).await;
    }
    let folder = TempDir::new().unwrap();
    fs::create_dir(file_in(&folder)).unwrap();
    refused(&file_in(&folder)).await;
    let nowhere = folder.path().join("no/such/folder/redrive.db");
    refused(&nowhere).await;
    assert!(!nowhere.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_file_that_was_never_ours_becomes_a_database() {
    let folder = TempDir::new().unwrap();
    fs::write(file_in(&folder), b"").unwrap();
    let store = SqliteStore::open(file_in(&folder)).await.unwrap();
    assert_eq!(store.counts().await.unwrap().states, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_elses_database_is_refused_and_left_alone() {
    let folder = TempDir::new().unwrap();
    let conn = Connection::open(file_in(&folder)).unwrap();
    conn.execute_batch(
        "CREATE TABLE bookmarks (url TEXT); PRAGMA application_id = 7; PRAGMA user_version = 1001",
    )
    .unwrap();
    drop(conn);
    let said = refused(&file_in(&folder)).await;
    assert!(said.contains("not a Redrive database"), "{said}");
    assert!(matches!(Options::default().read_only(file_in(&folder)), Err(StoreError::Refused(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_epoch_is_refused_and_a_newer_minor_is_not() {
    let folder = filled().await;
    for (version, epoch) in [(2_000, "epoch 2"), (2_001, "epoch 2"), (0, "epoch 0"), (7, "epoch 0")] {
        set_version(&file_in(&folder), version);
        let said = refused(&file_in(&folder)).await;
        assert!(said.contains(epoch) && said.contains("epoch 1"), "{said}");
        assert!(matches!(Options::default().read_only(file_in(&folder)), Err(StoreError::Refused(_))));
    }
    set_version(&file_in(&folder), 1_999);
    let store = SqliteStore::open(file_in(&folder)).await.unwrap();
    assert_eq!(store.counts().await.unwrap().total(State::Complete), 50);
    drop(store);
    let kept: i64 = Connection::open(file_in(&folder))
        .unwrap()
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(kept, 1_999, "what a newer version wrote stays");
}

/// Also covers: M30.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_ahead_log_that_was_removed_after_a_kill_is_missed() {
    let h = harness::file().await;
    Kit::new(&h).put_n(10).await;
    let killed = snapshot(&h.path(), &["", ".lock"]);
    let said = refused(&file_in(&killed)).await;
    assert!(said.contains("write-ahead log") && said.contains("missing"), "{said}");
    // With its log it opens and has everything.
    let whole = snapshot(&h.path(), &["", "-wal", ".lock"]);
    let store = SqliteStore::open(file_in(&whole)).await.unwrap();
    assert_eq!(store.counts().await.unwrap().total(State::Queued), 10);
    // Whoever is sure deletes the lock file, as the line says.
    fs::remove_file(beside(&file_in(&killed), ".lock")).unwrap();
    SqliteStore::open(file_in(&killed)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_without_its_database_is_refused() {
    let h = harness::file().await;
    Kit::new(&h).put_n(10).await;
    let lone = snapshot(&h.path(), &["-wal"]);
    let said = refused(&file_in(&lone)).await;
    assert!(said.contains("write-ahead log"), "{said}");
    assert!(!file_in(&lone).exists(), "an empty database was put in its place");
    let log = beside(&file_in(&lone), "-wal");
    assert_eq!(fs::read(log).unwrap(), fs::read(beside(&h.path(), "-wal")).unwrap(), "the log is untouched");
    fs::write(file_in(&lone), b"").unwrap();
    refused(&file_in(&lone)).await;
}

fn overwrite(path: &Path, at: usize, with: &[u8]) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at..at + with.len()].copy_from_slice(with);
    fs::write(path, bytes).unwrap();
}

fn set_version(path: &Path, version: i64) {
    Connection::open(path).unwrap().pragma_update(None, "user_version", version).unwrap();
}
