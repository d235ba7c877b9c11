//! What a replay is asked to do.

use redrive_model::fingerprint::Fingerprint;
use redrive_model::limits::MAX_LABEL_BYTES;
use redrive_model::{Code, Offset, Owner, Target, Timestamp, WorkloadName, text};
use redrive_store::DeadFilter;
use serde::{Deserialize, Serialize};

use crate::desk::By;

/// Dead letters per second unless said, and at most.
const USUAL_RATE: u32 = 5;
const HIGHEST_RATE: u32 = 500;

/// Which dead letters of a workload.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplayFilter {
    /// Only with this code; a public code finds its inner ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// Only this group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Fingerprint>,
    /// Only this owner's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// Only those that died at or after this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Only those that died before this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Only jobs that depend on this target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// Only with this text in the message or the label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Only of jobs that were created at or after this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_since: Option<Timestamp>,
    /// Only of jobs with this text in the label, or with this id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl ReplayFilter {
    /// The open letters that are meant, of a kind of job or of all.
    #[must_use]
    pub fn dead(&self, workload: Option<&WorkloadName>, upto: Option<Offset>) -> DeadFilter {
        DeadFilter {
            workload: workload.cloned(),
            code: self.code,
            group: self.group.clone(),
            owner: self.owner.clone(),
            since: self.since,
            until: self.until,
            target: self.target.clone(),
            text: self.text.clone(),
            created_since: self.created_since,
            label: self.label.clone(),
            upto,
            ..DeadFilter::default()
        }
    }
}

/// A replay to be started.
#[derive(Debug, Clone, PartialEq)]
pub struct NewReplay {
    /// Whose dead letters.
    pub workload: WorkloadName,
    /// Which of them.
    pub filter: ReplayFilter,
    /// Only up to this dead letter: what was counted, and nothing that died since. Where none is said, up to the newest that matches when it
    /// starts.
    pub upto: Option<Offset>,
    /// What people call it.
    pub name: Option<String>,
    /// So many are tried first, and must have ended before the rest follows. 0 tries none first.
    pub canary: u32,
    /// So many per second, at most 500.
    pub rate: u32,
    /// Stops when more than this share of those that have ended failed again. 1 never stops.
    pub stop_share: f64,
}

impl NewReplay {
    /// All open dead letters of a workload: five per second, after a canary of three, until a fifth fails again.
    #[must_use]
    pub fn of(workload: WorkloadName) -> Self {
        Self {
            workload,
            filter: ReplayFilter::default(),
            upto: None,
            name: None,
            canary: 3,
            rate: USUAL_RATE,
            stop_share: 0.2,
        }
    }
}

/// What is stored of it: the input of its job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) workload: WorkloadName,
    pub(super) filter: ReplayFilter,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) upto: Offset,
    pub(super) total: u64,
    pub(super) canary: u32,
    pub(super) rate: u32,
    pub(super) stop_share: f64,
    pub(super) by: String,
    pub(super) reason: Option<String>,
}

impl Plan {
    pub(super) fn new(new: &NewReplay, upto: Offset, total: u64, by: &By) -> Self {
        Self {
            workload: new.workload.clone(),
            filter: new.filter.clone(),
            name: new.name.as_deref().map(|name| text::one_line(name, MAX_LABEL_BYTES, false)),
            upto,
            total,
            canary: new.canary,
            rate: new.rate.clamp(1, HIGHEST_RATE),
            stop_share: new.stop_share.clamp(0.0, 1.0),
            by: by.actor().to_owned(),
            reason: by.reason().map(str::to_owned),
        }
    }

    /// The letters that are left, oldest first.
    pub(super) fn letters(&self) -> DeadFilter {
        DeadFilter { oldest_first: true, ..self.filter.dead(Some(&self.workload), Some(self.upto)) }
    }
}
