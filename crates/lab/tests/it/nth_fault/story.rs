//! A short story that uses most of what an engine does: jobs that succeed, stumble, remember, are refused, and one that waits
//! for a batch of its own.

use std::time::Duration;

use redrive_engine::model::backoff::Backoff;
use redrive_engine::model::{BatchState, State};
use redrive_engine::{
    BatchOptions, Code, Context, Done, Engine, Failure, Input, Options, Policy, Target, Workload,
};
use serde::{Deserialize, Serialize};

/// How a step goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Step {
    Succeeds,
    Stumbles,
    Remembers,
    IsRefused,
    WaitsForParts,
    /// Longer than its lease is kept without being extended.
    Lasts,
    /// Is handed in when everything else has ended and the worker waits for work.
    ComesLate,
}

const FIRST: [Step; 6] =
    [Step::Succeeds, Step::Stumbles, Step::Remembers, Step::IsRefused, Step::WaitsForParts, Step::Lasts];

pub(super) fn steps() -> impl Iterator<Item = Step> {
    FIRST.into_iter().chain([Step::ComesLate])
}

impl Step {
    /// How it ends, whatever happens on the way.
    pub(super) fn ends(self) -> State {
        match self {
            Self::IsRefused => State::Failed,
            Self::Succeeds
            | Self::Stumbles
            | Self::Remembers
            | Self::WaitsForParts
            | Self::Lasts
            | Self::ComesLate => State::Complete,
        }
    }
}

impl Input for Step {
    const WORKLOAD: &'static str = "step";

    fn unique_by(&self) -> Option<String> {
        Some(format!("{self:?}"))
    }

    fn label(&self) -> Option<String> {
        self.unique_by()
    }

    fn targets(&self) -> Vec<Target> {
        Target::new("door").into_iter().collect()
    }
}

#[derive(Serialize, Deserialize)]
struct Part(u8);

impl Input for Part {
    const WORKLOAD: &'static str = "part";
}

struct Parts;

impl Workload for Parts {
    type Input = Part;

    fn policy(&self) -> Policy {
        policy()
    }

    async fn run(&self, ctx: Context, _: Part) -> Result<Done, Failure> {
        ctx.progress(1, Some(1), Some("nearly")).await?;
        Ok(Done::Complete)
    }
}

struct Steps(Engine);

impl Workload for Steps {
    type Input = Step;

    fn policy(&self) -> Policy {
        policy()
    }

    async fn run(&self, ctx: Context, step: Step) -> Result<Done, Failure> {
        match step {
            Step::Succeeds | Step::ComesLate => Ok(Done::Complete),
            Step::Lasts => {
                tokio::time::sleep(LEASE / 2).await;
                Ok(Done::Complete)
            }
            Step::Stumbles if ctx.attempt() == 1 => Err(Failure::new(Code::TargetError, "not yet")),
            Step::Stumbles => Ok(Done::Complete),
            Step::Remembers => match ctx.state::<u8>()? {
                None => {
                    ctx.save_state(&1u8).await?;
                    Ok(Done::RescheduleNow)
                }
                Some(_) => Ok(Done::Complete),
            },
            Step::IsRefused => Err(Failure::new(Code::HandlerRefused, "never")),
            Step::WaitsForParts => self.wait_for_parts(&ctx).await,
        }
    }
}

impl Steps {
    async fn wait_for_parts(&self, ctx: &Context) -> Result<Done, Failure> {
        let batch = self.0.batch(ctx.own_batch()).await?;
        if let Some(batch) = batch.filter(|batch| batch.state != BatchState::Processing) {
            ctx.set_result(format!("{} of {}", batch.counters.ok, batch.counters.total));
            return Ok(Done::Complete);
        }
        let mut batch = self.0.open_batch(BatchOptions::default().of(ctx)).await?;
        batch.add(&[Part(1), Part(2)]).await?;
        Ok(Done::AwaitBatch(batch.seal().await?))
    }
}

/// One fault never spends so many executions.
fn policy() -> Policy {
    Policy {
        max_attempts: Some(8),
        backoff: Backoff::none(),
        attempt_timeout: Duration::from_secs(20),
        ..Policy::on_demand()
    }
}

/// An engine that knows the story, with times short enough to see the end of a lease.
pub(super) async fn engine(
    store: std::sync::Arc<dyn redrive_store::Store>,
) -> redrive_engine::Result<Engine> {
    let options = Options {
        lease_ttl: LEASE,
        sweep: LEASE / 8,
        poll: LEASE / 8,
        drain: Duration::from_secs(5),
        ..Options::default()
    };
    let engine = Engine::new(store, options).await?;
    engine.register(Parts);
    engine.register(Steps(engine.clone()));
    Ok(engine)
}

pub(super) const LEASE: Duration = Duration::from_millis(800);

/// Between the end of everything else and the last step, the worker looks at the queue in vain and waits.
const PAUSE: Duration = Duration::from_millis(150);

/// Hands everything in, and asks again as a careful client does: the keys make that safe.
pub(super) async fn hand_in(engine: &Engine) {
    let mut under_way = Vec::new();
    for step in FIRST {
        under_way.push(insist(|| engine.enqueue(&step)).await);
    }
    for job in under_way {
        insist(|| engine.job_ended(job)).await;
    }
    tokio::time::sleep(PAUSE).await;
    insist(|| engine.enqueue(&Step::ComesLate)).await;
}

async fn insist<T, F: Future<Output = redrive_engine::Result<T>>>(ask: impl Fn() -> F) -> T {
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(error) => tracing::debug!(%error, "again"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
