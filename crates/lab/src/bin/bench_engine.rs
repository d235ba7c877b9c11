//! `bench-engine`: our side of the comparison with other job engines.
//!
//! `cargo run --release -p redrive-lab --bin bench-engine -- --postgres URL --sqlite FOLDER`. `bench/run` runs it beside its
//! peers.

#![allow(clippy::print_stdout, reason = "a command: the figures are its output")]

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use redrive_lab::bench::engine::place::Place;
use redrive_lab::bench::engine::report::Figure;
use redrive_lab::bench::engine::{child, drain, enqueue, kill, pickup, rest};
use redrive_lab::bench::measure::percentile;

/// Measures the engine with its default settings.
#[derive(Debug, Parser)]
struct Args {
    /// A Postgres server; each measurement makes a database there and drops it.
    #[arg(long)]
    postgres: Option<String>,
    /// A folder on the disk to be measured, for SQLite.
    #[arg(long)]
    sqlite: Option<PathBuf>,
    /// Only these; everything unless said.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<What>,
    /// Jobs per measurement.
    #[arg(long, default_value_t = 20_000)]
    jobs: usize,
    /// Samples of the pick-up latency.
    #[arg(long, default_value_t = 300)]
    samples: usize,
    /// How often everything is measured.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Seconds that a worker at rest is watched.
    #[arg(long, default_value_t = 20)]
    watch: u64,
    /// Seconds a lease lasts in the worker that is killed; the default of the engine.
    #[arg(long, default_value_t = 60)]
    ttl: u64,
    /// One JSON object per figure.
    #[arg(long)]
    json: bool,
    /// Be the worker process on this database, until killed.
    #[arg(long, hide = true)]
    worker: Option<String>,
}

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// A full queue to its end.
    Drain,
    /// The same, each job failing once.
    Failures,
    /// Idle worker, one job: until its handler runs.
    Pickup,
    /// One at a time from 8 callers.
    Enqueue,
    /// All at once.
    Bulk,
    /// A worker with nothing to do.
    Rest,
    /// `kill -9` until the job runs again.
    Kill,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    if let Some(url) = &args.worker {
        return child::work(url, Duration::from_secs(args.ttl)).await;
    }
    ensure!(args.postgres.is_some() || args.sqlite.is_some(), "say --postgres URL or --sqlite FOLDER");
    let only = if args.only.is_empty() { What::value_variants() } else { &args.only };
    for _ in 0..args.runs {
        for what in only {
            if let Some(server) = &args.postgres {
                let place = Place::postgres(server).await?;
                one(&args, *what, place).await.with_context(|| format!("{what:?} on Postgres"))?;
            }
            if let Some(folder) = &args.sqlite {
                let place = Place::sqlite(folder)?;
                one(&args, *what, place).await.with_context(|| format!("{what:?} on SQLite"))?;
            }
        }
    }
    Ok(())
}

async fn one(args: &Args, what: What, place: Place) -> Result<()> {
    let ttl = Duration::from_secs(args.ttl);
    let figures = match what {
        What::Drain => vec![("drain", drain::drain(&place, args.jobs).await?, "jobs/s")],
        What::Failures => vec![("failures", drain::failures(&place, args.jobs).await?, "executions/s")],
        What::Pickup => {
            let took = pickup::pickup(&place, args.samples).await?;
            let ms = |percent| percentile(took.clone(), percent).as_secs_f64() * 1e3;
            vec![("pickup_p50", ms(50), "ms"), ("pickup_p99", ms(99), "ms")]
        }
        What::Enqueue => vec![("enqueue", enqueue::singles(&place, args.jobs / 2).await?, "jobs/s")],
        What::Bulk => vec![("bulk", enqueue::bulk(&place, args.jobs).await?, "jobs/s")],
        What::Rest => {
            let rest = rest::rest(&place, ttl, Duration::from_secs(args.watch))?;
            vec![("rest_core", rest.core_percent, "% of a core"), ("rest_memory", rest.resident_mib, "MiB")]
        }
        What::Kill => {
            let took = kill::kill(&place, ttl).await?.as_secs_f64();
            vec![("kill", took, "s"), ("kill_beyond_ttl", took - ttl.as_secs_f64(), "s")]
        }
    };
    for (what, value, unit) in figures {
        let figure = Figure::ours(place.on(), what, value, unit);
        println!("{}", if args.json { figure.json() } else { figure.text() });
    }
    place.remove().await
}
