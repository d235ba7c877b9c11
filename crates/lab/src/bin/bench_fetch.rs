//! `bench-fetch`: downloads with all our bookkeeping and durability against downloads without.
//!
//! `cargo run --release -p redrive-lab --bin bench-fetch -- --home /some/new/folder`. It needs nginx, and the
//! peers that take part. Exits 1 when a promise is broken.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command: the table is its output")]

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Parser, Subcommand};
use redrive_lab::bench::fetch::side::{self, Report};
use redrive_lab::bench::fetch::{Task, bad, loops, nginx::Nginx, ours, peers, perfect};
use redrive_lab::bench::measure::{Line, Promise};
use redrive_lab::origin::Origin;

/// Measures fetching against what others do with the same URLs.
#[derive(Debug, Parser)]
#[command(subcommand_negates_reqs = true)]
struct Args {
    #[command(subcommand)]
    side: Option<Side>,
    /// A folder on the disk to be measured, best a new one: everything goes into it, and nothing is removed but large files.
    #[arg(long, required = true)]
    home: Option<PathBuf>,
    /// What is measured.
    #[arg(long, value_delimiter = ',', default_value = "small,large,bad")]
    only: Vec<String>,
    /// Rounds; the median counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Small objects.
    #[arg(long, default_value_t = 20_000)]
    objects: usize,
    /// Their size.
    #[arg(long, default_value_t = 10 << 10)]
    bytes: usize,
    /// Large objects, one after the other.
    #[arg(long, default_value_t = 2)]
    large: usize,
    /// Their size.
    #[arg(long, default_value_t = 256 << 20)]
    large_bytes: usize,
    /// Objects of the origin that misbehaves.
    #[arg(long, default_value_t = 5_000)]
    bad: usize,
    /// Who takes part with small objects.
    #[arg(long, value_delimiter = ',', default_value = "synced,bare,curl,aria2,img2dataset")]
    peers: Vec<String>,
    /// Where img2dataset is.
    #[arg(long, default_value = "img2dataset")]
    img2dataset: PathBuf,
}

/// One side, as a process of its own.
#[derive(Debug, Clone, Subcommand)]
enum Side {
    /// The engine with everything.
    Ours(Task),
    /// A loop around reqwest.
    Bare(Task),
    /// The same loop that syncs each file and its folder.
    Synced(Task),
    /// A client that wastes nothing.
    Perfect(Task),
    /// The same that syncs each file and its folder.
    PerfectSynced(Task),
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    if let Some(side) = &args.side {
        let report = run(side).await?;
        println!("{}", serde_json::to_string(&report)?);
        return Ok(());
    }
    let home = args.home.clone().unwrap_or_default();
    std::fs::create_dir_all(&home)?;
    let home = home.canonicalize()?;
    let mut lines = Vec::new();
    let wants = |what: &str| args.only.iter().any(|only| only == what);
    if wants("small") || wants("large") {
        let nginx = Nginx::start(&home)?;
        if wants("small") {
            lines.extend(small(&args, &home, &nginx)?);
        }
        if wants("large") {
            lines.extend(large(&args, &home, &nginx)?);
        }
    }
    if wants("bad") {
        lines.extend(misbehaving(&args, &home).await?);
    }
    println!("| what | ours | other side | ratio | promised | kept |");
    println!("|---|--:|--:|--:|--:|---|");
    lines.iter().for_each(|line| println!("{}", line.row()));
    ensure!(lines.iter().all(Line::is_kept), "a promise is not kept");
    Ok(())
}

async fn run(side: &Side) -> Result<Report> {
    match side {
        Side::Ours(task) => ours::run(task).await,
        Side::Bare(task) => {
            loops::run(task, false).await?;
            Report::new(task.objects, Vec::new())
        }
        Side::Synced(task) => {
            loops::run(task, true).await?;
            Report::new(task.objects, Vec::new())
        }
        Side::Perfect(task) => Report::new(perfect::run(task, false).await?, Vec::new()),
        Side::PerfectSynced(task) => Report::new(perfect::run(task, true).await?, Vec::new()),
    }
}

fn line(what: &str, against: &'static str, promise: Promise) -> Line {
    Line { what: what.to_owned(), ours: Vec::new(), other: Vec::new(), against, promise }
}

