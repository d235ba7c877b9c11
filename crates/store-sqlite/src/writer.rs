//! The one thread that writes, and its group commit.
//!
//! Whatever waits when the thread is free goes into one transaction: while one group is being committed, the next one
//! gathers. Each piece of work has a savepoint of its own, so that one that fails takes nobody with it. Answers are
//! given after the commit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use redrive_model::instant;
use redrive_store::clock::Clock;
use redrive_store::{Result, StoreError};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::error::{breaks_connection, store_error};
use crate::lanes::Lanes;
use crate::tally::Tallies;

/// So much work may wait before callers have to.
const QUEUE: usize = 4_096;
/// A group is committed when it has taken this long, even if more is waiting.
const GROUP_TIME: Duration = Duration::from_millis(20);

/// A transaction in the writer's hands.
pub(crate) struct Tx<'a> {
    /// The write connection, inside a transaction.
    pub(crate) conn: &'a Connection,
    /// The store's clock, read once for this piece of work.
    pub(crate) now: i64,
    /// Interned lanes.
    pub(crate) lanes: &'a mut Lanes,
    /// Counts that change with this group.
    pub(crate) tallies: &'a mut Tallies,
    /// Why the whole transaction is gone, when SQLite gave it up in the middle of a group.
    lost: Option<StoreError>,
}

