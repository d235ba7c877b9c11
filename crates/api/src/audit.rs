//! What the auditor found, for operators.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where every job is, and what must not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Audit {
    /// Nothing is wrong.
    pub clean: bool,
    /// How many jobs were looked at.
    pub jobs: u64,
    /// Where they are: runnable, waiting, leased, held, dead, done.
    pub places: BTreeMap<String, u64>,
    /// What must not be; at most a thousand are listed.
    pub violations: Vec<Violation>,
    /// Jobs moved meanwhile, so that counters could not be compared with rows.
    pub moved: bool,
}

/// Something that must not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Violation {
    /// The job it is about, where it is about one.
    pub job_id: Option<String>,
    /// What is wrong.
    pub what: String,
}
