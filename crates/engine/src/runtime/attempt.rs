//! One attempt: run the handler, decide, record.

use std::sync::Arc;
use std::time::Duration;

use redrive_model::{Code, Done, Failure, JobFacts, Outcome, decide, instant};
use redrive_store::{Claimed, Finish};
use tokio::time::Instant;

use super::breakers::Heard;
use super::record::{Entry, KEEP_ATTEMPTS};
use super::slots::{Started, Why};
use super::{Worker, blame, breakers, governor, report};
use crate::context::Left;
use crate::registry::{Registered, Rules};
use crate::{Context, ids};

/// A handler that is told to end because its process stops has so long.
pub(crate) const LAST_MOMENT: Duration = Duration::from_secs(1);

/// Runs this job, and then whatever has a free slot: a task of its own for every short job would cost more than the job.
pub(crate) async fn run_on(worker: Arc<Worker>, mut started: Started) {
    loop {
        run(&worker, started).await;
        match worker.slots.next(&worker.registry) {
            Some(next) => started = next,
            None => break,
        }
    }
    worker.slots.changed.notify_one();
}

/// Runs the attempt to its end and hands that to the recorder.
pub(crate) async fn run(worker: &Worker, started: Started) {
    let Started { mut claimed, cancel, since } = started;
    let Some(registered) = worker.registry.get(&claimed.workload).cloned() else {
        // Only registered workloads are claimed.
        worker.slots.ended(&claimed);
        worker.slots.forget([claimed.lease]);
        return;
    };
    let input = std::mem::take(&mut claimed.input);
    let claimed = Arc::new(claimed);
    let ctx = Context::new(worker.store.clone(), claimed.clone(), cancel.clone());
    let begun = worker.breakers.begin(&claimed.targets);
    worker.governor.started(&claimed);
    let meters = registered.meters(&claimed.workload);
    meters.active.increment(1.0);
    if is_too_late(&registered, &claimed, since) {
        meters.active.decrement(1.0);
        worker.slots.ended(&claimed);
        record(worker, &registered, &claimed, since, Outcome::TooLate, None, Left::default()).await;
        return;
    }
    let began = Instant::now();
    let handler = registered.handler.clone().run(ctx.clone(), input);
    let dropped = async {
        cancel.cancelled().await;
        let grace = worker.options.grace();
        // A platform that is told to stop does not wait long.
        let drains = worker.slots.why(claimed.lease) == Some(Why::Drain);
        tokio::time::sleep(if drains { grace.min(LAST_MOMENT) } else { grace }).await;
    };
    let ended = tokio::select! {
        biased;
        ended = handler => Some(ended),
        () = dropped => None,
    };
    meters.active.decrement(1.0);
    let why = worker.slots.why(claimed.lease);
    meters.duration.record(began.elapsed().as_secs_f64());
    if why == Some(Why::Lost) {
        super::lost(claimed.lease, &claimed.workload, claimed.facts.attempt);
        // A probe that says nothing frees its place.
        for (target, probe) in worker.breakers.take_probes(claimed.lease) {
            breakers::probe_ended(worker, &target, probe, Heard::NOTHING).await;
        }
        worker.slots.ended(&claimed);
        worker.slots.forget([claimed.lease]);
        return;
    }
    let (outcome, failure) = outcome(&claimed, ended, why);
    let left = ctx.take_left();
    // The next one starts when the breakers know: else it runs into what this one has just met.
    let (failed, came_to) = (failure.as_ref(), left.came_to.as_ref());
    let ended = blame::Ended { claimed: &claimed, begun: &begun, began, outcome, failure: failed, came_to };
    let found_down = ended.tell(worker, &registered).await;
    let claimed = if claimed.facts.probe {
        // One that asked about a target that is not to blame is an attempt like any other.
        let others_first = found_down.is_some_and(|down| down.others_first);
        let facts = JobFacts { probe: found_down.is_some(), others_first, ..claimed.facts.clone() };
        Arc::new(Claimed { facts, ..Claimed::clone(&claimed) })
    } else {
        claimed
    };
    worker.slots.ended(&claimed);
    record(worker, &registered, &claimed, since, outcome, failure, left).await;
}

