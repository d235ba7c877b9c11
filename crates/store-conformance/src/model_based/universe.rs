//! The small world in which random sequences happen: few names, so that they meet often.
//!
//! Everything here is made from a number, so that a shrunk sequence still means something and two runs of it are equal.

use std::collections::BTreeMap;
use std::time::Duration;

use redrive_model::backoff::{Backoff, Curve, Jitter};
use redrive_model::failure::Budget;
use redrive_model::policy::Keep;
use redrive_model::{
    BatchId, Code, Failure, JobId, Owner, Policy, ReplayId, Target, TargetSet, Timestamp, WorkerId,
    WorkloadName, instant,
};

/// Where every clock starts.
const START_MS: i64 = 1_767_225_600_000;
/// What all ids made here begin with; the report writes `#` in its place.
pub(crate) const ID_PREFIX: &str = "019b76da-a800-7000-8000-0000";
/// How many workers there are.
pub(crate) const WORKERS: u8 = 3;

pub(crate) const WORKLOADS: [&str; 3] = ["convert", "fetch", "intake"];
pub(crate) const OWNERS: [&str; 2] = ["ann", "bob"];
pub(crate) const TARGETS: [&str; 3] = ["disk", "gateway", "host:a"];

/// What handlers fail with: one code of every class, and one with a cap and one with a budget of its own.
pub(crate) const CODES: [Code; 7] = [
    Code::GwUnavailable,
    Code::Gw4xx,
    Code::IoError,
    Code::DownloadTimeout,
    Code::GwThrottled,
    Code::DiskFull,
    Code::SystemPanic,
];
/// What jobs are refused with at the door. `IO_ERROR` is one that could be retried.
pub(crate) const REJECTIONS: [Code; 3] = [Code::NotPdf, Code::TooLarge, Code::IoError];

/// The instant at which every clock starts.
pub(crate) fn start() -> Timestamp {
    instant::from_millis(START_MS)
}

/// A counter as the random part of an id: the order of ids is the order of the counter.
fn draw(n: u32) -> [u8; 10] {
    let mut draw = [0; 10];
    draw[6..].copy_from_slice(&n.to_be_bytes());
    draw
}

pub(crate) fn job(n: u32) -> JobId {
    JobId::from_parts(start(), draw(n))
}

pub(crate) fn batch(n: u32) -> BatchId {
    BatchId::from_parts(start(), draw(n))
}

/// A job that never was.
pub(crate) fn unknown_job() -> JobId {
    job(u32::MAX)
}

/// A batch that never was.
pub(crate) fn unknown_batch() -> BatchId {
    batch(u32::MAX)
}

pub(crate) fn replay(n: u32) -> ReplayId {
    ReplayId::from_parts(start(), draw(n))
}

pub(crate) fn worker(n: u8) -> WorkerId {
    WorkerId::from_parts(start(), draw(u32::from(n % WORKERS)))
}

pub(crate) fn workload(n: u8) -> WorkloadName {
    WorkloadName::new(WORKLOADS[usize::from(n) % WORKLOADS.len()]).expect("a good name")
}

pub(crate) fn owner(n: u8) -> Owner {
    Owner::new(OWNERS[usize::from(n) % OWNERS.len()]).expect("a good name")
}

pub(crate) fn target(n: u8) -> Target {
    Target::new(TARGETS[usize::from(n) % TARGETS.len()]).expect("a good name")
}

/// The targets whose bit is set.
pub(crate) fn targets(bits: u8) -> TargetSet {
    let all = 0..u8::try_from(TARGETS.len()).expect("few targets");
    TargetSet::new(all.filter(|n| bits & (1 << n) != 0).map(target)).expect("few targets")
}

/// A failure with everything a failure can carry.
pub(crate) fn failure(n: u8) -> Failure {
    let code = CODES[usize::from(n) % CODES.len()];
    let failure = Failure::new(code, format!("attempt {n} ended with {}", code.name()));
    if n.is_multiple_of(2) { failure.status(502).with("host", "a").with("bytes", 17) } else { failure }
}

pub(crate) fn rejection(n: u8) -> Failure {
    let code = REJECTIONS[usize::from(n) % REJECTIONS.len()];
    Failure::new(code, "refused at the door").say("Not this one.")
}

/// Three policies with small numbers. A job's own cap is the cap, so that `decide` keeps attempts within it.
pub(crate) fn policy(n: u8, cap: Option<u32>) -> Policy {
    let short = Backoff {
        curve: Curve::Steps(vec![Duration::from_secs(1), Duration::from_secs(10)]),
        jitter: Jitter::Percent(20),
    };
    let (hour, day) = (Duration::from_secs(3_600), Duration::from_secs(86_400));
    match n % 3 {
        0 => Policy {
            max_attempts: cap.or(Some(3)),
            backoff: short,
            max_releases: 1,
            keep: Keep { complete: Some(hour), failed: Some(day) },
            ..Policy::stepped()
        },
        1 => Policy {
            max_attempts: cap.or(Some(4)),
            backoff: short,
            budgets: BTreeMap::from([(Budget::Download, 1)]),
            code_caps: BTreeMap::from([(Code::GwUnavailable, 1)]),
            deadline: Some(Duration::from_secs(300)),
            throttle_deadline: Duration::from_secs(60),
            keep: Keep { complete: None, failed: Some(Duration::ZERO) },
            ..Policy::stepped()
        },
        // Without a cap of its own such a job never gives up.
        _ => Policy { max_attempts: cap, ..Policy::permanent() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_as_they_are_counted_and_begin_alike() {
        assert!(job(1) < job(2) && job(2) < job(300));
        assert!(job(0).to_string().starts_with(ID_PREFIX), "{}", job(0));
    }
}
