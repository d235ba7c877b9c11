//! The one thread that writes, and its group commit.
//!
//! Whatever waits when the thread is free goes into one transaction: while one group is being committed, the next one
//! gathers. One piece of work that fails takes nobody with it: it has written nothing yet, or has a savepoint of its own.
//! The hot verbs can fail after a write only together with the database, so they go without; should one do so all the
//! same, its group is told, and savepoints are taken for a while. Answers are given after the commit.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use redrive_model::instant;
use redrive_store::clock::Clock;
use redrive_store::{Result, StoreError};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::error::{breaks_connection, commit_error, error_of, store_error};
use crate::lanes::Lanes;
use crate::sql;
use crate::tally::Tallies;
use crate::verb::record::find;

/// So much work may wait before callers have to.
const QUEUE: usize = 4_096;
/// A group is committed when it has taken this long, even if more is waiting.
const GROUP_TIME: Duration = Duration::from_millis(20);
/// So many pieces of work get a savepoint after a group was lost.
const CAREFUL: u32 = 1_000;

/// What undoes a piece of work that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undo {
    /// Itself: it can fail in the middle.
    Savepoint,
    /// The group's rollback: once it has written something, only the database can fail it.
    Group,
}

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
    /// The place of the newest event, once somebody of the group needed it.
    last_event: &'a Cell<Option<i64>>,
    /// Everybody takes a savepoint.
    careful: bool,
    /// Why the whole transaction is gone, when SQLite gave it up in the middle of a group.
    lost: Option<StoreError>,
}

impl Tx<'_> {
    /// The place of the event that is written next. Everything that writes events asks here.
    pub(crate) fn next_event(&self) -> Result<i64> {
        let last = match self.last_event.get() {
            Some(last) => last,
            None => find(self.conn, sql::LAST_EVENT, [], |row| row.get(0))?.unwrap_or(0),
        };
        self.last_event.set(Some(last + 1));
        Ok(last + 1)
    }

    /// The event was not written after all.
    pub(crate) fn give_event_back(&self) {
        self.last_event.set(self.last_event.get().map(|last| last - 1));
    }
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
        let state = State { conn, clock, lanes, reopen: Box::new(reopen), broken: None, careful: 0 };
        let thread = std::thread::Builder::new()
            .name("redrive-writer".into())
            .spawn(move || state.run(receiver))
            .map_err(|error| StoreError::Unavailable { reason: format!("cannot start a thread: {error}") })?;
        Ok(Self { sender: Some(sender), thread: Some(thread) })
    }

    /// Runs `work` inside the next group and answers after its commit.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        undo: Undo,
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
                let result = run_work(tx, undo, work);
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

fn run_work<T>(tx: &mut Tx<'_>, undo: Undo, work: impl FnOnce(&mut Tx<'_>) -> Result<T>) -> Result<T> {
    if undo == Undo::Savepoint || tx.careful || tx.lost.is_some() {
        return in_savepoint(tx, work);
    }
    let written = tx.conn.total_changes();
    let result = catch(tx, work);
    if let Err(error) = &result
        && (tx.conn.total_changes() != written || tx.conn.is_autocommit())
    {
        tx.lost.get_or_insert_with(|| copy(error));
    }
    result
}

/// Runs a piece of work so that its failure, or its panic, undoes only itself.
pub(crate) fn in_savepoint<T>(tx: &mut Tx<'_>, work: impl FnOnce(&mut Tx<'_>) -> Result<T>) -> Result<T> {
    if let Some(error) = &tx.lost {
        return Err(copy(error));
    }
    execute(tx.conn, "SAVEPOINT work")?;
    let before = tx.tallies.clone();
    let result = catch(tx, work).and_then(|value| execute(tx.conn, "RELEASE work").map(|()| value));
    if let Err(error) = &result {
        // What a panic left in `tx` is put right: counts are restored, lanes and the newest event are read again.
        *tx.tallies = before;
        tx.last_event.set(None);
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

fn catch<T>(tx: &mut Tx<'_>, work: impl FnOnce(&mut Tx<'_>) -> Result<T>) -> Result<T> {
    let panicked =
        |_| Err(StoreError::Internal("a closure panicked inside a transaction; it was undone".into()));
    catch_unwind(AssertUnwindSafe(|| work(tx))).unwrap_or_else(panicked)
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
    careful: u32,
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
                // Nobody waits behind the one who waited: all are told, and may come again. Whoever comes once somebody was told is
                // not among them.
                let waiting = receiver.len();
                let waiting: Vec<Work> =
                    std::iter::from_fn(|| receiver.try_recv().ok()).take(waiting).collect();
                for work in std::iter::once(first).chain(waiting) {
                    work(Err(&error));
                }
                continue;
            }
            let mut answers = Vec::new();
            let mut tallies = Tallies::default();
            let last_event = Cell::new(None);
            let started = Instant::now();
            let mut next = Some(first);
            let mut lost = None;
            while let Some(work) = next {
                let now = instant::to_millis(self.clock.now());
                let mut tx = Tx {
                    conn: &self.conn,
                    now,
                    lanes: &mut self.lanes,
                    tallies: &mut tallies,
                    last_event: &last_event,
                    careful: self.careful > 0,
                    lost: None,
                };
                self.careful = self.careful.saturating_sub(1);
                answers.extend(work(Ok(&mut tx)));
                lost = tx.lost;
                let more = lost.is_none() && started.elapsed() < GROUP_TIME;
                next = if more { receiver.try_recv().ok() } else { None };
            }
            let outcome = match lost {
                Some(error) => {
                    self.careful = CAREFUL;
                    Err(self.forget(error))
                }
                None => self.commit(&tallies),
            };
            for answer in answers {
                answer(outcome.as_ref().copied());
            }
        }
    }

    fn commit(&mut self, tallies: &Tallies) -> std::result::Result<(), StoreError> {
        if let Err(error) = tallies.write(&self.conn) {
            return Err(self.lose(&error, error_of(&error)));
        }
        let committed = self.conn.prepare_cached("COMMIT").and_then(|mut s| s.execute([]));
        let Err(error) = committed else { return Ok(()) };
        let told = commit_error(&error);
        Err(self.lose(&error, told))
    }

    /// The group is over, and with it the connection when it can no longer be trusted.
    fn lose(&mut self, error: &rusqlite::Error, told: StoreError) -> StoreError {
        if !breaks_connection(error) {
            return self.forget(told);
        }
        if !self.conn.is_autocommit() {
            let _ = self.conn.execute_batch("ROLLBACK");
        }
        self.broken = Some(copy(&told));
        told
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
        StoreError::Unknown { reason } => StoreError::Unknown { reason: reason.clone() },
        other => StoreError::Internal(other.to_string()),
    }
}
