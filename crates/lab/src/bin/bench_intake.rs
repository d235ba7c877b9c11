//! `bench-intake`: very many PDFs at once, in a folder and in a bucket.
//!
//! `cargo run --release -p redrive-lab --bin bench-intake -- --home /some/new/folder`. Exits 1 when a promise is broken.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command: the table is its output")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};
use redrive_gateway::PdfReader;
use redrive_lab::bench::intake::{Task, bucket, drop, moves, scan, whole};
use redrive_lab::bench::measure::{Line, Promise};

/// Measures intake.
#[derive(Debug, Parser)]
#[command(subcommand_negates_reqs = true)]
struct Args {
    #[command(subcommand)]
    side: Option<Side>,
    /// A folder on the disk to be measured, best a new one: everything goes into it, and nothing is removed.
    #[arg(long, required = true)]
    home: Option<PathBuf>,
    /// What is measured.
    #[arg(long, value_delimiter = ',', default_value = "scan,drop,bucket")]
    only: Vec<String>,
    /// Rounds; the median counts.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// PDFs that are dropped at once.
    #[arg(long, default_value_t = 10_000)]
    documents: usize,
    /// Objects in the bucket.
    #[arg(long, default_value_t = 100_000)]
    objects: usize,
}

/// One side, as a process of its own.
#[derive(Debug, Clone, Subcommand)]
enum Side {
    /// Everything that `serve` does for a folder.
    Whole(Task),
    /// Moves alone.
    Moves(Task),
}

fn main() -> Result<ExitCode> {
    // A process that reads one file for the gateway is this program too, and nothing else of it.
    if let Some(code) = redrive_gateway::cage::maybe_child(std::env::args_os(), PdfReader::default) {
        return Ok(code.into());
    }
    let args = Args::parse();
    let runtime = tokio::runtime::Runtime::new()?;
    match &args.side {
        Some(Side::Whole(task)) => {
            println!("{}", serde_json::to_string(&runtime.block_on(whole::run(task))?)?);
        }
        Some(Side::Moves(task)) => println!("{}", runtime.block_on(moves::run(task))?),
        None => measure(&args, &runtime)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(args: &Args, runtime: &tokio::runtime::Runtime) -> Result<()> {
    let home = args.home.clone().unwrap_or_default();
    std::fs::create_dir_all(&home)?;
    let home = home.canonicalize()?;
    let wants = |what: &str| args.only.iter().any(|only| only == what);
    let mut lines = Vec::new();
    if wants("scan") {
        lines.extend(scans(args, &home, runtime)?);
    }
    if wants("drop") {
        lines.extend(drops(args, &home)?);
    }
    if wants("bucket") {
        lines.extend(looks(args, &home, runtime)?);
    }
    println!("| what | ours | other side | ratio | promised | kept |");
    println!("|---|--:|--:|--:|--:|---|");
    lines.iter().for_each(|line| println!("{}", line.row()));
    ensure!(lines.iter().all(Line::is_kept), "a promise is not kept");
    Ok(())
}

fn line(what: impl Into<String>, against: &'static str, promise: Promise) -> Line {
    Line { what: what.into(), ours: Vec::new(), other: Vec::new(), against, promise }
}

fn scans(args: &Args, home: &Path, runtime: &tokio::runtime::Runtime) -> Result<Vec<Line>> {
    let all = args.documents;
    let of = |part: usize, against| (part, line(format!("a look at {all} files, µs"), against, linear(part)));
    let mut lines = [of(4, "at a quarter of them"), of(2, "at half of them")];
    for round in 0..args.rounds {
        let look =
            |files: usize| runtime.block_on(scan::run(&home.join(format!("scan-{round}-{files}")), files));
        let whole = look(all)? * 1e6;
        for (part, line) in &mut lines {
            line.ours.push(whole);
            line.other.push(look(all / *part)? * 1e6);
        }
    }
    Ok(lines.into_iter().map(|(_, line)| line).collect())
}

/// So many times as many files may take so many times as long, and a quarter more.
fn linear(times: usize) -> Promise {
    Promise::AtMost(times as f64 * 1.25)
}

fn drops(args: &Args, home: &Path) -> Result<Vec<Line>> {
    let all = args.documents;
    let mut first = line("the first is done after, ms", "limit", Promise::AtMost(1.0));
    let mut rate = line(format!("PDFs/s of {all}"), "of a quarter of them", Promise::AtLeast(0.8));
    let mut memory = line("most memory, MiB", "with a quarter of them", Promise::AtMost(1.25));
    let mut moving = line("processor for moves, ms", "in all", Promise::AtMost(0.1));
    for round in 0..args.rounds {
        let task = |what: &str, documents: usize| {
            let home = home.join(format!("{what}-{round}-{documents}"));
            std::fs::create_dir_all(&home).map(|()| Task { home, documents })
        };
        let few = drop::run(&task("drop", all / 4)?)?;
        let many = drop::run(&task("drop", all)?)?;
        let moves = alone(&task("moves", all)?)?;
        eprintln!("round {round}: {many:?}, a quarter {few:?}, moves {moves:.2} s");
        first.ours.push(many.first * 1e3);
        first.other.push(2_000.0);
        rate.ours.push(all as f64 / many.all);
        rate.other.push((all / 4) as f64 / few.all);
        memory.ours.push(many.peak_kib as f64 / 1024.0);
        memory.other.push(few.peak_kib as f64 / 1024.0);
        moving.ours.push(moves * 1e3);
        moving.other.push(many.processor * 1e3);
    }
    Ok(vec![first, rate, memory, moving])
}

/// Moves alone, in a process of its own.
fn alone(task: &Task) -> Result<f64> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("moves").arg("--home").arg(&task.home).arg("--documents").arg(task.documents.to_string());
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "moves ended with {}", output.status);
    String::from_utf8(output.stdout)?.trim().parse().context("it said no number")
}

fn looks(args: &Args, home: &Path, runtime: &tokio::runtime::Runtime) -> Result<Vec<Line>> {
    let all = args.objects;
    let mut look = line(format!("a look at {all} objects, ms"), "limit", Promise::AtMost(1.0));
    let mut known = line("the same when all are known, ms", "limit", Promise::AtMost(1.0));
    for round in 0..args.rounds {
        let seen = runtime.block_on(bucket::run(&home.join(format!("bucket-{round}")), all))?;
        eprintln!("round {round}: {seen:?}");
        ensure!(seen.single == 0, "{} objects were asked for that are known", seen.single);
        for (line, took) in [(&mut look, seen.look), (&mut known, seen.known)] {
            line.ours.push(took * 1e3);
            line.other.push(30_000.0);
        }
    }
    Ok(vec![look, known])
}
