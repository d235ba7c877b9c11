//! The kit at work: claim, finish through `decide`, act, and set breakers.

use std::time::Duration;

use redrive_model::breaker::{Breaker, Hold, Phase};
use redrive_model::{Code, Done, Failure, JobId, Outcome, State, Timestamp, decide, instant};
use redrive_store::{
    Acted, Claim, ClaimMode, Claimed, Expired, Finish, Finished, Lease, NewJob, RetryBy, Swapped, Want,
    WorkerBeat,
};

use super::{KEEP, Kit, TTL, target, workload};

impl Kit<'_> {
    // --- working -----------------------------------------------------------------------------------------------

    /// A claim of worker 1 for `work` and `other`, to be changed before it is made.
    #[must_use]
    pub fn ask(&self, limit: usize) -> Claim {
        let want = |name| Want::new(workload(name), limit);
        Claim {
            worker: self.worker(1),
            wants: vec![want("work"), want("other")],
            limit,
            ttl: TTL,
            mode: ClaimMode::Normal,
            rooms: Vec::new(),
        }
    }

    /// Claims as it is asked.
    pub async fn claim_with(&self, claim: Claim) -> Vec<Claimed> {
        self.store.claim(claim).await.unwrap()
    }

    /// Claims up to `limit` for worker 1.
    pub async fn claim(&self, limit: usize) -> Vec<Claimed> {
        self.claim_with(self.ask(limit)).await
    }

    /// Claims one, which must be there.
    pub async fn claim_one(&self) -> Claimed {
        let mut claimed = self.claim(1).await;
        claimed.pop().expect("a job that can be claimed")
    }

    /// The ids that a claim of up to `limit` gets, in order.
    pub async fn claim_ids(&self, limit: usize) -> Vec<JobId> {
        ids(&self.claim(limit).await)
    }

    /// What the policy makes of this outcome of an attempt, as a finish.
    pub async fn decided(&self, claimed: &Claimed, outcome: Outcome, failure: Option<Failure>) -> Finish {
        let blamed = claimed.targets.iter().next().cloned().filter(|_| failure.is_some());
        let decision = decide(outcome, &claimed.facts, &self.policy, self.now().await, 0);
        Finish::decided(claimed.lease, &claimed.workload, &self.policy, decision, failure, blamed)
    }

    /// A finish that completes.
    pub async fn completion(&self, claimed: &Claimed) -> Finish {
        let finish = self.decided(claimed, Outcome::Done(Done::Complete), None).await;
        finish.with_result(format!("results/{}", claimed.lease.job))
    }

    /// A finish that fails with this code: what follows is the policy's word.
    pub async fn failure(&self, claimed: &Claimed, code: Code) -> Finish {
        self.failure_saying(claimed, code, "it does not work").await
    }

    /// A finish that fails with this code and message.
    pub async fn failure_saying(&self, claimed: &Claimed, code: Code, message: &str) -> Finish {
        let failure = Failure::new(code, message);
        self.decided(claimed, Outcome::Failed { code, retry_after: None }, Some(failure)).await
    }

    /// Records one finish.
    pub async fn finish(&self, finish: Finish) -> Finished {
        self.store.finish(vec![finish]).await.unwrap()[0]
    }

    /// Completes it, which must be recorded.
    pub async fn complete(&self, claimed: &Claimed) {
        let finish = self.completion(claimed).await;
        assert_eq!(self.finish(finish).await, Finished::Recorded(State::Complete));
    }

    /// Fails it with this code, which must be recorded.
    pub async fn fail(&self, claimed: &Claimed, code: Code) {
        let finish = self.failure(claimed, code).await;
        assert!(matches!(self.finish(finish).await, Finished::Recorded(_)));
    }

    /// Ends it with this outcome, which must be recorded.
    pub async fn end(&self, claimed: &Claimed, outcome: Outcome) {
        let finish = self.decided(claimed, outcome, None).await;
        assert!(matches!(self.finish(finish).await, Finished::Recorded(_)), "{outcome:?}");
    }

    /// Hands jobs in and lets each die at once with a failure that is not retryable.
    pub async fn put_dead(&self, jobs: Vec<NewJob>) -> Vec<JobId> {
        let ids = self.put(jobs).await;
        for claimed in self.claim(ids.len()).await {
            self.fail(&claimed, Code::HandlerFailed).await;
        }
        ids
    }

    /// Takes back what `expired` says, by the policy's word.
    pub async fn reclaim(&self, expired: &Expired) -> Finished {
        let outcome = if expired.worker_alive { Outcome::LeaseLost } else { Outcome::Crashed };
        let decision = decide(outcome, &expired.facts, &self.policy, self.now().await, 0);
        let finish = Finish::decided(expired.lease, &expired.workload, &self.policy, decision, None, None);
        self.finish(finish.expired()).await
    }

    /// A worker says that it lives, for one lease time; whether somebody wants it drained.
    pub async fn beat(&self, n: u8) -> bool {
        let beat = WorkerBeat {
            id: self.worker(n),
            name: format!("worker-{n}"),
            build: "test".into(),
            draining: false,
            ttl: TTL,
            concurrency: 4,
        };
        self.store.beat(beat).await.unwrap()
    }

    // --- acting ------------------------------------------------------------------------------------------------

    /// Retries one job by hand.
    pub async fn retry(&self, id: JobId) -> Acted {
        self.store.retry(vec![id], RetryBy::default()).await.unwrap()[0]
    }

    /// Cancels one job.
    pub async fn cancel(&self, id: JobId) -> Acted {
        self.store.cancel(vec![id], Some(KEEP)).await.unwrap()[0]
    }

    /// Writes a breaker, whatever its version.
    pub async fn set_breaker(&self, name: &str, breaker: &Breaker) {
        let version = self.store.breaker(&target(name)).await.unwrap().map(|row| row.version);
        let swapped = self.store.swap_breaker(&target(name), version, breaker, None).await.unwrap();
        assert!(matches!(swapped, Swapped::Done(_)));
    }

    /// Opens the breaker of a target for so long.
    pub async fn open_breaker(&self, name: &str, wait: Duration) {
        let now = self.now().await;
        let breaker = Breaker {
            phase: Phase::Open { until: instant::after(now, wait) },
            epoch: 1,
            ..Breaker::new(now)
        };
        self.set_breaker(name, &breaker).await;
    }

    /// Closes the breaker of a target.
    pub async fn close_breaker(&self, name: &str) {
        self.set_breaker(name, &Breaker::new(self.now().await)).await;
    }

    /// A person holds a target, until then or until it is released.
    pub async fn hold(&self, name: &str, until: Option<Timestamp>) {
        let since = self.now().await;
        let mut breaker = Breaker::new(since);
        breaker.hold(Hold { by: "ann".into(), reason: "maintenance".into(), since, until });
        self.set_breaker(name, &breaker).await;
    }
}

/// The jobs of these claims, in order.
#[must_use]
pub fn ids(claimed: &[Claimed]) -> Vec<JobId> {
    claimed.iter().map(|c| c.lease.job).collect()
}

/// The leases of these claims, in order.
#[must_use]
pub fn leases(claimed: &[Claimed]) -> Vec<Lease> {
    claimed.iter().map(|c| c.lease).collect()
}
