//! Runs one sequence on the reference and on every store, and stops at the first difference.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use redrive_model::JobId;
use redrive_store::Store;

use super::call::{Answer, Call};
use super::deep::deep;
use super::difference;
use super::look::{Look, Scope, forgive};
use super::look_store::{Broken, Reader};
use super::op::Step;
use super::perform::perform;
use super::universe;
use super::world::World;
use crate::Harness;

/// One store under test.
struct Subject {
    name: String,
    harness: Box<dyn Harness>,
    first: Arc<dyn Store>,
    second: Arc<dyn Store>,
    reader: Reader,
}

/// The first thing that differs.
pub(crate) struct Differs {
    /// After so many steps.
    pub(crate) step: usize,
    /// Which store, and how.
    pub(crate) how: String,
}

/// Runs the steps.
pub(crate) async fn run(
    harnesses: Vec<Box<dyn Harness>>,
    steps: &[Step],
    look_every: usize,
    seen: Option<&AtomicUsize>,
) -> Result<(), Differs> {
    let mut subjects = Vec::new();
    for (n, harness) in harnesses.into_iter().enumerate() {
        harness.set_clock(universe::start()).await;
        let name = format!("store {n} ({:?})", harness.backend());
        let (first, second) = (harness.store(), harness.second().await);
        subjects.push(Subject { name, harness, first, second, reader: Reader::default() });
    }
    let mut world = World::default();
    let mut events_from = 0;
    let mut touched: BTreeSet<JobId> = BTreeSet::new();
    for (n, step) in steps.iter().enumerate() {
        if let Some(seen) = seen {
            seen.fetch_add(1, Ordering::SeqCst);
        }
        let (call, expected) = world.step(step);
        touched.extend(jobs_of(&call));
        let last = n + 1 == steps.len();
        let look = last || n % look_every == look_every - 1;
        let scope_of: Vec<JobId> = touched.iter().copied().collect();
        let scope = Scope { attempts_of: (!last).then_some(scope_of.as_slice()), events_from };
        for subject in &mut subjects {
            let found = subject.step(step, &call, &expected).await;
            let found = match found {
                Ok(()) if look => subject.look(&world, &scope, last).await,
                other => other,
            };
            let step = n + 1;
            found.map_err(|how| Differs {
                step,
                how: format!("{}, after step {step}: {how}", subject.name),
            })?;
        }
        if look {
            touched.clear();
            events_from = world.reference.events.len();
        }
    }
    Ok(())
}

impl Subject {
    async fn step(&self, step: &Step, call: &Call, expected: &Answer) -> Result<(), String> {
        let store = if step.elsewhere { &self.second } else { &self.first };
        let answer = perform(&*self.harness, &**store, call).await;
        difference::of("the answer", expected, &answer).map_or(Ok(()), Err)
    }

    async fn look(&mut self, world: &World, scope: &Scope<'_>, last: bool) -> Result<(), String> {
        let broken = |broken: Broken| difference::short(&broken.0);
        let expected = Look::of_reference(world, scope);
        let mut seen = Look::of_store(&*self.first, world, scope, &mut self.reader).await.map_err(broken)?;
        forgive(&mut seen, &expected, &world.reference);
        if let Some(difference) = expected.difference(&seen) {
            return Err(difference);
        }
        if last { deep(&*self.second, world).await.map_err(broken) } else { Ok(()) }
    }
}

/// The jobs whose attempts a call may change.
fn jobs_of(call: &Call) -> Vec<JobId> {
    match call {
        Call::Finish(finishes) => finishes.iter().map(|finish| finish.lease.job).collect(),
        Call::Cancel { jobs, .. } => jobs.clone(),
        Call::PruneAttempts { job, .. } => vec![*job],
        Call::Enqueue(_)
        | Call::Publish(_)
        | Call::Claim(_)
        | Call::Extend { .. }
        | Call::SaveState { .. }
        | Call::Retry { .. }
        | Call::GiveUp(_)
        | Call::Reschedule { .. }
        | Call::Discard(_)
        | Call::MoveGroup { .. }
        | Call::Pause(_)
        | Call::Resume(_)
        | Call::SwapBreaker { .. }
        | Call::Beat(_)
        | Call::WantDrained { .. }
        | Call::Expire(_)
        | Call::Purge { .. }
        | Call::Forget(_)
        | Call::Advance(_) => Vec::new(),
    }
}
