//! What happened to a job, why, and what comes next: read from what was recorded, decided by nobody anew.

use redrive_model::breaker::Breaker;
use redrive_model::decide::DeadReason;
use redrive_model::{Code, JobId, Rule, Shown, State, Timestamp, instant};
use redrive_store::{AttemptRow, JobRow};

use crate::{Engine, Result};

/// The story of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The job as it is.
    pub job: JobRow,
    /// Where it is and what comes next, in one sentence.
    pub now: String,
    /// Every execution, oldest first.
    pub past: Vec<Past>,
}

/// One execution, with the rule that decided what followed.
#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    /// What was recorded.
    pub attempt: AttemptRow,
    /// What the failure means, where there was one.
    pub meaning: Option<&'static str>,
    /// What the rule says.
    pub rule: Option<&'static str>,
}

impl Engine {
    /// Explains a job. `None` when there is no such job (any more).
    pub async fn explain(&self, id: JobId) -> Result<Option<Explanation>> {
        let store = self.store();
        let Some(job) = store.job(id).await? else { return Ok(None) };
        let attempts = store.attempts(id).await?;
        let held = match job.shown {
            Shown::Held => self.holds(&job).await?,
            _ => Vec::new(),
        };
        let last = attempts.last().and_then(|attempt| attempt.code);
        let cap = job.max_attempts.or_else(|| self.policy_cap(&job.workload));
        let mut now = sentence(&job, cap, store.now().await?, &held, last);
        let ended_by_one = attempts.last().is_some_and(|attempt| {
            attempt.generation == job.generation && attempt.outcome == State::Failed.as_str()
        });
        if !ended_by_one && let Some(rule) = self.given_up(&job).await? {
            now = format!("{now} {rule}");
        }
        let past = attempts.into_iter().map(|attempt| Past {
            meaning: attempt.code.map(|code| code.entry().what_happened),
            rule: attempt.rule.map(|rule| rule.sentence()),
            attempt,
        });
        Ok(Some(Explanation { now, past: past.collect(), job }))
    }

    /// Why each held target of a job is held.
    async fn holds(&self, job: &JobRow) -> Result<Vec<String>> {
        let now = self.store().now().await?;
        let mut reasons = Vec::new();
        for target in job.targets.iter() {
            let Some(row) = self.store().breaker(target).await? else { continue };
            let breaker = row.breaker;
            if let Some(hold) = breaker.hold.as_ref().filter(|_| breaker.is_held(now)) {
                let until = hold.until.map(|at| format!(" until {at}")).unwrap_or_default();
                reasons.push(format!("{target} is held by {}{until}: {}", hold.by, hold.reason));
            } else if let Some(until) = breaker.throttled_until.filter(|until| *until > now) {
                let rest = self.asked_since(job, &breaker);
                reasons.push(format!("{target} asked for time until {until}{rest}"));
            } else if let Some(at) = breaker.next_probe_at() {
                reasons
                    .push(format!("the breaker of {target} is {}, next probe at {at}", breaker.phase_name()));
            }
        }
        Ok(reasons)
    }

    /// Since when a target asks for time, and when this job is given up because of it.
    fn asked_since(&self, job: &JobRow, breaker: &Breaker) -> String {
        let Some(asking) = breaker.asking else { return String::new() };
        let limit = self.policy_of(&job.workload).filter(|policy| !policy.is_permanent());
        let ends = limit.map(|policy| instant::after(asking.since, policy.throttle_deadline));
        let ends = ends.map(|at| format!(", and what waits for it is given up at {at} unless one comes"));
        format!(", without one good answer since {}{}", asking.since, ends.unwrap_or_default())
    }

    /// Why a job ended that waited and did not run: its dead letter says so.
    async fn given_up(&self, job: &JobRow) -> Result<Option<&'static str>> {
        if job.shown != Shown::Failed {
            return Ok(None);
        }
        let dead = self.store().dead_letters_of(job.id).await?;
        let reason = dead.last().filter(|dead| dead.generation == job.generation).map(|dead| dead.reason);
        let rule = match reason {
            Some(DeadReason::Exhausted) => Rule::TargetStayedDown,
            Some(DeadReason::Deadline) => Rule::ThrottledTooLong,
            Some(DeadReason::FailFast) => Rule::BreakerFailFast,
            Some(DeadReason::GivenUp) => Rule::ByHand,
            Some(
                DeadReason::NonRetryable
                | DeadReason::Crashed
                | DeadReason::Expired
                | DeadReason::Undecodable,
            )
            | None => return Ok(None),
        };
        Ok(Some(rule.sentence()))
    }
}

impl Explanation {
    /// The story as lines of text.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!("{} {} {}", self.job.workload, self.job.id, self.job.shown.as_str()),
            self.now.clone(),
        ];
        for past in &self.past {
            let attempt = &past.attempt;
            let code = attempt.code.map_or(String::new(), |code| format!(" {}", code.name()));
            let message = attempt.message.as_deref().map_or(String::new(), |text| format!(": {text}"));
            lines.push(format!("attempt {} {}{code}{message}", attempt.number, attempt.outcome));
            lines.extend(past.rule.map(|rule| format!("  {rule}")));
        }
        lines
    }
}

fn sentence(job: &JobRow, cap: Option<u32>, now: Timestamp, held: &[String], last: Option<Code>) -> String {
    let cap = cap.map_or(String::new(), |cap| format!(" of {cap}"));
    match job.shown {
        Shown::Queued => "Ready: it runs as soon as a worker has room.".into(),
        Shown::Scheduled => format!("Runs at {} for the first time.", job.due_at),
        Shown::WaitingRetry => {
            format!("Waits for attempt {}{cap}, which comes at {}.", job.attempt + 1, job.due_at)
        }
        Shown::WaitingBatch => match job.awaits {
            Some(batch) => format!("Waits until batch {batch} has ended."),
            None => "Waits for a batch.".into(),
        },
        Shown::Held if held.is_empty() => {
            "Held: a target lets nobody pass just now. It loses no attempt.".into()
        }
        Shown::Held => format!("Held, without losing an attempt: {}.", held.join("; ")),
        Shown::Processing => {
            let until = job.lease_expires_at.map_or(String::new(), |at| format!(", with a lease until {at}"));
            format!("Attempt {}{cap} runs{until}.", job.attempt)
        }
        Shown::Complete if job.expired_at.is_some() => {
            "Complete; its artifacts have been removed since.".into()
        }
        Shown::Complete | Shown::Partial => "Complete.".into(),
        Shown::Cancelled => "Cancelled by a person.".into(),
        Shown::Failed => {
            let code = job.failure_code.or(last).unwrap_or(Code::Unknown);
            let entry = code.entry();
            let kept = match job.purge_at.filter(|at| *at > now) {
                Some(at) => format!(" It is kept until {at}."),
                None => String::new(),
            };
            format!("Failed with {}. {} {}{kept}", code.name(), entry.what_happened, entry.what_you_can_do)
        }
    }
}
