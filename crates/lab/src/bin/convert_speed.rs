//! `convert-speed`: what `redrive convert` adds to the conversions themselves.
//!
//! `cargo build --release -p redrive-cli && cargo run --release -p redrive-lab --bin convert-speed -- target/release/redrive`.
//! The same small PDFs go through the gateway's children alone, so many at a time, and through the command; the
//! quotient of the two times is the share of the machine that is left for conversions. Rounds alternate, the median counts.
//! Exits 1 below the promise.

#![allow(clippy::print_stdout, reason = "a command: the figures are its output")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use redrive_gateway::cage::{Cage, Outcome, Settings, Task, stopper};
use redrive_gateway::sample;
use redrive_gateway::write::Mapping;

/// At least this share.
const PROMISE: f64 = 0.8;

/// Measures the command.
#[derive(Debug, Parser)]
struct Args {
    /// The program, built for release.
    program: PathBuf,
    /// A folder of PDFs [default: files that are made for it]
    #[arg(long)]
    pdfs: Option<PathBuf>,
    /// How many files are made.
    #[arg(long, default_value_t = 1_000)]
    files: usize,
    /// Conversions at a time.
    #[arg(long, default_value_t = 2)]
    at_once: usize,
    /// How often both are measured.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Where everything lies while it is measured.
    #[arg(long, default_value = ".")]
    on: PathBuf,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let program = args.program.canonicalize().context("there is no such program")?;
    let place = tempfile::tempdir_in(&args.on)?;
    let pdfs = match &args.pdfs {
        Some(folder) => folder.clone(),
        None => made(place.path(), args.files)?,
    };
    let files: Vec<PathBuf> = pdfs.read_dir()?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    let mut shares = Vec::new();
    for round in 0..args.rounds {
        let bare = bare(&program, &files, args.at_once)?;
        let whole = whole(&program, &pdfs, &place.path().join(round.to_string()), args.at_once)?;
        println!(
            "round {}: {} files, conversions alone {bare:.2} s ({:.0}/s), redrive convert {whole:.2} s ({:.0}/s), share {:.3}",
            round + 1,
            files.len(),
            files.len() as f64 / bare,
            files.len() as f64 / whole,
            bare / whole
        );
        shares.push(bare / whole);
    }
    shares.sort_by(f64::total_cmp);
    let median = shares.get(shares.len() / 2).copied().context("no round")?;
    println!("median share {median:.3}, promised {PROMISE}");
    ensure!(median >= PROMISE, "below the promise");
    Ok(())
}

/// Files of one page, each with words of its own.
fn made(place: &Path, count: usize) -> Result<PathBuf> {
    let folder = place.join("pdfs");
    std::fs::create_dir(&folder)?;
    for n in 0..count {
        let lines: String = (0..40)
            .map(|line| {
                format!(
                    "BT /F1 11 Tf 72 {} Td (Line {line} of file {n}: the quick brown fox jumps) Tj ET\n",
                    740 - 16 * line
                )
            })
            .collect();
        std::fs::write(folder.join(format!("{n:04}.pdf")), sample::page(&lines))?;
    }
    Ok(folder)
}

/// The conversions alone: the gateway's children, and nothing around them.
fn bare(program: &Path, files: &[PathBuf], at_once: usize) -> Result<f64> {
    let cage = Cage::new(Settings { program: program.to_owned(), ..Settings::default() });
    let next = AtomicUsize::new(0);
    let mapping = Mapping::from_name("text").context("no such mapping")?;
    let began = Instant::now();
    std::thread::scope(|scope| {
        let work = || -> Result<()> {
            let (_stopper, stopped) = stopper()?;
            while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                let outcome = cage.run(&File::open(path)?, &Task::Convert { mapping, pages: None }, &stopped);
                let outcome = outcome.map_err(|fault| anyhow::anyhow!("{fault:?}"))?;
                ensure!(matches!(outcome, Outcome::Done(_)), "{}: {outcome:?}", path.display());
            }
            Ok(())
        };
        let threads: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| anyhow::anyhow!("a thread broke"))?)
    })?;
    Ok(began.elapsed().as_secs_f64())
}

/// The command, from its start to its end, with a state and an out folder of its own.
fn whole(program: &Path, pdfs: &Path, place: &Path, at_once: usize) -> Result<f64> {
    let began = Instant::now();
    let status = Command::new(program)
        .arg("convert")
        .arg(pdfs)
        .arg("--out")
        .arg(place.join("xml"))
        .arg("--data-dir")
        .arg(place.join("data"))
        .arg("--worker-concurrency")
        .arg(at_once.to_string())
        .stdout(Stdio::null())
        .status()?;
    let took = began.elapsed().as_secs_f64();
    ensure!(status.success(), "redrive convert ended with {status}");
    Ok(took)
}
