//! `lab-worker`: an engine as a process of its own, for tests that kill it.
//!
//! Prints `ready` with its worker's id when it works. SIGTERM drains and exits 0; a second SIGTERM exits 1 at once. It
//! exits 3 when too many of its handlers are stuck, because then only a new process helps.

#![allow(clippy::print_stdout, reason = "a command: whoever started it waits for this line")]

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use redrive::{Engine, Options, Running};
use redrive_lab::worker::{options, register, say::Say};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Runs the laboratory's workloads on a database.
#[derive(Debug, Parser)]
struct Args {
    /// The database, as `redrive::Engine::open` takes it.
    #[arg(long)]
    database: String,
    /// What this worker is called.
    #[arg(long, default_value = "lab")]
    name: String,
    /// Handlers that block their thread are replaced so often.
    #[arg(long, default_value_t = 8)]
    stuck_limit: usize,
    /// Threads that run handlers.
    #[arg(long, default_value_t = 4)]
    threads: usize,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    tracing::subscriber::set_global_default(Say)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(args.threads).enable_all().build()?;
    let code = runtime.block_on(work(&args));
    // A blocked thread would keep an ordinary return waiting for ever.
    runtime.shutdown_background();
    code
}

async fn work(args: &Args) -> Result<ExitCode> {
    let mut term = signal(SignalKind::terminate())?;
    let options = Options { stuck_limit: args.stuck_limit, ..options(&args.name) };
    let engine = Engine::open_with(&args.database, options).await?;
    register(&engine);
    let running = engine.start();
    println!("ready {}", running.id());
    tokio::select! {
        _ = term.recv() => Ok(drain(running, &mut term).await),
        () = breaks(&running) => Ok(ExitCode::from(3)),
    }
}

/// Drains; a second signal ends the wait.
async fn drain(running: Running, term: &mut Signal) -> ExitCode {
    tokio::select! {
        biased;
        _ = term.recv() => ExitCode::FAILURE,
        left = running.drain() => {
            println!("drained {left}");
            ExitCode::SUCCESS
        }
    }
}

async fn breaks(running: &Running) {
    while !running.is_broken() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
