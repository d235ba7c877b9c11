//! What operators see of groups, targets and workers, what they do with them, and a policy that is tried.

use reqwest::Method;

use super::{Client, QUICK, Result, read, with_json};
use crate::{
    Because, BreakerDetail, BreakerList, DrainWorker, Group, GroupList, GroupQuery, HoldTarget, Simulate,
    Simulated, Worker, WorkerList,
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

    /// All breakers, those that are not closed first.
    pub async fn breakers(&self) -> Result<BreakerList> {
        self.get(&["api", "breakers"]).await
    }

    /// Holds a target: its jobs wait and lose nothing.
    pub async fn hold(&self, target: &str, how: &HoldTarget) -> Result<BreakerDetail> {
        self.tell(&["api", "breakers", target, "hold"], how).await
    }

    /// Lets a target go.
    pub async fn release(&self, target: &str, why: &Because) -> Result<BreakerDetail> {
        self.tell(&["api", "breakers", target, "release"], why).await
    }

    /// All workers that are known, those that live first.
    pub async fn workers(&self) -> Result<WorkerList> {
        self.get(&["api", "workers"]).await
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
