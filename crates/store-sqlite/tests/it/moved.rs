//! O5: a database that was copied or moved, with its log, is the same database.

use std::fs;

use redrive_model::State;
use redrive_store::Store;
use redrive_store_conformance::{Harness, Kit};
use redrive_store_sqlite::SqliteStore;
use tempfile::TempDir;

use crate::harness::{self, Sqlite, beside, file_in, snapshot};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o5_a_copy_with_its_log_has_everything() {
    let h = harness::file().await;
    let k = Kit::new(&h);
    let ids = k.put_n(20).await;
    let claimed = k.claim(5).await;
    k.complete(&claimed[0]).await;
    k.fail(&claimed[1], redrive_model::Code::HandlerFailed).await;
    k.open_breaker("gateway", std::time::Duration::from_secs(30)).await;
    let copy = snapshot(&h.path(), &["", "-wal"]);
    let other = Sqlite::at(&file_in(&copy)).await.unwrap();
    let there = Kit::new(&other);
    for id in &ids {
        assert_eq!(there.row(*id).await, k.row(*id).await);
        assert_eq!(there.store.attempts(*id).await.unwrap(), k.store.attempts(*id).await.unwrap());
    }
    assert_eq!(there.store.breakers().await.unwrap(), k.store.breakers().await.unwrap());
    assert_eq!(there.store.counts().await.unwrap(), k.store.counts().await.unwrap());
    there.audit().await;
    // The two go their own ways: a lease of the original can be ended in the copy, and the other way round.
    there.complete(&claimed[2]).await;
    assert_eq!(k.row(claimed[2].lease.job).await.state, State::Processing);
    k.audit().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o5_a_closed_database_can_be_moved_alone() {
    let h = harness::file().await;
    Kit::new(&h).put_n(20).await;
    let folder = h.close();
    assert!(!beside(&file_in(&folder), "-wal").exists(), "a clean stop folds the log into the file");
    let elsewhere = TempDir::new().unwrap();
    fs::rename(file_in(&folder), elsewhere.path().join("other name.db")).unwrap();
    let store = SqliteStore::open(elsewhere.path().join("other name.db")).await.unwrap();
    assert_eq!(store.counts().await.unwrap().total(State::Queued), 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_was_killed_opens_again_and_goes_on() {
    let h = harness::file().await;
    let k = Kit::new(&h);
    k.put_n(3).await;
    let claimed = k.claim(2).await;
    let killed = snapshot(&h.path(), &["", "-wal", ".lock"]);
    let again = Sqlite::at(&file_in(&killed)).await.unwrap();
    let k = Kit::new(&again);
    assert_eq!(k.store.leases_of(k.worker(1)).await.unwrap(), claimed);
    again.advance(redrive_store_conformance::kit::TTL).await;
    for expired in k.store.expired(None, 10).await.unwrap() {
        k.reclaim(&expired).await;
    }
    k.audit().await;
}
