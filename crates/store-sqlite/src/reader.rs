//! Connections that only read, for everything that does not write. They never wait for the writer.
//!
//! A read that nobody waits for any more stops: it would keep one of few connections busy, and with it everybody else.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use redrive_store::{Result, StoreError};
use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::error::store_error;
use crate::open::open_reader;

/// So many reads at once; further ones wait.
const READERS: usize = 4;
/// Between two looks whether anybody still waits, in steps of SQLite’s machine: far less than a millisecond.
const STEPS: std::ffi::c_int = 10_000;

/// A small pool. Connections are made when they are first needed.
#[derive(Debug, Clone)]
pub(crate) struct Readers {
    path: Arc<PathBuf>,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: Arc::new(path.to_owned()),
            idle: Arc::default(),
            permits: Arc::new(Semaphore::new(READERS)),
        }
    }

    /// Runs `work` on a connection of the pool, on a thread that may block. Whoever drops the future ends it.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let stopped = |_| StoreError::Unavailable { reason: "the store is closed".into() };
        let permit = self.permits.clone().acquire_owned().await.map_err(stopped)?;
        let pool = self.clone();
        let waits = Waits(Arc::default());
        let gone = waits.0.clone();
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let idle = pool.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let conn = match idle {
                Some(conn) => conn,
                None => open_reader(&pool.path)?,
            };
            let asked = gone.clone();
            conn.progress_handler(STEPS, Some(move || asked.load(Ordering::Relaxed))).map_err(store_error)?;
            // One snapshot for all statements of a read: counts add up, and no event is purged between two of them.
            let result =
                conn.unchecked_transaction().map_err(store_error).and_then(|snapshot| work(&snapshot));
            // A connection that failed is not put back: the next reader makes a fresh one.
            if result.is_ok() && conn.progress_handler(0, None::<fn() -> bool>).is_ok() {
                pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(conn);
            }
            result
        });
        let done = task.await;
        drop(waits);
        done.map_err(|error| StoreError::Internal(format!("a read ended unexpectedly: {error}")))?
    }

    /// Closes idle connections, so that the last one can fold the write-ahead log into the file.
    pub(crate) fn close(&self) {
        self.permits.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Somebody waits; dropped, it says that nobody does.
struct Waits(Arc<AtomicBool>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Counts for many seconds.
    const LONG: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000000) SELECT count(*) FROM n";

    #[tokio::test(flavor = "multi_thread")]
    async fn a_read_that_nobody_waits_for_leaves_its_place_to_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.db");
        let store = crate::SqliteStore::open(&path).await.unwrap();
        let readers = Readers::new(&path);
        let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
        let (ended, mut ends) = tokio::sync::mpsc::unbounded_channel();
        let count = |conn: &Connection| conn.query_row(LONG, [], |row| row.get::<_, i64>(0));
        let long = || {
            let (readers, begun, ended) = (readers.clone(), begun.clone(), ended.clone());
            tokio::spawn(async move {
                let work = move |conn: &Connection| {
                    begun.send(()).unwrap();
                    let counted = count(conn).map_err(store_error);
                    ended.send(counted.is_err()).unwrap();
                    counted
                };
                readers.read(work).await
            })
        };
        let all: Vec<_> = (0..READERS).map(|_| long()).collect();
        drop((begun, ended));
        for _ in &all {
            begins.recv().await.unwrap();
        }
        for one in &all {
            one.abort();
        }
        let read = readers
            .read(|conn| conn.query_row("SELECT 7", [], |row| row.get::<_, i64>(0)).map_err(store_error));
        let answer = tokio::time::timeout(Duration::from_secs(10), read).await.expect("a place is free");
        assert_eq!(answer.unwrap(), 7);
        for _ in &all {
            assert!(ends.recv().await.unwrap(), "each was stopped");
        }
        drop(store);
    }
}