fn small(args: &Args, home: &std::path::Path, nginx: &Nginx) -> Result<Vec<Line>> {
    let from = nginx.make("small", args.objects, args.bytes)?;
    let task = |side: &str, round: usize| Task {
        from: from.clone(),
        objects: args.objects,
        at_once: 64,
        into: home.join(format!("{side}-{round}")),
    };
    let known = [
        ("synced", "reqwest loop that syncs", Promise::AtLeast(0.6)),
        ("bare", "reqwest loop", Promise::Nothing),
        ("curl", "curl", Promise::Nothing),
        ("aria2", "aria2", Promise::AtLeast(2.5)),
        ("img2dataset", "img2dataset", Promise::AtLeast(2.5)),
    ];
    let known = known.into_iter().filter(|(name, ..)| args.peers.iter().any(|peer| peer == name));
    let mut lines: Vec<(&str, Line)> =
        known.map(|(name, called, promise)| (name, line("objects/s", called, promise))).collect();
    let mut memory = line("most memory, MiB", "limit", Promise::AtMost(1.0));
    for round in 0..args.rounds {
        let (took, report) = side::ours("ours", &task("ours", round))?;
        ensure!(report.stored == args.objects, "only {} were stored", report.stored);
        let rate = |took: f64| args.objects as f64 / took;
        memory.ours.push(report.peak_kib as f64 / 1024.0);
        memory.other.push(80.0);
        for (name, line) in &mut lines {
            let (task, bytes) = (task(name, round), args.bytes as u64);
            let other = match *name {
                "synced" | "bare" => side::ours(name, &task)?.0,
                "curl" => side::peer(peers::curl(&task)?, &task, bytes)?,
                "aria2" => side::peer(peers::aria2(&task)?, &task, bytes)?,
                _ => side::peer(peers::img2dataset(&args.img2dataset, &task)?, &task, bytes)?,
            };
            line.ours.push(rate(took));
            line.other.push(rate(other));
            eprintln!("round {round}: ours {:.0}/s, {name} {:.0}/s", rate(took), rate(other));
        }
    }
    Ok(lines.into_iter().map(|(_, line)| line).chain([memory]).collect())
}

fn large(args: &Args, home: &std::path::Path, nginx: &Nginx) -> Result<Vec<Line>> {
    let from = nginx.make("large", args.large, args.large_bytes)?;
    let mut bytes = line("large bodies, MiB/s", "curl", Promise::AtLeast(0.7));
    let mut memory = line("most memory with large bodies, MiB", "limit", Promise::AtMost(1.0));
    for round in 0..args.rounds {
        let task = |side: &str| Task {
            from: from.clone(),
            objects: args.large,
            at_once: 1,
            into: home.join(format!("{side}-large-{round}")),
        };
        let rate = |took: f64| (args.large * args.large_bytes) as f64 / took / f64::from(1 << 20);
        let curl = side::peer(peers::curl(&task("curl"))?, &task("curl"), args.large_bytes as u64)?;
        std::fs::remove_dir_all(task("curl").into)?;
        let (took, report) = side::ours("ours", &task("ours"))?;
        ensure!(report.stored == args.large, "only {} were stored", report.stored);
        std::fs::remove_dir_all(task("ours").into)?;
        bytes.ours.push(rate(took));
        bytes.other.push(rate(curl));
        memory.ours.push(report.peak_kib as f64 / 1024.0);
        memory.other.push(80.0);
        eprintln!("round {round}: ours {:.0} MiB/s, curl {:.0} MiB/s", rate(took), rate(curl));
    }
    Ok(vec![bytes, memory])
}

async fn misbehaving(args: &Args, home: &std::path::Path) -> Result<Vec<Line>> {
    let what = "an origin that misbehaves, ms";
    let mut synced = line(what, "a perfect client that syncs", Promise::AtMost(1.3));
    let mut bare = line(what, "a perfect client that syncs nothing", Promise::Nothing);
    for round in 0..args.rounds {
        for side in ["perfect", "perfect-synced", "ours"] {
            let origin = Origin::start().await?;
            bad::script(&origin, args.bad);
            let task = Task {
                from: origin.url("/"),
                objects: args.bad,
                at_once: 64,
                into: home.join(format!("{side}-bad-{round}")),
            };
            let (took, report) = tokio::task::spawn_blocking(move || side::ours(side, &task)).await??;
            let manners = bad::judge(&origin.all(), args.bad);
            eprintln!("round {round}: {side} {took:.2} s, {manners:?}, {} not stored", report.missing.len());
            let gone = (0..args.bad).filter(|n| bad::fault(*n) == Some(bad::Fault::Gone));
            let gone: Vec<String> = gone.map(|n| origin.url(&format!("/{n}"))).collect();
            ensure!(report.stored == args.bad - gone.len(), "{side}: only {} were stored", report.stored);
            match side {
                "perfect" => bare.other.push(took * 1e3),
                "perfect-synced" => synced.other.push(took * 1e3),
                _ => [&mut synced, &mut bare].into_iter().for_each(|line| line.ours.push(took * 1e3)),
            }
            if side != "ours" {
                continue;
            }
            ensure!(manners == bad::Manners::default(), "more was asked than is needed: {manners:?}");
            let mut named: Vec<String> = report.missing.into_iter().map(|(url, _)| url).collect();
            named.sort_by_key(|url| gone.iter().position(|gone| gone == url));
            ensure!(named == gone, "what is missing is not named: {named:?}");
        }
    }
    Ok(vec![synced, bare])
}
