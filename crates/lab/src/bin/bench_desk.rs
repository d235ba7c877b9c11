//! `bench-desk`: the operator's pages on a store with a million jobs and a hundred thousand dead letters, while a thousand jobs run every second.
//!
//! `cargo build --release && cargo run --release -p redrive-lab --bin bench-desk -- --redrive target/release/redrive --home /some/new/folder`,
//! and `--postgres URL` of an empty database for that. Exits 1 when a promise is broken.

#![allow(clippy::print_stdout, reason = "a command: the table is its output")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use redrive_lab::bench::desk::ask;
use redrive_lab::bench::desk::fill::{Past, fill};
use redrive_lab::bench::desk::load::Load;
use redrive_lab::bench::figure::{self, Figure};
use redrive_lab::bench::server::Server;

/// Measures the desk before a full house.
#[derive(Debug, Parser)]
struct Args {
    /// The program.
    #[arg(long)]
    redrive: PathBuf,
    /// A folder, best a new one: everything goes into it, and nothing is removed. One that was filled before is used as it is.
    #[arg(long)]
    home: PathBuf,
    /// An empty database of a Postgres; without one a SQLite file is used.
    #[arg(long)]
    postgres: Option<String>,
    /// Jobs of the last day.
    #[arg(long, default_value_t = 1_000_000)]
    jobs: usize,
    /// One of so many is a dead letter.
    #[arg(long, default_value_t = 10)]
    one_dead_of: usize,
    /// Jobs that are handed in every second.
    #[arg(long, default_value_t = 1_000)]
    per_second: usize,
    /// How often each page is looked at.
    #[arg(long, default_value_t = 40)]
    times: usize,
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let args = Args::parse();
    std::fs::create_dir_all(&args.home)?;
    let filled = args.home.join("filled");
    if !filled.exists() {
        let past = match &args.postgres {
            Some(url) => Past::postgres(url).await?,
            None => Past::sqlite(&args.home.join("redrive.db")).await?,
        };
        fill(past, args.jobs, args.one_dead_of).await.context("filling")?;
        std::fs::write(&filled, "")?;
    }
    let mut settings = vec![("FETCH_ALLOW_PRIVATE", "true")];
    if let Some(url) = &args.postgres {
        settings.push(("DATABASE_URL", url));
    }
    let server = Arc::new(Server::start_with(&args.redrive, &args.home, &settings).await?);
    let token = local_token(&args.home)?;
    let load = Load::start(&server, &token, args.per_second).await?;
    // The first seconds belong to the start.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (began, before) = (Instant::now(), (load.handed(), done(&server, &token).await?));
    let mut figures = ask::run(&server, &token, args.times).await?;
    let time = began.elapsed().as_secs_f64();
    ensure!(load.goes_on(), "work was refused");
    let (handed, ended) = (load.handed() - before.0, done(&server, &token).await? - before.1);
    let rate = |what: &str, n: u64| Figure {
        what: what.to_owned(),
        value: n as f64 / time,
        unit: "/s",
        at_most: None,
    };
    figures.extend([rate("jobs handed in meanwhile", handed), rate("jobs done meanwhile", ended)]);
    Ok(figure::print(&figures))
}

/// The token that the server leaves for commands on its machine.
fn local_token(home: &std::path::Path) -> Result<String> {
    let file: serde_json::Value = serde_json::from_slice(&std::fs::read(home.join("server.json"))?)?;
    Ok(file.get("token").and_then(|token| token.as_str()).context("server.json has no token")?.to_owned())
}

/// How many jobs were done in the last hour, as the overview counts them.
async fn done(server: &Server, token: &str) -> Result<u64> {
    let overview = server.json("/api/overview", token).await?;
    let slots = overview.get("slots").and_then(|slots| slots.as_array()).context("no slots")?;
    Ok(slots.iter().filter_map(|slot| slot.get("complete")?.as_u64()).sum())
}
