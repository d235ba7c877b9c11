//! Taking the time, medians, and the printed table.

use std::time::{Duration, Instant};

/// One measured line: what, ours, the other side, and the ratio that is promised.
#[derive(Debug, Clone)]
pub struct Line {
    /// What was measured.
    pub what: String,
    /// Our figures, one per round.
    pub ours: Vec<f64>,
    /// The other side's figures, one per round.
    pub other: Vec<f64>,
    /// What the other side is.
    pub against: &'static str,
    /// The promise, and whether more or less is better.
    pub promise: Promise,
}

/// What a ratio of ours to the other side must be.
#[derive(Debug, Clone, Copy)]
pub enum Promise {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// Nothing: it is shown to be known.
    Nothing,
}

impl Line {
    /// The median of the rounds' ratios.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        let ratios = self.ours.iter().zip(&self.other).map(|(a, b)| a / b).collect();
        median(ratios)
    }

    /// Whether the promise is kept.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        match self.promise {
            Promise::AtLeast(r) => self.ratio() >= r,
            Promise::AtMost(r) => self.ratio() <= r,
            Promise::Nothing => true,
        }
    }

    /// The line as a row of a Markdown table.
    #[must_use]
    pub fn row(&self) -> String {
        let promise = match self.promise {
            Promise::AtLeast(r) => format!("≥ {r:.2}"),
            Promise::AtMost(r) => format!("≤ {r:.2}"),
            Promise::Nothing => "–".into(),
        };
        let mark = match self.promise {
            Promise::Nothing => "–",
            Promise::AtLeast(_) | Promise::AtMost(_) if self.is_kept() => "yes",
            Promise::AtLeast(_) | Promise::AtMost(_) => "NO",
        };
        format!(
            "| {} | {:.0} | {} {:.0} | {:.2} | {promise} | {mark} |",
            self.what,
            median(self.ours.clone()),
            self.against,
            median(self.other.clone()),
            self.ratio(),
        )
    }
}

/// The middle value.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The value below which so many of a hundred lie.
#[must_use]
pub fn percentile(mut values: Vec<Duration>, percent: usize) -> Duration {
    values.sort_unstable();
    let at = (values.len() * percent / 100).min(values.len().saturating_sub(1));
    values.get(at).copied().unwrap_or_default()
}

/// So many per second since `started`.
#[must_use]
pub fn per_second(n: usize, started: Instant) -> f64 {
    n as f64 / started.elapsed().as_secs_f64()
}

/// Resident memory of this process in MiB.
#[must_use]
pub fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

/// What Linux counts processor time in, on every machine.
const TICKS: f64 = 100.0;

/// Seconds of processor time of this process, and of those that it has waited for.
#[must_use]
pub fn processor() -> (f64, f64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    // From the third field on; 14 to 17 are user, system, and both of children.
    let mut ticks = rest.split_whitespace().skip(11).map(|n| n.parse().unwrap_or(0.0));
    let mut next = || ticks.next().unwrap_or(0.0) / TICKS;
    (next() + next(), next() + next())
}
