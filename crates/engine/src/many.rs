//! Work that is done on many items at once, and what becomes of the one that spoils it for the others.

use std::collections::VecDeque;
use std::fmt;

use redrive_model::{Done, Failure, Policy, Target};
use redrive_store::NewJob;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Context, Input, Workload, ids};

/// A kind of job whose handler takes many items at once: rows of an import, messages of a bulk call.
///
/// When it fails for good with several items, the engine halves them and tries each half, down to the items that fail by
/// themselves. Those become jobs of their own, with their own attempts and in the end their own dead letters; the job of the
/// others completes. Halves that worked are remembered, also across crashes.
pub trait Many: Send + Sync + 'static {
    /// The workload's name.
    const WORKLOAD: &'static str;

    /// One item.
    type Item: Serialize + DeserializeOwned + Clone + Send + Sync + 'static;

    /// What is done when it fails.
    fn policy(&self) -> Policy {
        Policy::on_demand()
    }

    /// The outside dependencies of these items.
    fn targets(items: &[Self::Item]) -> Vec<Target> {
        let _ = items;
        Vec::new()
    }

    /// So many jobs at once in this process that depend on the same target; no limit unless said.
    fn per_target(&self) -> Option<usize> {
        None
    }

    /// So many jobs at once in this process.
    fn concurrency(&self) -> usize {
        10
    }

    /// Runs all items: either every one is done when this returns well, or none counts. It may see items again that it has
    /// seen before.
    fn run(&self, ctx: Context, items: Vec<Self::Item>) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// The input of a [`Many`].
#[derive(Serialize, Deserialize)]
#[serde(transparent, bound = "")]
pub struct Items<M: Many>(Vec<M::Item>);

impl<M: Many> Items<M> {
    /// These items, in one job.
    #[must_use]
    pub const fn new(items: Vec<M::Item>) -> Self {
        Self(items)
    }
}

impl<M: Many> fmt::Debug for Items<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} items of {}", self.0.len(), M::WORKLOAD)
    }
}

impl<M: Many> Input for Items<M> {
    const WORKLOAD: &'static str = M::WORKLOAD;

    fn targets(&self) -> Vec<Target> {
        M::targets(&self.0)
    }

    fn label(&self) -> Option<String> {
        Some(format!("{} items", self.0.len()))
    }
}

/// The workload of a [`Many`].
pub(crate) struct Halving<M>(pub(crate) M);

/// Where the halving is: ranges that are left to try, and items that fail by themselves.
#[derive(Serialize, Deserialize)]
struct Progress {
    left: VecDeque<(usize, usize)>,
    bad: Vec<usize>,
}

impl<M: Many> Workload for Halving<M> {
    type Input = Items<M>;

    fn policy(&self) -> Policy {
        self.0.policy()
    }

    fn concurrency(&self) -> usize {
        self.0.concurrency()
    }

    fn per_target(&self) -> Option<usize> {
        self.0.per_target()
    }

    async fn run(&self, ctx: Context, input: Items<M>) -> Result<Done, Failure> {
        let items = input.0;
        let mut progress = match ctx.state::<Progress>()? {
            Some(progress) => progress,
            None => match self.0.run(ctx.clone(), items.clone()).await {
                Ok(()) => return Ok(Done::Complete),
                Err(failure) if items.len() < 2 || !self.is_final(&ctx, &failure) => return Err(failure),
                Err(_) => Progress { left: halves(0, items.len()).into(), bad: Vec::new() },
            },
        };
        while let Some((from, to)) = progress.left.front().copied() {
            let part = items.get(from..to).unwrap_or_default().to_vec();
            match self.0.run(ctx.clone(), part).await {
                Ok(()) => {}
                // It may pass: what is left is tried again later.
                Err(failure) if ctx.is_cancelled() || !self.is_final(&ctx, &failure) => return Err(failure),
                Err(_) if to - from < 2 => progress.bad.push(from),
                Err(_) => progress.left.extend(halves(from, to)),
            }
            progress.left.pop_front();
            ctx.save_state(&progress).await?;
        }
        let bad = progress.bad.iter().filter_map(|n| Some((*n, items.get(*n)?.clone())));
        ctx.split(bad.map(|(n, item)| (n, Items::<M>(vec![item]))).collect()).await?;
        Ok(Done::Complete)
    }
}

impl<M: Many> Halving<M> {
    /// Trying all of them again would not help, or is not allowed any more.
    fn is_final(&self, ctx: &Context, failure: &Failure) -> bool {
        let cap = ctx.max_attempts().or(self.0.policy().max_attempts);
        !failure.code.is_retryable() || cap.is_some_and(|cap| ctx.attempt() >= cap)
    }
}

fn halves(from: usize, to: usize) -> [(usize, usize); 2] {
    let middle = from + (to - from) / 2;
    [(from, middle), (middle, to)]
}

impl Context {
    /// Hands in parts of this job as jobs of their own, in the same batch where it has one. Each part's number makes its
    /// id, so an attempt that is made again hands in the same ones.
    pub(crate) async fn split<I: Input>(&self, parts: Vec<(usize, I)>) -> Result<(), Failure> {
        if parts.is_empty() {
            return Ok(());
        }
        let mut jobs: Vec<NewJob> = Vec::with_capacity(parts.len());
        for (n, input) in parts {
            let id = ids::member(self.own_batch(), u32::try_from(n).unwrap_or(u32::MAX));
            let mut how = crate::Enqueue::default().id(id);
            how.owner = self.owner().cloned();
            how.batch = self.batch();
            jobs.push(how.job(&input, || id)?);
        }
        self.hand_in(redrive_store::Enqueue { split: true, ..redrive_store::Enqueue::jobs(jobs) }).await
    }
}
