//! The drop: all files at once, by renaming, and what it takes until the first and the last of them is done.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::{Task, pdfs};
use crate::bench::fetch::side::Report;
use crate::bench::measure::processor;

/// How often `result/` is looked at for the first.
const LOOK: Duration = Duration::from_millis(2);

/// What was seen.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    /// From the first file's drop until one is in `result/`, in seconds.
    pub first: f64,
    /// From the first file's drop until all are, in seconds.
    pub all: f64,
    /// Processor time of the process and its children, in seconds.
    pub processor: f64,
    /// The most memory that the process had.
    pub peak_kib: u64,
}

/// Starts everything, drops so many, waits for them.
pub fn run(task: &Task) -> Result<Figures> {
    let made = task.home.join("made");
    pdfs::make(&made, task.documents)?;
    let before = processor().1;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("whole").arg("--home").arg(&task.home).arg("--documents").arg(task.documents.to_string());
    // As the units and the container that we ship set it.
    command.env("MALLOC_ARENA_MAX", "2");
    let mut side = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut said = BufReader::new(side.stdout.take().context("no output")?).lines();
    let mut heard = |word: &str| -> Result<()> {
        let line = said.next().context("it ended")??;
        ensure!(line == word, "{line}");
        Ok(())
    };
    heard("ready")?;
    let began = Instant::now();
    let queue = task.files().join("queue");
    for n in 0..task.documents {
        std::fs::rename(made.join(pdfs::name(n)), queue.join(pdfs::name(n)))?;
    }
    let result = task.files().join("result");
    while !has_pdf(&result)? {
        std::thread::sleep(LOOK);
    }
    let first = began.elapsed().as_secs_f64();
    heard("done")?;
    let all = began.elapsed().as_secs_f64();
    let report: Report = serde_json::from_str(&said.next().context("no report")??)?;
    ensure!(side.wait()?.success(), "it ended badly");
    Ok(Figures { first, all, processor: processor().1 - before, peak_kib: report.peak_kib })
}

fn has_pdf(folder: &Path) -> Result<bool> {
    let mut names = folder.read_dir()?.filter_map(|entry| Some(entry.ok()?.file_name()));
    Ok(names.any(|name| name.to_string_lossy().ends_with(".pdf")))
}