type Answer = Box<dyn FnOnce(std::result::Result<(), &StoreError>) + Send>;
type Work = Box<dyn FnOnce(std::result::Result<&mut Tx<'_>, &StoreError>) -> Option<Answer> + Send>;

/// Hands work to the thread.
#[derive(Debug)]
pub(crate) struct Writer {
    sender: Option<mpsc::Sender<Work>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread on an open connection. `reopen` makes a new one when the old can no longer be trusted.
    pub(crate) fn start(
        conn: Connection,
        clock: Arc<dyn Clock>,
        reopen: impl Fn() -> Result<Connection> + Send + 'static,
    ) -> Result<Self> {
        let lanes = Lanes::load(&conn)?;
        let (sender, receiver) = mpsc::channel(QUEUE);
        let state = State { conn, clock, lanes, reopen: Box::new(reopen), broken: None };
        let thread = std::thread::Builder::new()
            .name("redrive-writer".into())
            .spawn(move || state.run(receiver))
            .map_err(|error| StoreError::Unavailable { reason: format!("cannot start a thread: {error}") })?;
        Ok(Self { sender: Some(sender), thread: Some(thread) })
    }

    /// Runs `work` inside the next group and answers after its commit.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let closed = || StoreError::Unavailable { reason: "the store is closed".into() };
        let (reply, answer) = oneshot::channel();
        let boxed: Work = Box::new(move |tx| match tx {
            Err(error) => {
                let _ = reply.send(Err(copy(error)));
                None
            }
            Ok(tx) => {
                let result = in_savepoint(tx, work);
                Some(Box::new(move |committed: std::result::Result<(), &StoreError>| {
                    let _ = reply.send(match committed {
                        Ok(()) => result,
                        Err(error) => Err(copy(error)),
                    });
                }))
            }
        });
        let sender = self.sender.as_ref().ok_or_else(closed)?;
        sender.send(boxed).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// Ends the thread after what was handed in is done.
    pub(crate) fn close(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

/// Runs one piece of work so that its failure, or its panic, undoes only itself.
pub(crate) fn in_savepoint<T>(tx: &mut Tx<'_>, work: impl FnOnce(&mut Tx<'_>) -> Result<T>) -> Result<T> {
    if let Some(error) = &tx.lost {
        return Err(copy(error));
    }
    execute(tx.conn, "SAVEPOINT work")?;
    let before = tx.tallies.clone();
    // What a panic leaves in `tx` is put right below: counts are restored, lanes are read again.
    let panicked =
        |_| Err(StoreError::Internal("a closure panicked inside a transaction; it was undone".into()));
    let result = catch_unwind(AssertUnwindSafe(|| work(tx))).unwrap_or_else(panicked);
    let result = result.and_then(|value| execute(tx.conn, "RELEASE work").map(|()| value));
    if let Err(error) = &result {
        *tx.tallies = before;
        let undo = || execute(tx.conn, "ROLLBACK TO work").and_then(|()| execute(tx.conn, "RELEASE work"));
        if !tx.conn.is_autocommit() && undo().is_ok() {
            *tx.lanes = Lanes::load(tx.conn)?;
        } else {
            // A full disk makes SQLite roll back everything, not only this savepoint: the group is over.
            tx.lost.get_or_insert_with(|| copy(error));
        }
    }
    result
}

fn execute(conn: &Connection, sql: &str) -> Result<()> {
    conn.prepare_cached(sql).and_then(|mut s| s.execute([])).map(drop).map_err(store_error)
}

struct State {
    conn: Connection,
    clock: Arc<dyn Clock>,
    lanes: Lanes,
    reopen: Box<dyn Fn() -> Result<Connection> + Send>,
    broken: Option<StoreError>,
}

impl State {
    fn run(mut self, mut receiver: mpsc::Receiver<Work>) {
        while let Some(first) = receiver.blocking_recv() {
            self.mend();
            if let Some(error) = &self.broken {
                first(Err(error));
                continue;
            }
            if let Err(error) = execute(&self.conn, "BEGIN IMMEDIATE") {
                first(Err(&error));
                // Nobody waits behind the one who waited: all are told, and may come again.
                while let Ok(work) = receiver.try_recv() {
                    work(Err(&error));
                }
                continue;
            }
            let mut answers = Vec::new();
            let mut tallies = Tallies::default();
            let started = Instant::now();
            let mut next = Some(first);
            let mut lost = None;
            while let Some(work) = next {
                let now = instant::to_millis(self.clock.now());
                let mut tx =
                    Tx { conn: &self.conn, now, lanes: &mut self.lanes, tallies: &mut tallies, lost: None };
                answers.extend(work(Ok(&mut tx)));
                lost = tx.lost;
                let more = lost.is_none() && started.elapsed() < GROUP_TIME;
                next = if more { receiver.try_recv().ok() } else { None };
            }
            let outcome = match lost {
                Some(error) => Err(self.forget(error)),
                None => self.commit(&tallies),
            };
            for answer in answers {
                answer(outcome.as_ref().copied());
            }
        }
    }

    fn commit(&mut self, tallies: &Tallies) -> std::result::Result<(), StoreError> {
        let result = tallies
            .write(&self.conn)
            .and_then(|()| self.conn.prepare_cached("COMMIT").and_then(|mut s| s.execute([])).map(drop));
        let Err(error) = result else { return Ok(()) };
        if !self.conn.is_autocommit() {
            let _ = self.conn.execute_batch("ROLLBACK");
        }
        let broken = breaks_connection(&error);
        let error = store_error(error);
        if broken {
            self.broken = Some(copy(&error));
            return Err(error);
        }
        Err(self.forget(error))
    }

    /// Nothing of the group was written: what was remembered from it is read again.
    fn forget(&mut self, error: StoreError) -> StoreError {
        if !self.conn.is_autocommit() {
            let _ = self.conn.execute_batch("ROLLBACK");
        }
        if let Ok(lanes) = Lanes::load(&self.conn) {
            self.lanes = lanes;
        }
        error
    }

    /// After the disk failed a commit, the old connection is thrown away rather than trusted.
    fn mend(&mut self) {
        if self.broken.is_none() {
            return;
        }
        match (self.reopen)().and_then(|conn| Lanes::load(&conn).map(|lanes| (conn, lanes))) {
            Ok((conn, lanes)) => {
                self.conn = conn;
                self.lanes = lanes;
                self.broken = None;
            }
            Err(error) => self.broken = Some(error),
        }
    }
}

/// One error for everybody in the group.
fn copy(error: &StoreError) -> StoreError {
    match error {
        StoreError::Full => StoreError::Full,
        StoreError::Refused(text) => StoreError::Refused(text.clone()),
        StoreError::Unavailable { reason } => StoreError::Unavailable { reason: reason.clone() },
        other => StoreError::Internal(other.to_string()),
    }
}
