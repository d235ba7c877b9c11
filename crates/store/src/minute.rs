//! What happened, counted by minute: enough for charts and percentiles, and the same small size whatever runs.
//!
//! The counts are made from the events, a chunk at a time, by whoever calls [`Store::roll_up`](crate::Store::roll_up). How far that
//! came is written in the same transaction as the counts, so each event is counted once, however many processes count, and whenever
//! one of them dies. A job that changes state pays nothing for it.

use std::time::Duration;

use redrive_model::{Code, WorkloadName};

use crate::EventKind;

/// Under this name the place up to which events are counted is kept, beside the places of other readers of events.
pub const MINUTES_READER: &str = "events.reader.redrive.minutes";
/// Counts are kept for so long: a day, and the hour that goes on.
pub const KEEP_MINUTES: Duration = Duration::from_secs(25 * 3600);
/// Who counts for the first time looks back at so many rows of the events at most.
pub const FIRST_LOOK: i64 = 50_000;

/// How long an attempt took, in steps: the smallest of these milliseconds that it did not exceed. The statements of the stores have the
/// same list, and the conformance suite compares them.
pub const STEPS_MS: [i64; 28] = [
    1, 2, 5, 10, 20, 35, 50, 75, 100, 150, 200, 350, 500, 750, 1_000, 1_500, 2_000, 3_500, 5_000, 7_500,
    10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 900_000, 86_400_000,
];

/// Events of one kind in one part of the time that was asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinuteRow {
    /// Which part, from 0.
    pub slot: u32,
    /// Whose jobs.
    pub workload: WorkloadName,
    /// What happened. Queued stands for what was handed in or started again, never for an attempt that went back.
    pub kind: EventKind,
    /// What went wrong.
    pub code: Option<Code>,
    /// For completed ones: the step of [`STEPS_MS`] that says how long the attempt took.
    pub took_ms: Option<i64>,
    /// How many.
    pub jobs: u64,
}

/// How long attempts took, as counts by step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latencies {
    counts: [u64; STEPS_MS.len()],
}

impl Latencies {
    /// Counts so many attempts of a step. What is no step is counted with the next larger one.
    pub fn add(&mut self, step_ms: i64, attempts: u64) {
        let place = STEPS_MS.partition_point(|step| *step < step_ms).min(STEPS_MS.len() - 1);
        if let Some(count) = self.counts.get_mut(place) {
            *count += attempts;
        }
    }

    /// How many were counted.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// So many of a hundred attempts took no longer; spread evenly within its step. Nothing when none was counted.
    #[must_use]
    pub fn percentile(&self, percent: u32) -> Option<Duration> {
        let all = self.attempts();
        if all == 0 {
            return None;
        }
        // The first attempt counts from 1, and so many of them are not longer.
        let rank = (u128::from(all) * u128::from(percent.min(100))).div_ceil(100).max(1);
        let (mut below, mut from) = (0u128, 0u64);
        for (step, count) in STEPS_MS.iter().zip(self.counts) {
            let (upto, count) = (u64::try_from(*step).unwrap_or(0), u128::from(count));
            if rank <= below + count {
                let part = u128::from(upto - from) * (rank - below) / count.max(1);
                return Some(Duration::from_millis(from + u64::try_from(part).unwrap_or(0)));
            }
            (below, from) = (below + count, upto);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(latencies: &Latencies, percent: u32) -> u64 {
        u64::try_from(latencies.percentile(percent).unwrap().as_millis()).unwrap()
    }

    #[test]
    fn steps_grow() {
        assert!(STEPS_MS.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn percentiles_lie_within_the_step_of_their_attempt() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.percentile(50), None);
        latencies.add(100, 90);
        latencies.add(5_000, 9);
        latencies.add(60_000, 1);
        assert_eq!(latencies.attempts(), 100);
        assert!((76..=100).contains(&ms(&latencies, 50)));
        assert_eq!(ms(&latencies, 90), 100);
        assert!((3_501..=5_000).contains(&ms(&latencies, 95)));
        assert_eq!(ms(&latencies, 99), 5_000);
        assert_eq!(ms(&latencies, 100), 60_000);
        assert!(ms(&latencies, 0) >= 75);
    }

    #[test]
    fn what_is_no_step_is_counted_with_the_next_larger_one() {
        let mut latencies = Latencies::default();
        latencies.add(60, 1);
        latencies.add(i64::MAX, 1);
        assert_eq!(ms(&latencies, 50), 75);
        assert_eq!(ms(&latencies, 100), 86_400_000);
    }
}
