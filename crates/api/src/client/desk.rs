//! What operators see of groups, targets and workers, what they do with them, and a policy that is tried.

use reqwest::Method;

use super::{Client, QUICK, Result, read, with_json};
use crate::{
    Because, BreakerDetail, BreakerList, CancelJobs, CancelledJobs, DrainWorker, Group, GroupList,
    GroupQuery, HoldTarget, MatchingJobs, PageQuery, Simulate, Simulated, TurnList, TurnQuery, WaitingFilter,
    Worker, WorkerList,
};

impl Client {
    /// One page of failure groups, last seen first.
    pub async fn groups(&self, wanted: &GroupQuery) -> Result<GroupList> {
        let request = self.request(Method::GET, &["api", "groups"]).query(wanted).timeout(QUICK);
        read(self.send(request).await?).await
    }

    /// One failure group.
    pub async fn group(&self, fingerprint: &str) -> Result<Group> {
        self.get(&["api", "groups", fingerprint]).await
    }

    /// Says that somebody has looked at a group.
    pub async fn ack_group(&self, fingerprint: &str, why: &Because) -> Result<Group> {
        self.tell(&["api", "groups", fingerprint, "ack"], why).await
    }

    /// Says that a group is mended.
    pub async fn resolve_group(&self, fingerprint: &str, why: &Because) -> Result<Group> {
        self.tell(&["api", "groups", fingerprint, "resolve"], why).await
    }

    /// One page of breakers, those that are not closed first.
    pub async fn breakers(&self, wanted: &PageQuery) -> Result<BreakerList> {
        let request = self.request(Method::GET, &["api", "breakers"]).query(wanted).timeout(QUICK);
        read(self.send(request).await?).await
    }

    /// Holds a target: its jobs wait and lose nothing.
    pub async fn hold(&self, target: &str, how: &HoldTarget) -> Result<BreakerDetail> {
        self.tell(&["api", "breakers", target, "hold"], how).await
    }

    /// Lets a target go.
    pub async fn release(&self, target: &str, why: &Because) -> Result<BreakerDetail> {
        self.tell(&["api", "breakers", target, "release"], why).await
    }

    /// One page of what breakers did, newest first.
    pub async fn breaker_history(&self, wanted: &TurnQuery) -> Result<TurnList> {
        let request = self.request(Method::GET, &["api", "breakers", "history"]).query(wanted).timeout(QUICK);
        read(self.send(request).await?).await
    }

    /// How many waiting jobs match.
    pub async fn count_waiting(&self, filter: &WaitingFilter) -> Result<MatchingJobs> {
        let asked = CancelJobs { filter: filter.clone(), dry_run: true, ..CancelJobs::default() };
        let request = self.request(Method::POST, &["api", "jobs", "cancel"]);
        read(self.send(with_json(request, &asked)?).await?).await
    }

    /// Cancels waiting jobs that match. It takes as long as that takes.
    pub async fn cancel_waiting(&self, how: &CancelJobs) -> Result<CancelledJobs> {
        let request = self.request(Method::POST, &["api", "jobs", "cancel"]);
        read(self.send(with_json(request, how)?).await?).await
    }

    /// One page of the workers that are known, those that live first.
    pub async fn workers(&self, wanted: &PageQuery) -> Result<WorkerList> {
        let request = self.request(Method::GET, &["api", "workers"]).query(wanted).timeout(QUICK);
        read(self.send(request).await?).await
    }

    /// Wants a worker drained, or wants that no longer.
    pub async fn drain_worker(&self, id: &str, how: &DrainWorker) -> Result<Worker> {
        self.tell(&["api", "workers", id, "drain"], how).await
    }

    /// Tries a policy on what has happened. It looks at every job of its time, and takes as long as that takes.
    pub async fn simulate(&self, wanted: &Simulate) -> Result<Simulated> {
        let request = self.request(Method::POST, &["api", "simulate"]);
        read(self.send(with_json(request, wanted)?).await?).await
    }
}
