//! `bench-crowd`: a server with slow clients and open pages before it.
//!
//! `cargo build --release && cargo run --release -p redrive-lab --bin bench-crowd -- --redrive target/release/redrive --home /some/new/folder`.
//! Exits 1 when a promise is broken.

#![allow(clippy::print_stdout, reason = "a command: the table is its output")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use redrive_lab::bench::crowd::{live, slow};
use redrive_lab::bench::figure;
use redrive_lab::bench::server::Server;

/// Measures a crowded server.
#[derive(Debug, Parser)]
struct Args {
    /// The program.
    #[arg(long)]
    redrive: PathBuf,
    /// A folder, best a new one: everything goes into it, and nothing is removed.
    #[arg(long)]
    home: PathBuf,
    /// Connections that stall in their heads.
    #[arg(long, default_value_t = 500)]
    stalled: usize,
    /// Uploads that drip.
    #[arg(long, default_value_t = 200)]
    dripping: usize,
    /// Pages that stay open.
    #[arg(long, default_value_t = 50)]
    pages: usize,
    /// How long each is measured. Slow clients are closed after ten seconds, so more tells nothing of them.
    #[arg(long, default_value_t = 8)]
    seconds: u64,
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let args = Args::parse();
    std::fs::create_dir_all(&args.home)?;
    let time = Duration::from_secs(args.seconds);
    let server = Server::start(&args.redrive, &args.home.join("slow")).await?;
    let mut figures = slow::run(&server, args.stalled, args.dripping, time).await?;
    drop(server);
    let server = Server::start(&args.redrive, &args.home.join("live")).await?;
    figures.extend(live::run(&server, args.pages, time * 2).await?);
    drop(server);
    Ok(figure::print(&figures))
}
