//! Recording how an attempt ended (decisions 1 and 16, faults 4.1).

use redrive_model::decide::{Charge, Due, Requeue};
use redrive_model::{State, Timestamp, instant};
use redrive_store::{AttemptRow, Authority, EventKind, Finish, Finished, Lease, Step};

use super::super::call::Refusal;
use super::{Job, Reference};

impl Reference {
    pub(super) fn finish(&mut self, f: &Finish) -> Result<Finished, Refusal> {
        let told = f.report.failure.is_some() && f.report.fingerprint.is_some();
        if matches!(f.step, Step::Fail { .. }) && !told {
            return Err(Refusal::Invalid);
        }
        let Some(job) = self.jobs.get(&f.lease.job) else { return Ok(Finished::Lost) };
        let ripe = match f.authority {
            Authority::Holder => true,
            Authority::Expired => job.lease.as_ref().is_some_and(|held| held.until <= self.now),
        };
        if !job.stands(f.lease) || !ripe {
            return Ok(self.late(f));
        }
        let before = job.clone();
        let after = self.after(&before, f);
        let state = after.state;
        if let (Some(batch), State::Complete) = (before.batch.and_then(|id| self.batches.get_mut(&id)), state)
        {
            batch.bytes += f.bytes;
        }
        self.jobs.insert(before.id, after);
        self.ended(&before, f);
        self.count_failure(&before, f);
        self.settle();
        Ok(Finished::Recorded(state))
    }

    /// The job after the step.
    fn after(&self, before: &Job, f: &Finish) -> Job {
        let mut job = before.clone();
        let kept = |keep: Option<std::time::Duration>| keep.map(|keep| instant::after(self.now, keep));
        job.crashes += u32::from(f.is_crash());
        job.saved = f.state.clone().or(job.saved);
        match &f.step {
            Step::Complete { result, keep } => {
                job.crashes = before.crashes;
                job.result = Some(result.clone().unwrap_or_default());
                job.end(State::Complete, self.now, kept(*keep));
            }
            Step::Fail { keep, .. } => {
                job.failure = f.report.failure.as_ref().map(|x| (x.code, x.public_message().to_owned()));
                job.end(State::Failed, self.now, kept(*keep));
            }
            Step::Requeue { why, due, charge, spent, alone } => {
                job.state = State::Queued;
                job.lease = None;
                (job.due_at, job.awaits) = match due {
                    Due::Kept => (before.due_at, None),
                    Due::In(wait) => (instant::after(self.now, *wait), None),
                    Due::At(at) => ((*at).max(self.now), None),
                    Due::Batch(id) if self.has_ended(*id) => (self.now, None),
                    Due::Batch(id) => (Timestamp::MAX, Some(*id)),
                };
                job.attempt = match charge {
                    Charge::Keep => before.attempt,
                    Charge::GiveBack => before.attempt - 1,
                    Charge::Reset => 0,
                };
                job.releases += u32::from(*why == Requeue::Release && *charge == Charge::GiveBack);
                job.spent = spent.clone();
                job.alone = *alone;
            }
        }
        job
    }

    /// Writes the attempt and the event that stands for its start and its end.
    fn ended(&mut self, before: &Job, f: &Finish) {
        let kind = match &f.step {
            Step::Complete { .. } => EventKind::Complete,
            Step::Fail { .. } => EventKind::Failed,
            Step::Requeue { why, .. } => EventKind::of_requeue(*why),
        };
        let failure = f.report.failure.as_ref();
        let row = AttemptRow {
            code: failure.map(|x| x.code),
            message: failure.map(|x| x.message.clone()),
            context: failure
                .filter(|x| !x.context.is_empty())
                .map(|x| serde_json::to_string(&x.context).expect("a context is JSON")),
            target_status: failure.and_then(|x| x.target_status),
            rule: Some(f.report.rule),
            policy: Some(f.report.policy.clone()),
            ..self.attempt_row(before, f.step.outcome())
        };
        self.attempt_event(before, kind, &row);
        self.attempts.insert((before.id, before.token), row);
    }

    /// A row about the attempt that runs now, without a report.
    pub(super) fn attempt_row(&self, running: &Job, outcome: &str) -> AttemptRow {
        AttemptRow {
            job: running.id,
            token: running.token,
            number: running.attempt,
            generation: running.generation,
            worker: running.lease.as_ref().map(|held| held.by),
            started_at: running.lease.as_ref().map(|held| held.since),
            ended_at: self.now,
            outcome: outcome.to_owned(),
            code: None,
            message: None,
            context: None,
            target_status: None,
            rule: None,
            policy: None,
            late: None,
        }
    }

    fn count_failure(&mut self, before: &Job, f: &Finish) {
        let (Some(failure), Some(group)) = (&f.report.failure, &f.report.fingerprint) else { return };
        self.see_group(before, failure, group, f.report.target.as_ref());
        if let Step::Fail { reason, .. } = &f.step {
            self.bury(before, *reason, failure, group);
        }
    }

    /// The authority is gone. The very finish that ended this attempt is answered as it was then; anything else of its
    /// worker is noted with the attempt.
    fn late(&mut self, f: &Finish) -> Finished {
        let Lease { job, token } = f.lease;
        let Some(attempt) = self.attempts.get_mut(&(job, token)) else { return Finished::Lost };
        if f.authority == Authority::Expired {
            return Finished::Lost;
        }
        let word = f.step.outcome();
        let code = f.report.failure.as_ref().map(|failure| failure.code);
        if attempt.outcome == word && attempt.rule == Some(f.report.rule) && attempt.code == code {
            return Finished::Recorded(match f.step {
                Step::Complete { .. } => State::Complete,
                Step::Requeue { .. } => State::Queued,
                Step::Fail { .. } => State::Failed,
            });
        }
        attempt.late.get_or_insert_with(|| word.to_owned());
        Finished::Lost
    }
}