/// Whether the job's deadline has passed before it could run.
fn is_too_late(registered: &Registered, claimed: &Claimed, since: Instant) -> bool {
    registered.rules.policy.deadline.is_some_and(|limit| {
        instant::after(claimed.claimed_at, since.elapsed()) > instant::after(claimed.facts.queued_at, limit)
    })
}

/// Decides what follows and writes it down.
pub(crate) async fn record(
    worker: &Worker,
    registered: &Registered,
    claimed: &Claimed,
    since: Instant,
    outcome: Outcome,
    failure: Option<Failure>,
    left: Left,
) {
    let rules = &*registered.rules;
    let now = instant::after(claimed.claimed_at, since.elapsed());
    let mut decision = match left.cap.or(claimed.max_attempts) {
        // This job has a cap of its own.
        Some(cap) if rules.policy.max_attempts != Some(cap) => {
            let policy = redrive_model::Policy { max_attempts: Some(cap), ..rules.policy.clone() };
            decide(outcome, &claimed.facts, &policy, now, ids::draw())
        }
        _ => decide(outcome, &claimed.facts, &rules.policy, now, ids::draw()),
    };
    let target = failure.as_ref().and_then(|failure| blame::target(failure, claimed));
    let mut failure = failure;
    if let Some(target) = &target {
        let mut longer = governor::delay(worker, target, &mut decision, now).await;
        for target in std::iter::once(target).chain(&left.came_to) {
            longer += blame::wait_elsewhere(worker, claimed, target, &rules.policy, &mut decision, now);
        }
        if !longer.is_zero() {
            let ms = u64::try_from(longer.as_millis()).unwrap_or(u64::MAX);
            failure = failure.map(|failure| failure.with("retry_delayed_ms", ms));
        }
    }
    let ended = report::Ended {
        claimed,
        registered,
        decision: &decision,
        failure: failure.as_ref(),
        took: since.elapsed(),
        held: worker.breakers.blocks(&claimed.targets, now),
    };
    ended.report();
    let Rules { policy, version } = rules;
    let mut finish = Finish::decided_under(
        claimed.lease,
        &claimed.workload,
        policy,
        version.clone(),
        decision,
        failure,
        target,
    );
    finish.bytes = left.bytes;
    if let Some(result) = left.reference {
        finish = finish.with_result(result);
    }
    let prune = policy.is_permanent() && claimed.lease.token.0 % KEEP_ATTEMPTS as i64 == 0;
    let (workload, attempt) = (claimed.workload.clone(), claimed.facts.attempt);
    worker.recorder.record(Entry { finish, workload, attempt, prune }).await;
}

/// What the attempt's end means.
fn outcome(
    claimed: &Claimed,
    ended: Option<Result<Done, Failure>>,
    why: Option<Why>,
) -> (Outcome, Option<Failure>) {
    let failed = |failure: Failure| {
        let outcome = Outcome::Failed { code: failure.code, retry_after: failure.retry_after };
        (outcome, Some(failure))
    };
    match (ended, why) {
        // It waits for itself: nobody would ever wake it.
        (Some(Ok(Done::AwaitBatch(id))), _) if claimed.batch == Some(id) => {
            let text = format_args!("a job cannot wait for batch {id}, which it belongs to");
            failed(Failure::new(Code::HandlerFailed, text))
        }
        (Some(Ok(done)), _) => (Outcome::Done(done), None),
        (_, Some(Why::Timeout)) => {
            failed(Failure::new(Code::SystemTimeout, "the attempt did not end in its time"))
        }
        (_, Some(Why::Drain)) => (Outcome::Released, None),
        (_, Some(Why::Doubt | Why::Lost)) => (Outcome::LeaseLost, None),
        (Some(Err(failure)), None) => failed(failure),
        (None, None) => failed(Failure::new(Code::SystemTimeout, "the attempt was stopped")),
    }
}
