//! One side's run: a process of its own, from its start to its end.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::Task;

/// What a side of ours says about its run before it ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The most memory it ever had.
    pub peak_kib: u64,
    /// How many objects it stored.
    pub stored: usize,
    /// What it could not get, and why.
    pub missing: Vec<(String, String)>,
}

impl Report {
    /// With this process's memory.
    pub fn new(stored: usize, missing: Vec<(String, String)>) -> Result<Self> {
        let status = std::fs::read_to_string("/proc/self/status")?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
        Ok(Self { peak_kib: peak.context("no VmHWM")?, stored, missing })
    }
}

/// Runs this program again as one of its sides, and answers how long that took and what it said.
pub fn ours(side: &str, task: &Task) -> Result<(f64, Report)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(side).arg("--from").arg(&task.from).arg("--into").arg(&task.into);
    command.arg("--objects").arg(task.objects.to_string()).arg("--at-once").arg(task.at_once.to_string());
    let began = Instant::now();
    let output = command.stderr(Stdio::inherit()).output()?;
    let took = began.elapsed().as_secs_f64();
    ensure!(output.status.success(), "{side} ended with {}", output.status);
    Ok((took, serde_json::from_slice(&output.stdout).context("it said nothing that is understood")?))
}

/// Runs a peer, and answers how long that took. Everything must be there afterwards.
pub fn peer(mut command: Command, task: &Task, bytes: u64) -> Result<f64> {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default().to_owned();
    let log = std::fs::File::create(task.into.with_extension("log"))?;
    let began = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).status();
    let took = began.elapsed().as_secs_f64();
    let status = status.with_context(|| format!("{name:?} is not there"))?;
    let stored = super::peers::stored(&task.into, bytes)?;
    ensure!(stored == task.objects, "{name:?} ended with {status} and stored {stored}");
    Ok(took)
}
