//! What operators see of targets, workers and each other, and what they say when they act.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::Breaker;

/// Why somebody acts, for the audit trail.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Because {
    /// In their own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Holds a target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HoldTarget {
    /// Until this instant; until it is released where none is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
    /// Why, for the audit trail and for whoever wonders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One page of breakers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BreakerList {
    /// Those that are not closed first, each part by the names of their targets.
    pub breakers: Vec<BreakerDetail>,
    /// Where the next page starts; absent at the end.
    #[serde(default)]
    pub next_cursor: Option<String>,
}

/// A breaker with all that operators may know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BreakerDetail {
    /// As everybody sees it.
    #[serde(flatten)]
    pub breaker: Breaker,
    /// Since when the target is down, from the call that opened it to the probe that was good.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub down_since: Option<Timestamp>,
    /// What the last call that failed ended with, while it is down.
    #[serde(default)]
    pub failure_code: Option<String>,
    /// Probes that failed since it was last closed.
    pub failed_probes: u32,
    /// Of the calls that are looked at.
    pub calls: u32,
    /// So many failed.
    pub failures: u32,
    /// The target asked for time until then; none when that is over.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub throttled_until: Option<Timestamp>,
    /// A person's hold, while it lasts.
    pub hold: Option<TargetHold>,
}

/// A person's hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TargetHold {
    /// Who.
    pub by: String,
    /// Why.
    pub reason: String,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// Until when; until it is released where none is said.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
}

/// Which turns of breakers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TurnQuery {
    /// Only of this target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// At most so many; 50 unless said, at most 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Where the page before ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// One page of what breakers did, newest first. The last fifty turns of each are kept, for a week.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TurnList {
    /// The turns.
    pub turns: Vec<BreakerTurn>,
    /// Where the next page starts; absent at the end.
    pub next_cursor: Option<String>,
}

/// Something that a breaker did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BreakerTurn {
    /// Its place among all of them.
    pub number: i64,
    /// Whose breaker.
    pub target: String,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// opened, probed, reopened, answered, closed, throttled, held or released.
    pub what: String,
    /// Why: the code of the last failed call, until when, or a person's words.
    pub why: Option<String>,
    /// The person, where it was one.
    pub by: Option<String>,
}

/// One page of the workers that are known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkerList {
    /// Those that live first, each part from the newest on.
    pub workers: Vec<Worker>,
    /// Where the next page starts; absent at the end.
    #[serde(default)]
    pub next_cursor: Option<String>,
}

/// A process that claims and runs jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Worker {
    /// This run of it.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Which build it runs.
    pub build: String,
    /// alive, draining (it takes no new work) or gone.
    pub state: String,
    /// Somebody wants it drained. It hears of that with its next heartbeat, and its state says when it has.
    #[serde(default)]
    pub drain_wanted: bool,
    /// How much it can run at once.
    pub concurrency: u32,
    /// Leases that it holds now.
    pub leases: u64,
    /// When it was first seen.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// When it was last seen.
    #[schema(value_type = String, format = DateTime)]
    pub seen_at: Timestamp,
}

/// Wants a worker to take no new work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DrainWorker {
    /// It is not wanted any more: the worker takes new work again.
    pub cancel: bool,
    /// Why, for the audit trail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Which acts of the audit trail.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ActQuery {
    /// Only by whoever has this in their name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Only what begins so: `target.hold`, or `target.` for all that was done to targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Only what was done to something with this in its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Only what was begun at or after this instant, or this day in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only what was asked for by the request with this id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// At most so many; 50 unless said, at most 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Where the page before ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// One page of what people did, newest first. A page may be short, or empty, and have a next one all the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActList {
    /// The acts.
    pub acts: Vec<Act>,
    /// Where the next page starts; absent at the end.
    pub next_cursor: Option<String>,
}

/// Something that somebody did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Act {
    /// Its place in the trail.
    pub number: i64,
    /// When it was begun.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Who.
    pub actor: String,
    /// What.
    pub action: String,
    /// To what.
    pub subject: String,
    /// Why, in their own words.
    pub reason: Option<String>,
    /// What became of it; none while it goes on, or when the process ended in the middle.
    pub outcome: Option<String>,
    /// What was changed, as it was; none where nothing was, or where only the outcome tells.
    pub before: Option<String>,
    /// And as it was then.
    pub after: Option<String>,
    /// What the operator might do: read, act or admin; none for a session and for a part of the engine.
    pub scope: Option<String>,
    /// The request that it was asked by. Its answer had the same in `X-Request-Id`, and so has the log.
    pub request_id: Option<String>,
}

/// A policy to be tried on what has happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulate {
    /// Whose jobs.
    pub workload: String,
    /// The policy.
    #[serde(default)]
    pub policy: TriedPolicy,
    /// Jobs that were created from this instant on; the last seven days unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub since: Option<Timestamp>,
}

/// A policy, as far as it is another one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TriedPolicy {
    /// What it begins with: reliability (unless said), stepped, on_demand or permanent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Executions in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// From enqueue to giving up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_sec: Option<f64>,
    /// Whatever failed is tried again up to the cap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_all: Option<bool>,
    /// Retries of these codes, at most.
    pub code_caps: BTreeMap<String, u32>,
}

/// What would have become of jobs under another policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Simulated {
    /// Jobs that were looked at.
    pub jobs: u64,
    /// Nothing would have been different.
    pub same: u64,
    /// Completed in truth, and would have been given up before.
    pub lost: u64,
    /// Failed in truth, and would have been tried again: how that would have ended nobody knows.
    pub tried_longer: u64,
    /// Failed in truth, and would have been given up earlier.
    pub given_up_earlier: u64,
    /// Executions in truth.
    pub attempts: u64,
    /// Executions that would have been saved.
    pub saved: u64,
    /// Jobs that would have been lost or given up earlier, by the code that would have ended them.
    pub by_code: BTreeMap<String, u64>,
}
