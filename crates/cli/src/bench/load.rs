//! What is run: jobs that do nothing, jobs that fail once, and jobs that never end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use redrive::model::backoff::{Backoff, Curve, Jitter};
use redrive::{Code, Context, Done, Failure, Input, Policy, Workload};
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, mpsc};

/// So many at once in one process, on every side.
pub(crate) const CONCURRENCY: usize = 20;

/// Counts to a number, and says when it is reached.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    seen: AtomicUsize,
    goal: usize,
    reached: Notify,
}

impl Counter {
    /// Counts to this.
    #[must_use]
    pub(crate) fn to(goal: usize) -> Arc<Self> {
        Arc::new(Self { goal, ..Self::default() })
    }

    fn one_more(&self) {
        if self.seen.fetch_add(1, Ordering::Relaxed) + 1 == self.goal {
            self.reached.notify_one();
        }
    }

    /// Waits for it.
    pub(crate) async fn reached(&self) {
        self.reached.notified().await;
    }
}

/// A hundred bytes.
#[must_use]
pub(crate) fn text() -> String {
    "x".repeat(100)
}

/// The input of a job that does nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Nothing {
    text: String,
}

impl Nothing {
    /// With its hundred bytes.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self { text: text() }
    }
}

impl Default for Nothing {
    fn default() -> Self {
        Self::new()
    }
}

impl Input for Nothing {
    const WORKLOAD: &'static str = "nothing";
}

/// Does nothing, and counts it.
#[derive(Debug)]
pub(crate) struct DoNothing(pub(crate) Arc<Counter>);

impl Workload for DoNothing {
    type Input = Nothing;

    fn concurrency(&self) -> usize {
        CONCURRENCY
    }

    async fn run(&self, _ctx: Context, _input: Nothing) -> Result<Done, Failure> {
        self.0.one_more();
        Ok(Done::Complete)
    }
}

/// Does nothing, and says when it started.
#[derive(Debug)]
pub(crate) struct SayWhen(pub(crate) mpsc::UnboundedSender<Instant>);

impl Workload for SayWhen {
    type Input = Nothing;

    fn concurrency(&self) -> usize {
        CONCURRENCY
    }

    async fn run(&self, _ctx: Context, _input: Nothing) -> Result<Done, Failure> {
        let _ = self.0.send(Instant::now());
        Ok(Done::Complete)
    }
}

/// The input of a job that fails once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Fragile {
    text: String,
}

impl Fragile {
    /// With its hundred bytes.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self { text: text() }
    }
}

impl Default for Fragile {
    fn default() -> Self {
        Self::new()
    }
}

impl Input for Fragile {
    const WORKLOAD: &'static str = "fragile";
}

/// Fails at the first try and succeeds at the second, without a wait between them.
#[derive(Debug)]
pub(crate) struct FailOnce(pub(crate) Arc<Counter>);

impl Workload for FailOnce {
    type Input = Fragile;

    fn concurrency(&self) -> usize {
        CONCURRENCY
    }

    fn policy(&self) -> Policy {
        let at_once =
            Backoff { curve: Curve::Steps(vec![Duration::ZERO]), jitter: Jitter::UpTo(Duration::ZERO) };
        Policy { backoff: at_once, ..Policy::on_demand() }
    }

    async fn run(&self, ctx: Context, _input: Fragile) -> Result<Done, Failure> {
        self.0.one_more();
        if ctx.attempt() == 1 {
            return Err(Failure::new(Code::Unknown, "the first try fails"));
        }
        Ok(Done::Complete)
    }
}

/// The input of a job that never ends.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Endless;

impl Input for Endless {
    const WORKLOAD: &'static str = "endless";
}

/// Says that it runs, and goes on until it is told to end.
#[derive(Debug)]
pub(crate) struct GoOn(pub(crate) mpsc::UnboundedSender<Instant>);

impl Workload for GoOn {
    type Input = Endless;

    async fn run(&self, ctx: Context, _input: Endless) -> Result<Done, Failure> {
        let _ = self.0.send(Instant::now());
        ctx.cancelled().await;
        Ok(Done::RescheduleNow)
    }
}
