//! Random sequences of calls, made on a small reference and on real stores at once.
//!
//! The reference (`reference/`) is written from the documents with plain maps; it is what a store must be, without
//! being one. Every answer is compared, and every few steps everything that can be looked at. A store's tests call
//! [`check`] with a function that makes fresh harnesses; several harnesses in one list are also compared with each
//! other, because all of them must agree with the reference.
//!
//! A failure prints the shortest sequence that still fails, the store that differs, both values, and the seed.
//!
//! Not covered, because numbers of events differ from store to store: `purge_events` and `EventsGone`. Nor what needs
//! two calls at the same time: that is for the cases.

mod call;
mod deep;
mod difference;
mod look;
mod look_store;
mod op;
mod perform;
mod reference;
mod resolve;
mod resolve_work;
mod run;
mod strategy;
mod universe;
mod world;

use std::cell::Cell;
use std::fmt::Write;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::RangeInclusive;
use std::sync::atomic::AtomicUsize;

use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};
use proptest_state_machine::ReferenceStateMachine;

use crate::Harness;
use op::Step;
use run::{Differs, run};
use strategy::Machine;
use world::World;

/// How much is tried.
#[derive(Debug, Clone)]
pub struct Settings {
    /// So many sequences, each on fresh stores.
    pub cases: u32,
    /// So many steps in each.
    pub steps: RangeInclusive<usize>,
    /// Everything is looked at after so many steps. Once a sequence has failed, after every one.
    pub look_every: usize,
    /// The same seed gives the same sequences; `None` takes a new one each time.
    pub seed: Option<u64>,
    /// At most so many tries to find a shorter sequence that fails.
    pub shrinks: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { cases: 100, steps: 20..=120, look_every: 4, seed: None, shrinks: 1_500 }
    }
}

/// Runs random sequences on whatever `make` makes, once for each sequence.
///
/// Builds a runtime of its own: call it from a plain `#[test]`, not from inside another runtime.
///
/// # Panics
///
/// When a store differs from the reference.
pub fn check<M, F>(settings: &Settings, make: M)
where
    M: Fn() -> F,
    F: Future<Output = Vec<Box<dyn Harness>>>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let seed = settings.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    let config = Config {
        cases: settings.cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        // With none at all proptest-state-machine trips over its own count of steps.
        max_shrink_iters: settings.shrinks.max(1),
        ..Config::default()
    };
    let cases = Cell::new(0);
    let failed = Cell::new(false);
    let run = |steps: &[Step], look_every: usize, seen: Option<&AtomicUsize>| {
        runtime.block_on(async { run(make().await, steps, look_every, seen).await })
    };
    let strategy = Machine::sequential_strategy(settings.steps.clone());
    let outcome = TestRunner::new(config).run(&strategy, |(_, steps, seen)| {
        let look_every = if failed.get() { 1 } else { settings.look_every.max(1) };
        if !failed.get() {
            cases.set(cases.get() + 1);
        }
        run(&steps, look_every, seen.as_deref()).map_err(|differs| {
            failed.set(true);
            TestCaseError::fail(differs.how)
        })
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, (_, steps, _))) => {
            let (steps, how) = shorter(steps, settings.shrinks, |steps| run(steps, 1, None).err());
            let how = how.unwrap_or_else(|| format!("{reason}\nbut the same sequence passes now"));
            panic!("{}", report(&how, &steps, cases.get(), seed));
        }
        Err(TestError::Abort(reason)) => panic!("no sequences could be made: {reason}"),
    }
}

/// Leaves out step after step as long as something still differs, in at most so many tries; proptest tries each only
/// once.
fn shorter(
    mut steps: Vec<Step>,
    mut tries: u32,
    run: impl Fn(&[Step]) -> Option<Differs>,
) -> (Vec<Step>, Option<String>) {
    let Some(first) = run(&steps) else { return (steps, None) };
    steps.truncate(first.step);
    let mut how = first.how;
    let mut n = steps.len();
    while n > 0 && tries > 0 {
        n -= 1;
        tries -= 1;
        let mut without = steps.clone();
        without.remove(n);
        if let Some(differs) = run(&without) {
            without.truncate(differs.step);
            n = without.len();
            (steps, how) = (without, differs.how);
        }
    }
    (steps, Some(how))
}

/// What went wrong, for people.
fn report(difference: &str, steps: &[Step], case: u32, seed: u64) -> String {
    let mut out = format!("\n{difference}\n\nthe shortest sequence found ({} steps):\n", steps.len());
    let mut world = World::default();
    for (n, step) in steps.iter().enumerate() {
        let (call, answer) = world.step(step);
        let elsewhere = if step.elsewhere { " (second handle)" } else { "" };
        let line = format!("{:3}. {call:?}{elsewhere}\n     → {answer:?}", n + 1);
        let _ = writeln!(out, "{}", difference::short(&line));
    }
    let _ = write!(out, "\nfound in case {case}; run it again with seed: Some({seed})");
    out
}

#[cfg(test)]
mod reach;
#[cfg(test)]
mod tests;
