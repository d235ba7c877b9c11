//! What a worker costs that has nothing to do.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::child::WorkerProcess;
use super::place::Place;

/// The start is over after this.
const SETTLED: Duration = Duration::from_secs(5);
/// The kernel counts the time of a process in hundredths of a second for everybody who asks.
const TICKS: f64 = 100.0;

/// Share of one core, and resident memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AtRest {
    /// In percent of one core.
    pub(crate) core_percent: f64,
    /// In MiB.
    pub(crate) resident_mib: f64,
}

/// Watches a worker process with default settings and an empty queue for this long.
pub(crate) fn rest(place: &Place, ttl: Duration, watch: Duration) -> Result<AtRest> {
    let worker = WorkerProcess::start(&place.url, ttl)?;
    std::thread::sleep(SETTLED);
    let (before, began) = (ticks(worker.id())?, Instant::now());
    std::thread::sleep(watch);
    let seconds = (ticks(worker.id())? - before) / TICKS;
    Ok(AtRest {
        core_percent: 100.0 * seconds / began.elapsed().as_secs_f64(),
        resident_mib: resident_mib(worker.id())?,
    })
}

/// Time on a core so far, own and the kernel's.
fn ticks(process: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name in brackets may hold anything; after it the fields are plain. User time is the 14th of all.
    let (_, fields) = stat.rsplit_once(')').context("no name in the process's state")?;
    let field = |n: usize| fields.split_whitespace().nth(n).and_then(|text| text.parse::<f64>().ok());
    Ok(field(11).context("no user time")? + field(12).context("no system time")?)
}

fn resident_mib(process: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<f64>().ok());
    Ok(kib.context("no resident memory")? / 1024.0)
}
