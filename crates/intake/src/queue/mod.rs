//! The queue processor: a permanent job, one in the whole fleet, that takes files in at a rate that the rest can bear.
//!
//! It looks at `retry/` first and then at `queue/`, oldest first; it takes no more than may be in flight, nothing while a pause or a breaker
//! is in the way, and nothing when it cannot know. What it has not taken has no row: a look writes nothing.

mod reconcile;
mod room;
mod strays;
mod take;

use std::time::Duration;

use redrive_blob::Key;
use redrive_blob::room::Places;
use redrive_blob::shelf::Item;
use redrive_engine::{Code, Context, Done, Engine, Failure, Permanent, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::layout::Place;
use crate::mover::Mover;
use crate::scan::Scanner;
use strays::Strays;

/// One execution lasts so long; then the job is seen to live, and goes on.
const SHIFT: Duration = Duration::from_secs(60);
/// Between two questions whether there is room.
const SOON: Duration = Duration::from_millis(15);
const LATER: Duration = Duration::from_millis(250);
/// Between two looks there is at least this, and so many times what a look takes: what we move ourselves wakes us too.
const GAP: Duration = Duration::from_millis(200);
const GAPS: u32 = 10;

/// A file in a folder must look the same for so long: copies take their time. People wait for it too.
pub const SETTLE: Duration = Duration::from_secs(1);

/// How files are taken in.
#[derive(Debug, Clone)]
pub struct QueueOptions {
    /// Between two looks, where nothing tells that something has changed.
    pub interval: Duration,
    /// So many documents at once, in the whole fleet.
    pub max_in_flight: usize,
    /// A file must look the same for so long; zero where files appear whole.
    pub settle: Duration,
    /// What is needed to process a document.
    pub targets: Vec<String>,
    /// A file that lies in `pdf/` for so long and is no document's goes back to `queue/`; a row whose job ended so long ago is put right.
    pub patience: Duration,
    /// Where a document and what is made of it are written.
    pub room: Places,
    /// With less free bytes there nothing is taken in: they are for what was taken already.
    pub reserve: u64,
}

/// What the last look found, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// When.
    pub at: Option<Timestamp>,
    /// Files that wait to be taken.
    pub lie: usize,
    /// Of them, how many are still being copied or are empty.
    pub growing: usize,
    /// Files that are no PDFs by their names, and stay where they are.
    pub ignored: usize,
    /// Why nothing is taken, where that is so.
    pub stopped: Option<String>,
}

/// The queue processor.
pub struct Queue {
    engine: Engine,
    mover: Mover,
    options: QueueOptions,
    scanner: Mutex<Scanner>,
    strays: Mutex<Strays>,
}

impl Queue {
    /// Takes what lies on this shelf in.
    #[must_use]
    pub fn new(engine: Engine, mover: Mover, options: QueueOptions) -> Self {
        let scanner = Mutex::new(Scanner::new(options.settle));
        Self { engine, mover, options, scanner, strays: Mutex::default() }
    }

    /// One look, and everything that follows from it.
    async fn look(&self, ctx: &Context, scanner: &mut Scanner, end: Instant) -> Result<Next, Failure> {
        let began = Instant::now();
        self.reconcile().await?;
        let look = scanner.look(&*self.mover.shelf).await.map_err(|error| error.failure())?;
        // Only what looking costs: however long it takes to make room, what came meanwhile has waited long enough.
        let gap = GAP.max(began.elapsed() * GAPS).min(self.options.interval);
        let mut seen = Seen {
            at: Some(self.engine.store().now().await?),
            lie: look.lie,
            growing: look.growing,
            ignored: look.ignored,
            stopped: None,
        };
        ctx.save_state(&seen).await?;
        let mut wait = look.again.unwrap_or(self.options.interval).min(self.options.interval);
        let mut ready: std::collections::VecDeque<Item> = look.ready.into();
        let mut pause = SOON;
        let until = end.min(Instant::now() + self.options.interval);
        while !ready.is_empty() && Instant::now() < until && !ctx.is_cancelled() {
            let room = self.room().await?;
            if seen.stopped != room.stopped {
                seen.stopped.clone_from(&room.stopped);
                ctx.save_state(&seen).await?;
            }
            if room.free == 0 {
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = ctx.cancelled() => {}
                }
                pause = (pause * 2).min(LATER);
                continue;
            }
            pause = SOON;
            let some: Vec<Item> = ready.drain(..room.free.min(ready.len())).collect();
            seen.lie = seen.lie.saturating_sub(some.len());
            if self.take(some).await? {
                // Something was not as it was seen.
                wait = GAP;
            }
            ctx.save_state(&seen).await?;
        }
        Ok(Next { wait: if ready.is_empty() { wait } else { Duration::ZERO }, not_before: began + gap })
    }
}

/// When the next look is due.
struct Next {
    /// After so long, when nothing changes.
    wait: Duration,
    /// When something does, not before this.
    not_before: Instant,
}

impl Permanent for Queue {
    async fn run(&self, ctx: Context) -> Result<Done, Failure> {
        let mut scanner = self.scanner.lock().await;
        let folders = [Place::Retry.key(), Place::Queue.key()];
        let folders: Vec<Key> = folders.into_iter().filter_map(Result::ok).collect();
        let end = Instant::now() + SHIFT;
        while Instant::now() < end && !ctx.is_cancelled() {
            let next = self.look(&ctx, &mut scanner, end).await?;
            tokio::select! {
                () = tokio::time::sleep(next.wait) => {}
                () = self.mover.shelf.changed(&folders) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(next.not_before.min(end)) => {}
                        () = ctx.cancelled() => {}
                    }
                }
                () = tokio::time::sleep_until(end) => {}
                () = ctx.cancelled() => {}
            }
        }
        Ok(Done::RescheduleNow)
    }
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue")
            .field("mover", &self.mover)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// A store that cannot be asked: nothing is taken on a guess.
fn unknown(error: impl std::fmt::Display) -> Failure {
    Failure::new(Code::StorageUnavailable, error)
}
