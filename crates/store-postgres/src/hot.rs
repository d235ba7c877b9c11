//! Connections for the hot verbs: claim, finish, enqueue, and for heartbeats.
//!
//! sqlx's own pool asks the server after every use whether the connection still works, which costs these verbs a round
//! trip per call. Here a connection is kept exactly when its last statement came back; one that was dropped in the middle
//! or broke is thrown away, and so are its idle sisters, which went the same way. Whoever takes the last idle one has the next
//! one made, so that nobody who comes later waits for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, PgConnection};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::{Kind, kind, unsent};

/// Waiting longer than this for a free connection is an answer: the store is not available.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a connection was last used for. Each gets the one that has its statements planned already, where it can: the plan of
/// a claim takes longer than a small claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Claim,
    Write,
}

/// A small pool that costs nothing per use.
#[derive(Debug)]
pub(crate) struct Hot {
    connect: PgConnectOptions,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    idle: Mutex<Vec<(Use, PgConnection)>>,
    permits: Semaphore,
    /// One is being made for the next who comes.
    growing: AtomicBool,
}

impl Shared {
    fn idle(&self) -> MutexGuard<'_, Vec<(Use, PgConnection)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a new connection if it is still of use: nobody may have more than there are permits.
    fn add(&self, conn: PgConnection) {
        let mut idle = self.idle();
        if idle.is_empty() && self.permits.available_permits() > 0 && !self.permits.is_closed() {
            idle.push((Use::Write, conn));
        }
    }
}

impl Hot {
    pub(crate) fn new(connections: u32, connect: PgConnectOptions) -> Self {
        let permits = Semaphore::new(usize::try_from(connections).unwrap_or(1));
        let shared = Shared { idle: Mutex::default(), permits, growing: AtomicBool::new(false) };
        Self { connect, shared: Arc::new(shared) }
    }

    /// Takes a connection, a new one if none is idle.
    pub(crate) async fn take(&self, for_use: Use) -> sqlx::Result<Lent<'_>> {
        let permit = match tokio::time::timeout(PATIENCE, self.shared.permits.acquire()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) => return Err(sqlx::Error::PoolClosed),
            Err(_) => return Err(sqlx::Error::PoolTimedOut),
        };
        let conn = match self.pop(for_use) {
            Some(conn) => conn,
            None => tokio::time::timeout(PATIENCE, self.connect.connect())
                .await
                .map_err(|_| sqlx::Error::PoolTimedOut)?
                .map_err(unsent)?,
        };
        self.grow();
        Ok(Lent { conn: Some(conn), for_use, home: &self.shared, _permit: permit })
    }

    /// Has one more made when none is idle and there may be more.
    fn grow(&self) {
        let wanted = self.shared.idle().is_empty() && self.shared.permits.available_permits() > 0;
        if !wanted || self.shared.growing.swap(true, Ordering::AcqRel) {
            return;
        }
        let (connect, shared) = (self.connect.clone(), Arc::clone(&self.shared));
        tokio::spawn(async move {
            // Whoever needs one and finds none makes it and hears why it cannot be made.
            if let Ok(Ok(conn)) = tokio::time::timeout(PATIENCE, connect.connect()).await {
                shared.add(conn);
            }
            shared.growing.store(false, Ordering::Release);
        });
    }

    fn pop(&self, for_use: Use) -> Option<PgConnection> {
        let mut idle = self.shared.idle();
        let at = idle.iter().rposition(|(used, _)| *used == for_use).or(idle.len().checked_sub(1))?;
        Some(idle.remove(at).1)
    }

    /// A new connection of the same kind.
    #[cfg(test)]
    pub(crate) async fn connect(&self) -> sqlx::Result<PgConnection> {
        self.connect.connect().await
    }

    /// Closes what is idle and gives nothing out any more.
    pub(crate) fn close(&self) {
        self.shared.permits.close();
        self.shared.idle().clear();
    }
}

/// A connection in use. Dropping it without [`Lent::settle`] means that nobody heard its answer: it is closed, and so are
/// its idle sisters, which may wait for the same silence.
pub(crate) struct Lent<'a> {
    conn: Option<PgConnection>,
    for_use: Use,
    home: &'a Shared,
    _permit: SemaphorePermit<'a>,
}

impl Lent<'_> {
    /// The connection.
    pub(crate) fn conn(&mut self) -> &mut PgConnection {
        #[expect(clippy::expect_used, reason = "only settle takes it, and settle ends the loan")]
        self.conn.as_mut().expect("lent until settled")
    }

    /// Gives the connection back if the result says that it still works.
    pub(crate) fn settle<T>(mut self, result: sqlx::Result<T>) -> sqlx::Result<T> {
        let conn = self.conn.take();
        match &result {
            Ok(_) => self.home.idle().extend(conn.map(|conn| (self.for_use, conn))),
            Err(error) if kind(error) == Kind::Lost => self.home.idle().clear(),
            // After an error inside a transaction the connection may be left in it: a new one is cheaper than asking.
            Err(_) => {}
        }
        result
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if self.conn.is_some() {
            self.home.idle().clear();
        }
    }
}
