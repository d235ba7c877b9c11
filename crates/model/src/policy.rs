//! What a workload wants done about failure, as data that can be stored, compared and simulated.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::backoff::Backoff;
use crate::failure::{Budget, Code, Retries};
use crate::limits::{MAX_RELEASES, THROTTLE_DEADLINE};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Built-in permanent jobs never wait longer than this between failures.
pub const PERMANENT_CEILING: Duration = Duration::from_secs(300);

/// Everything that [`decide`](crate::decide::decide) needs to know about a workload's wishes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// Most charged executions per generation; `None` never gives up.
    pub max_attempts: Option<u32>,
    /// The wait before each retry.
    pub backoff: Backoff,
    /// Separate allowances: retries per budget. A code whose budget is not listed spends attempts alone.
    #[serde(default)]
    pub budgets: BTreeMap<Budget, u32>,
    /// Retries per code, over what the registry says.
    #[serde(default)]
    pub code_caps: BTreeMap<Code, u32>,
    /// Whatever failed is tried again up to the cap on attempts, also what the registry calls permanent and what it would try once. Only
    /// what cannot come back ends at once: a source that is gone or another one, an input that cannot be read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retry_all: bool,
    /// From enqueue to giving up, whatever the attempts: looked at when a try ends and before the next one starts. A job that
    /// is held meanwhile is given up when its turn comes.
    #[serde(default)]
    pub deadline: Option<Duration>,
    /// How long throttling may keep a job waiting: all waits together that the other side asked this job for, or as long as its target
    /// has asked whomever for time, without a good answer between.
    pub throttle_deadline: Duration,
    /// A server's Retry-After counts at most this much.
    pub retry_after_cap: Duration,
    /// How often a release gives the attempt back, per generation.
    pub max_releases: u32,
    /// So many failed attempts are logged as a warning, later ones as an error; `None` always warns.
    pub warn_attempts: Option<u32>,
    /// How long one attempt may run.
    pub attempt_timeout: Duration,
    /// How long a finished row is kept.
    pub keep: Keep,
}

/// How long a finished row is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keep {
    /// After `complete`.
    pub complete: Option<Duration>,
    /// After `failed` or `cancelled`.
    pub failed: Option<Duration>,
}

impl Policy {
    fn base(max_attempts: Option<u32>, backoff: Backoff) -> Self {
        Self {
            max_attempts,
            backoff,
            budgets: BTreeMap::new(),
            code_caps: BTreeMap::new(),
            retry_all: false,
            deadline: None,
            throttle_deadline: THROTTLE_DEADLINE,
            retry_after_cap: Duration::from_secs(3600),
            max_releases: MAX_RELEASES,
            warn_attempts: Some(3),
            attempt_timeout: Duration::from_secs(15 * 60),
            keep: Keep { complete: Some(DAY * 33), failed: Some(DAY * 90) },
        }
    }

    /// Three executions on the reliability curve: convert.
    #[must_use]
    pub fn reliability() -> Self {
        Self::base(Some(3), Backoff::reliability())
    }

    /// Three executions at 5 s, 15 s, 45 s.
    #[must_use]
    pub fn stepped() -> Self {
        Self::base(Some(3), Backoff::stepped())
    }

    /// Thirty executions from one second up to thirty days: finite tasks of a library user.
    #[must_use]
    pub fn on_demand() -> Self {
        Self::base(Some(30), Backoff::on_demand())
    }

    /// Never gives up: infrastructure that must go on. The counter starts again after a healthy run.
    #[must_use]
    pub fn permanent() -> Self {
        Self {
            warn_attempts: None,
            keep: Keep { complete: None, failed: None },
            ..Self::base(None, Backoff::permanent(PERMANENT_CEILING))
        }
    }

    /// `max_retries` retries after the first execution: intake counts this way.
    #[must_use]
    pub fn with_max_retries(mut self, max_retries: u32) -> Self {
        self.max_attempts = Some(max_retries.saturating_add(1));
        self
    }

    /// Separate retries for downloads, storage and proxies: fetch. The cap on executions is what the budgets allow
    /// together.
    #[must_use]
    pub fn with_budgets(mut self, budgets: impl IntoIterator<Item = (Budget, u32)>) -> Self {
        self.budgets = budgets.into_iter().collect();
        let total = self.budgets.values().fold(1u32, |sum, n| sum.saturating_add(*n));
        self.max_attempts = Some(total);
        self
    }

    /// Whether it never gives up.
    #[must_use]
    pub const fn is_permanent(&self) -> bool {
        self.max_attempts.is_none()
    }

    /// How often this code may be retried, beside the cap on attempts.
    #[must_use]
    pub fn retries_of(&self, code: Code) -> Retries {
        match self.code_caps.get(&code) {
            Some(n) => Retries::AtMost(*n),
            None if self.retry_all => Retries::Policy,
            None => code.entry().retries,
        }
    }

    /// Whether a failure of a class that is not retried ends the job at once.
    #[must_use]
    pub const fn ends_at_once(&self, code: Code) -> bool {
        let lost = matches!(
            code,
            Code::SystemUndecodable
                | Code::SourceMissing
                | Code::SourceChanged
                | Code::Expired
                | Code::Cancelled
        );
        !self.is_permanent() && (lost || !self.retry_all)
    }

    /// A short name for exactly these numbers, recorded with every attempt: a changed policy applies to attempts that
    /// end after the change, and the history shows which one decided.
    #[must_use]
    pub fn version(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        Sha256::digest(json.as_bytes()).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_say_what_decisions_say() {
        assert_eq!(Policy::reliability().max_attempts, Some(3));
        assert_eq!(Policy::on_demand().max_attempts, Some(30));
        assert_eq!(Policy::on_demand().warn_attempts, Some(3));
        assert_eq!(Policy::permanent().max_attempts, None);
        assert_eq!(Policy::permanent().warn_attempts, None);
        assert_eq!(Policy::reliability().with_max_retries(3).max_attempts, Some(4));
    }

    #[test]
    fn another_number_is_another_version() {
        let a = Policy::reliability();
        let mut b = a.clone();
        assert_eq!(a.version(), b.version());
        b.max_releases = 4;
        assert_ne!(a.version(), b.version());
    }

    #[test]
    fn a_policy_reads_back() {
        let p = Policy::reliability().with_budgets([(Budget::Download, 3), (Budget::Storage, 3)]);
        let json = serde_json::to_string(&p).unwrap();
        assert_eq!(serde_json::from_str::<Policy>(&json).unwrap(), p);
        assert_eq!(p.max_attempts, Some(7));
    }
}
