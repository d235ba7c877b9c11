//! Token buckets with a bounded memory.
//!
//! A bucket that is full again says nothing and is forgotten first; when all of them say something, the one with the most left
//! goes. So an attacker with many addresses costs a fixed number of buckets, and never fills somebody else's.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::limits::Rate;

/// Buckets that are kept at once.
const MOST: usize = 10_000;

/// How much each key has left.
#[derive(Debug)]
pub(crate) struct Meter<K> {
    rate: Rate,
    most: usize,
    buckets: Mutex<HashMap<K, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    fn left(&self, rate: Rate, now: Instant) -> f64 {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        (self.left + since * rate.per_second).min(rate.burst)
    }
}

impl<K: Hash + Eq + Clone> Meter<K> {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, most: MOST, buckets: Mutex::default() }
    }

    /// Takes so much. When there is not enough nothing is taken, and the answer says how long to wait.
    pub(crate) fn take(&self, key: &K, cost: f64) -> Result<(), Duration> {
        let now = Instant::now();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let left = buckets.get(key).map_or(self.rate.burst, |bucket| bucket.left(self.rate, now));
        // More than a bucket holds is possible only when it is full.
        let needed = cost.min(self.rate.burst);
        if left < needed {
            let wait = (needed - left) / self.rate.per_second.max(1e-9);
            return Err(Duration::try_from_secs_f64(wait).unwrap_or(Duration::MAX));
        }
        if !buckets.contains_key(key) && buckets.len() >= self.most {
            self.make_room(&mut buckets, now);
        }
        buckets.insert(key.clone(), Bucket { left: left - cost, at: now });
        Ok(())
    }

    /// Whether there is something left; nothing is taken.
    pub(crate) fn check(&self, key: &K) -> Result<(), Duration> {
        let buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let left = buckets.get(key).map_or(self.rate.burst, |bucket| bucket.left(self.rate, Instant::now()));
        if left >= 1.0 {
            return Ok(());
        }
        let wait = (1.0 - left) / self.rate.per_second.max(1e-9);
        Err(Duration::try_from_secs_f64(wait).unwrap_or(Duration::MAX))
    }

    fn make_room(&self, buckets: &mut HashMap<K, Bucket>, now: Instant) {
        buckets.retain(|_, bucket| bucket.left(self.rate, now) < self.rate.burst);
        if buckets.len() < self.most {
            return;
        }
        let fullest = buckets
            .iter()
            .max_by(|a, b| a.1.left(self.rate, now).total_cmp(&b.1.left(self.rate, now)))
            .map(|(key, _)| key.clone());
        if let Some(key) = fullest {
            buckets.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { burst: 3.0, per_second: 1.0 };

    #[tokio::test(start_paused = true)]
    async fn a_bucket_empties_refills_and_says_how_long() {
        let meter = Meter::new(RATE);
        for _ in 0..3 {
            meter.take(&"ann", 1.0).unwrap();
        }
        assert_eq!(meter.take(&"ann", 1.0), Err(Duration::from_secs(1)));
        assert_eq!(meter.check(&"ann"), Err(Duration::from_secs(1)));
        assert_eq!((meter.check(&"bob"), meter.check(&"bob")), (Ok(()), Ok(())));
        meter.take(&"bob", 1.0).unwrap();
        tokio::time::advance(Duration::from_millis(2_500)).await;
        meter.take(&"ann", 2.0).unwrap();
        assert_eq!(meter.take(&"ann", 1.0), Err(Duration::from_millis(500)));
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_costs_more_than_a_bucket_holds_passes_once_and_is_paid_off() {
        let meter = Meter::new(RATE);
        meter.take(&(), 10.0).unwrap();
        assert_eq!(meter.take(&(), 1.0), Err(Duration::from_secs(8)));
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded_and_the_one_in_debt_is_remembered() {
        let meter = Meter { most: 10, ..Meter::new(RATE) };
        for _ in 0..3 {
            meter.take(&0, 1.0).unwrap();
        }
        for stranger in 1..1_000 {
            meter.take(&stranger, 1.0).unwrap();
        }
        assert!(meter.buckets.lock().unwrap().len() <= 10);
        assert!(meter.take(&0, 1.0).is_err(), "it was forgotten");
        tokio::time::advance(Duration::from_secs(60)).await;
        meter.take(&1, 1.0).unwrap();
        meter.take(&5_000, 1.0).unwrap();
        assert!(meter.buckets.lock().unwrap().len() <= 10);
    }
}
