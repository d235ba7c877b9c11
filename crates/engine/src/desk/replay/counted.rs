//! What has ended of a replay's jobs, each counted once, also when the process ends that counts.

use redrive_store::ReplayCounts;
use serde::{Deserialize, Serialize};

/// How many have ended, by how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Counted {
    pub(super) complete: u64,
    pub(super) failed: u64,
    pub(super) cancelled: u64,
}

impl Counted {
    /// As it is known now: never less than before, also when jobs were removed since because their time was over.
    pub(super) fn and(self, now: &ReplayCounts) -> Self {
        Self {
            complete: self.complete.max(now.complete),
            failed: self.failed.max(now.failed),
            cancelled: self.cancelled.max(now.cancelled),
        }
    }

    /// With those that go on.
    pub(super) const fn with(self, live: u64) -> ReplayCounts {
        ReplayCounts { live, complete: self.complete, failed: self.failed, cancelled: self.cancelled }
    }

    /// Adds to the metrics what has ended since. Said when it is saved, so that nobody adds it again.
    pub(super) fn tell_since(self, before: Self) {
        let more = |outcome: &'static str, before: u64, now: u64| {
            metrics::counter!("redrive_replay_jobs_total", "outcome" => outcome)
                .increment(now.saturating_sub(before));
        };
        more("complete", before.complete, self.complete);
        more("failed", before.failed, self.failed);
        more("cancelled", before.cancelled, self.cancelled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_never_becomes_less() {
        let before = Counted { complete: 5, failed: 1, cancelled: 0 };
        let now = ReplayCounts { live: 2, complete: 3, failed: 2, cancelled: 1 };
        assert_eq!(before.and(&now), Counted { complete: 5, failed: 2, cancelled: 1 });
        assert_eq!(before.and(&now).with(2), ReplayCounts { complete: 5, ..now });
    }

    #[test]
    fn a_saved_count_is_read_back_from_beside_the_rest() {
        let saved = r#"{"phase":"stopped","cursor":null,"complete":4,"failed":3,"cancelled":1}"#;
        let progress: super::super::view::Progress = serde_json::from_str(saved).unwrap();
        assert_eq!(progress.counted, Counted { complete: 4, failed: 3, cancelled: 1 });
    }
}
