//! Testing your workloads: a store in memory, a clock that you move, and no waiting.
//!
//! ```
//! use std::time::Duration;
//! use redrive::testing::TestEngine;
//! use redrive::{Code, Context, Done, Failure, Input, Policy, Workload};
//!
//! #[derive(serde::Serialize, serde::Deserialize)]
//! struct Ping;
//! impl Input for Ping {
//!     const WORKLOAD: &'static str = "ping";
//! }
//!
//! struct Pinger;
//! impl Workload for Pinger {
//!     type Input = Ping;
//!     fn policy(&self) -> Policy {
//!         Policy::reliability()
//!     }
//!     async fn run(&self, ctx: Context, _: Ping) -> Result<Done, Failure> {
//!         match ctx.attempt() {
//!             1 => Err(Failure::new(Code::TargetUnreachable, "nobody there")),
//!             _ => Ok(Done::Complete),
//!         }
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let test = TestEngine::new().await?;
//! test.register(Pinger);
//! let job = test.enqueue(&Ping).await?;
//! assert_eq!(test.run_until_idle().await?, 1); // it failed once and waits now
//! assert!(test.job(job).await?.is_waiting());
//! test.run_for(Duration::from_secs(10)).await?; // five to ten seconds by the policy
//! assert!(test.job(job).await?.is_complete());
//! # Ok(())
//! # }
//! ```

use std::ops::Deref;
use std::time::Duration;

use redrive_engine::model::{Code, Shown, State, instant};
use redrive_engine::store::clock::{Clock, ManualClock};
use redrive_engine::store::{AttemptRow, JobRow, StoreError};
use redrive_engine::{EngineError, JobId, Options, Result, Timestamp};

use crate::Engine;

/// An engine in memory whose time stands still until you move it. Do not [`start`](redrive_engine::Engine::start) it: jobs
/// run when you say so, one after the other, on the task of the test.
pub struct TestEngine {
    engine: Engine,
    clock: ManualClock,
}

impl Deref for TestEngine {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}

impl TestEngine {
    /// A fresh one, at noon on the first of January 2030.
    pub async fn new() -> Result<Self> {
        Self::with(Options::default()).await
    }

    /// A fresh one with other numbers.
    pub async fn with(options: Options) -> Result<Self> {
        let clock = ManualClock::new(instant::from_millis(1_893_499_200_000));
        let engine = Engine::in_memory(clock.clone(), options).await?;
        Ok(Self { engine, clock })
    }

    /// What time it is.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Moves the time on, and runs nothing.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Runs what is due now, then moves from one due time to the next and runs what is due there, until so much time has
    /// gone by. Answers how many executions that were.
    pub async fn run_for(&self, time: Duration) -> Result<u64> {
        let end = instant::after(self.now(), time);
        let mut ran = 0;
        loop {
            ran += self.engine.run_until_idle().await?;
            let next = self.engine.store().next_due().await?;
            match next.into_iter().chain(self.next_release().await?).min().filter(|next| *next <= end) {
                Some(next) => self.clock.set(next.max(self.now())),
                None => break,
            }
        }
        self.clock.set(end);
        Ok(ran + self.engine.run_until_idle().await?)
    }

    /// When the next target may be tried again.
    async fn next_release(&self) -> Result<Option<Timestamp>> {
        let now = self.now();
        let rows = self.engine.store().breakers().await?;
        let times = rows.iter().flat_map(|row| {
            let hold = row.breaker.hold.as_ref().and_then(|hold| hold.until);
            [row.breaker.next_probe_at(), row.breaker.throttled_until, hold]
        });
        Ok(times.flatten().filter(|at| *at > now).min())
    }

    /// A job that must be there.
    pub async fn job(&self, id: JobId) -> Result<TestedJob> {
        let missing = || EngineError::Store(StoreError::NotFound { what: format!("job {id}") });
        let row = self.engine.store().job(id).await?.ok_or_else(missing)?;
        let attempts = self.engine.store().attempts(id).await?;
        Ok(TestedJob { row, attempts })
    }
}

/// A job as a test looks at it.
#[derive(Debug, Clone)]
pub struct TestedJob {
    /// Its row.
    pub row: JobRow,
    /// Its executions, oldest first.
    pub attempts: Vec<AttemptRow>,
}

impl TestedJob {
    /// Whether it has completed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.row.state == State::Complete
    }

    /// Whether it was given up.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.row.state == State::Failed
    }

    /// Whether it waits for its time, for a batch or for a target.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        matches!(self.row.shown, Shown::Scheduled | Shown::WaitingRetry | Shown::WaitingBatch | Shown::Held)
    }

    /// What went wrong last.
    #[must_use]
    pub fn last_code(&self) -> Option<Code> {
        self.attempts.last().and_then(|attempt| attempt.code)
    }
}
