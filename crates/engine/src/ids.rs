//! New ids and random draws: the one home of randomness.

use std::sync::{Mutex, PoisonError};

use rand::Rng;
use redrive_model::dedupe::DedupeKey;
use redrive_model::{BatchId, JobId, Timestamp, WorkloadName, instant};

/// Makes ids that sort in the order in which they were made, also within one millisecond.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    last: Mutex<(i64, u16)>,
}

impl Ids {
    /// The bytes behind the instant: twelve bits that count within a millisecond, the rest random.
    pub(crate) fn parts(&self, now: Timestamp) -> (Timestamp, [u8; 10]) {
        let mut draw: [u8; 10] = rand::rng().random();
        let ms = instant::to_millis(now);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock that goes back, or more ids than a millisecond has room for, goes on from the last instant.
        *last = match *last {
            (at, _) if ms > at => (ms, 0),
            (at, n) if n < 0x0fff => (at, n + 1),
            (at, _) => (at + 1, 0),
        };
        let (at, n) = *last;
        let [high, low] = n.to_be_bytes();
        let [first, second, ..] = &mut draw;
        (*first, *second) = (high, low);
        (instant::from_millis(at), draw)
    }

    pub(crate) fn job(&self, now: Timestamp) -> JobId {
        let (at, draw) = self.parts(now);
        JobId::from_parts(at, draw)
    }
}

/// Ten bytes that are the same whenever the parts are.
pub(crate) fn same(workload: &WorkloadName, parts: &[&[u8]]) -> [u8; 10] {
    let hash = DedupeKey::new(workload, None, parts);
    std::array::from_fn(|n| hash.as_bytes().get(n).copied().unwrap_or_default())
}

/// The id of the n-th member of a batch: the same whenever it is made, and in the order of the members.
pub(crate) fn member(batch: BatchId, n: u32) -> JobId {
    let uuid = batch.as_uuid();
    let (instant_bits, rest) = uuid.as_u64_pair();
    // Behind the instant 74 bits are free: twelve and twenty for the number, 42 of the batch's own.
    let own = rest & ((1 << 42) - 1);
    let behind = (u64::from(n & 0x000f_ffff) << 42) | own;
    let [high, low] = u16::try_from(n >> 20).unwrap_or_default().to_be_bytes();
    let mut draw = [0; 10];
    draw[..2].copy_from_slice(&[high, low]);
    draw[2..].copy_from_slice(&behind.to_be_bytes());
    let ms = i64::try_from(instant_bits >> 16).unwrap_or_default();
    JobId::from_parts(instant::from_millis(ms), draw)
}

/// The number that [`member`] put into an id. Of an id that was made otherwise it says nothing.
pub(crate) fn number(member: JobId) -> u32 {
    let (high, low) = member.as_uuid().as_u64_pair();
    let upper = u32::try_from(high & 0x0fff).unwrap_or_default();
    let lower = u32::try_from((low >> 42) & 0x000f_ffff).unwrap_or_default();
    (upper << 20) | lower
}

/// A uniform draw for `decide` and for jitter.
pub(crate) fn draw() -> u64 {
    rand::rng().random()
}

/// A uniform share between 0 and 1.
pub(crate) fn fraction() -> f64 {
    rand::rng().random()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_sort_by_their_number_and_never_meet() {
        let batch = |n: u8| BatchId::from_parts(instant::from_millis(1_800_000_000_000), [n; 10]);
        let numbers =
            [0, 1, 2, 63, 64, 255, 256, 4_095, 4_096, 65_535, 1 << 20, (1 << 20) + 1, u32::MAX - 1, u32::MAX];
        let ids: Vec<JobId> = numbers.iter().map(|n| member(batch(1), *n)).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
        assert_eq!(ids, numbers.iter().map(|n| member(batch(1), *n)).collect::<Vec<_>>());
        assert!(numbers.iter().all(|n| member(batch(1), *n) != member(batch(2), *n)));
        assert!(numbers.iter().zip(&ids).all(|(n, id)| number(*id) == *n));
    }

    #[test]
    fn ids_sort_as_they_were_made_also_when_the_clock_stands_still_or_goes_back() {
        let ids = Ids::default();
        let at = |ms: i64| instant::from_millis(1_800_000_000_000 + ms);
        let mut made: Vec<JobId> = (0..10_000).map(|_| ids.job(at(0))).collect();
        made.extend((0..10).map(|n| ids.job(at(-n))));
        made.extend((0..10).map(|n| ids.job(at(n * 1_000))));
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
