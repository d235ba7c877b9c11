//! The long forms, which run only when they are asked for.

use super::race::each_runs_once;
use crate::Harness;

/// The long form of C5.
pub async fn c5_two_workers_run_each_of_a_hundred_thousand_jobs_once(h: &dyn Harness) {
    each_runs_once(h, 100_000).await;
}
