//! Who is to blame for how an attempt ended, and what the breakers are told.
//!
//! A success speaks for every target of the job, a failure against the one that it names, or against the only one there is, unless it is one
//! of storage. Either speaks in the same way about a target that the attempt came to and that the job does not depend on, such as the host that a
//! redirect led to: its breaker counts the call like any other, for the jobs that do depend on it, and this job's retry waits until that target
//! may be called again.

use std::time::Duration;

use redrive_model::breaker::Call;
use redrive_model::decide::{Due, Requeue};
use redrive_model::{
    Category, Class, Decision, Done, Failure, NextStep, Outcome, Policy, Target, Timestamp, instant,
};
use redrive_store::Claimed;
use tokio::time::Instant;

use super::breakers::{Begun, Heard};
use super::{Worker, breakers, surroundings};
use crate::registry::Registered;

/// Throttled without a word on how long.
const SHORT_WAIT: Duration = Duration::from_secs(5);

/// The oldest held job is the probe, and stays it for so many that fail. Then each is made with another job: the oldest may be the
/// one that its target cannot stand. Where each job asks for a thing of its own, that is so from the first.
const STAYS: u32 = 4;

/// A probe found its target still down.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StillDown {
    /// The next one is made with another job.
    pub(crate) others_first: bool,
}

/// An attempt that has ended.
pub(crate) struct Ended<'a> {
    pub(crate) claimed: &'a Claimed,
    /// Its calls, in the order of its targets.
    pub(crate) begun: &'a [Begun],
    pub(crate) began: Instant,
    pub(crate) outcome: Outcome,
    pub(crate) failure: Option<&'a Failure>,
    /// What it came to beside its targets.
    pub(crate) came_to: Option<&'a Target>,
}

impl Ended<'_> {
    /// Tells the breakers how the calls of this attempt ended. What the other side asked for is written before the job's
    /// end, so that nobody runs into it meanwhile. Answers what a probe that found its target still down means for the job,
    /// which it costs nothing.
    pub(crate) async fn tell(&self, worker: &Worker, registered: &Registered) -> Option<StillDown> {
        let Self { claimed, failure, .. } = *self;
        let (call, blamed) = (self.call(), failure.and_then(|failure| target(failure, claimed)));
        let code = failure.map(|failure| failure.code);
        let probes = worker.breakers.take_probes(claimed.lease);
        let mut found_down = None;
        for (of, begun) in claimed.targets.iter().zip(self.begun) {
            // A failure that is blamed on somebody else says nothing about this target.
            let about = call == Call::Success || blamed.as_ref() == Some(of);
            let heard = if about { Heard { call, code } } else { Heard::NOTHING };
            match probes.iter().find(|(target, _)| target == of) {
                Some((_, probe)) => {
                    let failed = breakers::probe_ended(worker, of, *probe, heard).await;
                    if heard.call.is_failure() {
                        let alike = (worker.options.breaker)(of).counts_retries;
                        found_down = Some(StillDown { others_first: !alike || failed > STAYS });
                    }
                }
                None if self.counts(worker, of, call) => worker.breakers.note(of, heard, begun.epoch),
                None => {}
            }
        }
        for of in self.elsewhere(blamed.as_ref()).filter(|of| self.counts(worker, of, call)) {
            worker.breakers.note(of, Heard { call, code }, worker.breakers.epoch_at(of, self.began));
        }
        let failure = failure?;
        if failure.code.class() == Class::Environment {
            surroundings::met(worker, failure).await;
        }
        let of = blamed.as_ref()?;
        let wait = failure.retry_after.unwrap_or(SHORT_WAIT).min(registered.rules.policy.retry_after_cap);
        if call.is_failure() {
            breakers::failed(worker).await;
            return found_down;
        }
        let own = Some(of).filter(|of| claimed.targets.contains(of));
        for of in own.into_iter().chain(self.elsewhere(blamed.as_ref())) {
            if failure.code.class() == Class::Throttled {
                breakers::throttle(worker, of, wait, Some(failure.code)).await;
            } else if call == Call::Busy {
                let number = claimed.targets.iter().position(|target| target == of);
                let number = number.and_then(|n| self.begun.get(n)).map(|begun| begun.number);
                breakers::busy(worker, of, number, wait, failure.code).await;
            }
        }
        found_down
    }

    /// What the end speaks about beside the targets of the job, each once.
    fn elsewhere<'b>(&'b self, blamed: Option<&'b Target>) -> impl Iterator<Item = &'b Target> {
        let came_to = self.came_to.filter(|of| blamed != Some(of));
        blamed.into_iter().chain(came_to).filter(|of| !self.claimed.targets.contains(of))
    }

    /// Whether this call is one that the target's breaker looks at.
    fn counts(&self, worker: &Worker, target: &Target, call: Call) -> bool {
        let first = self.claimed.facts.attempt <= 1;
        !call.is_failure() || first || (worker.options.breaker)(target).counts_retries
    }

    fn call(&self) -> Call {
        match (self.outcome, self.failure) {
            (Outcome::Done(Done::Snooze(_) | Done::AwaitBatch(_)), _) => Call::Neutral,
            (Outcome::Done(_), _) => Call::Success,
            (Outcome::Failed { .. }, Some(failure)) => Call::of(failure.code),
            _ => Call::Neutral,
        }
    }
}

/// The target a failure is blamed on: the one it names, or the only one there is. Where things are kept is a dependency of its own: when
/// it fails and the failure does not name it, nobody is to blame, least of all what the job asked before.
pub(crate) fn target(failure: &Failure, claimed: &Claimed) -> Option<Target> {
    let only = || {
        let mut targets = claimed.targets.iter();
        targets.next().filter(|_| targets.next().is_none()).cloned()
    };
    let unnamed = match failure.code.entry().category {
        Category::Upload | Category::Storage => None,
        Category::Validation
        | Category::Authorization
        | Category::Request
        | Category::Gateway
        | Category::Download
        | Category::Handler
        | Category::Notify
        | Category::System => only(),
    };
    failure.target.clone().or(unnamed)
}

/// The claim does not keep this job from a target that it does not depend on: its retry waits until that one may be called
/// again, so that its attempts are not spent on what is known to be down. Answers how much longer that is.
pub(crate) fn wait_elsewhere(
    worker: &Worker,
    claimed: &Claimed,
    target: &Target,
    policy: &Policy,
    decision: &mut Decision,
    now: Timestamp,
) -> Duration {
    let NextStep::Requeue { why: Requeue::Retry, due: Due::In(wait), .. } = &mut decision.step else {
        return Duration::ZERO;
    };
    let free = worker.breakers.free_at(target, now).filter(|_| !claimed.targets.contains(target));
    let Some(free) = free else { return Duration::ZERO };
    let longer = instant::between(now, free).min(policy.retry_after_cap).saturating_sub(*wait);
    *wait += longer;
    longer
}
