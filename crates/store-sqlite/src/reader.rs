//! Connections that only read, for everything that does not write. They never wait for the writer.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use redrive_store::{Result, StoreError};
use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::error::store_error;
use crate::open::open_reader;

/// So many reads at once; further ones wait.
const READERS: usize = 4;

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

    /// Runs `work` on a connection of the pool, on a thread that may block.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let stopped = |_| StoreError::Unavailable { reason: "the store is closed".into() };
        let permit = self.permits.clone().acquire_owned().await.map_err(stopped)?;
        let pool = self.clone();
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let idle = pool.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let conn = match idle {
                Some(conn) => conn,
                None => open_reader(&pool.path)?,
            };
            // One snapshot for all statements of a read: counts add up, and no event is purged between two of them.
            let result =
                conn.unchecked_transaction().map_err(store_error).and_then(|snapshot| work(&snapshot));
            // A connection that failed is not put back: the next reader makes a fresh one.
            if result.is_ok() {
                pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(conn);
            }
            result
        });
        task.await.map_err(|error| StoreError::Internal(format!("a read ended unexpectedly: {error}")))?
    }

    /// Closes idle connections, so that the last one can fold the write-ahead log into the file.
    pub(crate) fn close(&self) {
        self.permits.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
