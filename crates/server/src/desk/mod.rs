//! What operators do beside looking at jobs: dead letters one by one, replays, groups, targets, workers, the trail;
//! and everything at a glance.
//!
//! What was begun is done, whether or not the client waits for it; each act leaves its line in the audit trail.

pub(crate) mod acts;
pub(crate) mod breakers;
pub(crate) mod bulk;
pub(crate) mod discards;
pub(crate) mod groups;
pub(crate) mod letters;
pub(crate) mod overview;
pub(crate) mod replays;
pub(crate) mod simulate;
pub(crate) mod troubles;
pub(crate) mod turns;
pub(crate) mod workers;
