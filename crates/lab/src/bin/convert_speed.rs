//! `convert-speed`: what `redrive convert` adds to the conversions themselves.
//!
//! `cargo build --release -p redrive-cli && cargo run --release -p redrive-lab --bin convert-speed -- target/release/redrive`.
//! The same small PDFs go through the gateway's children alone, as many at a time as there are cores, and through the command as it
//! comes; the quotient of the two times is the share of the machine that is left for conversions. Rounds alternate, the median
//! counts. The processor time of both is told beside: it says the same on a machine that others use too. Exits 1 below the promise.

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

/// What Linux counts processor time in, on every machine.
const TICKS: f64 = 100.0;
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
    /// Conversions alone at a time [default: as many as there are cores]
    #[arg(long)]
    at_once: Option<usize>,
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
    let cores = std::thread::available_parallelism()?.get();
    let mut shares = Vec::new();
    for round in 0..args.rounds {
        let bare = timed(|| bare(&program, &files, args.at_once.unwrap_or(cores)))?;
        let whole = timed(|| whole(&program, &pdfs, &place.path().join(round.to_string())))?;
        let told = |(wall, cpu): (f64, f64)| {
            let n = files.len() as f64;
            format!("{wall:.2} s ({:.0}/s, {:.2} ms of processor each)", n / wall, cpu * 1_000.0 / n)
        };
        let share = bare.0 / whole.0;
        println!(
            "round {}: {} files, conversions alone {}, redrive convert {}, share {share:.3}, of processor {:.3}",
            round + 1,
            files.len(),
            told(bare),
            told(whole),
            bare.1 / whole.1
        );
        shares.push(share);
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
fn bare(program: &Path, files: &[PathBuf], at_once: usize) -> Result<()> {
    let cage = Cage::new(Settings { program: program.to_owned(), ..Settings::default() });
    let next = AtomicUsize::new(0);
    let mapping = Mapping::from_name("text").context("no such mapping")?;
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
    })
}

/// The command, from its start to its end, with a state and an out folder of its own.
fn whole(program: &Path, pdfs: &Path, place: &Path) -> Result<()> {
    let status = Command::new(program)
        .arg("convert")
        .arg(pdfs)
        .arg("--out")
        .arg(place.join("xml"))
        .arg("--data-dir")
        .arg(place.join("data"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    ensure!(status.success(), "redrive convert ended with {status}");
    Ok(())
}

/// How long something takes, on the wall and of processors: ours, and of those that we waited for.
fn timed(work: impl FnOnce() -> Result<()>) -> Result<(f64, f64)> {
    let (began, before) = (Instant::now(), processor()?);
    work()?;
    Ok((began.elapsed().as_secs_f64(), processor()? - before))
}

fn processor() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, rest) = stat.rsplit_once(')').context("no name")?;
    // From the third field on; 14 to 17 are user, system, and both of children.
    let ticks: Vec<f64> = rest.split_whitespace().skip(11).take(4).filter_map(|n| n.parse().ok()).collect();
    Ok(ticks.iter().sum::<f64>() / TICKS)
}
