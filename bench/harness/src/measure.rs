//! The measurements.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use futures::future::try_join_all;
use tokio::sync::{Notify, mpsc};

use crate::{Args, CALLERS, Handler, Peer, What};

/// Measures what the command line says and prints the figures.
pub async fn run<P: Peer>() -> Result<()> {
    let args = Args::parse();
    let peer = P::open(&args.place).await?;
    match args.what {
        What::Drain => print::<P>("drain", drain(&peer, args.jobs).await?, "jobs/s"),
        What::Pickup => {
            let mut took = pickup(&peer, args.samples).await?;
            took.sort_unstable();
            print::<P>("pickup_p50", percentile(&took, 50), "ms");
            print::<P>("pickup_p99", percentile(&took, 99), "ms");
        }
        What::Enqueue => print::<P>("enqueue", enqueue(&peer, args.jobs / 2).await?, "jobs/s"),
        What::Bulk => {
            if let Some(rate) = bulk(&peer, args.jobs).await? {
                print::<P>("bulk", rate, "jobs/s");
            }
        }
    }
    // Whatever still runs in the background ends with the process.
    std::process::exit(0);
}

fn print<P: Peer>(what: &str, value: f64, unit: &str) {
    let (who, version, on) = (P::NAME, P::VERSION, P::ON);
    println!(
        "{}",
        serde_json::json!({ "who": who, "version": version, "on": on, "what": what, "value": value, "unit": unit })
    );
}

/// From the start of the worker until the last job is recorded as finished.
async fn drain<P: Peer>(peer: &P, jobs: usize) -> Result<f64> {
    fill(peer, jobs).await?;
    peer.settle().await?;
    let (seen, reached) = (AtomicUsize::new(0), Arc::new(Notify::new()));
    let last = reached.clone();
    let handler: Handler = Arc::new(move || {
        if seen.fetch_add(1, Ordering::Relaxed) + 1 == jobs {
            last.notify_one();
        }
    });
    let started = Instant::now();
    let _worker = peer.start(handler).await?;
    reached.notified().await;
    while peer.unfinished().await? > 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(jobs as f64 / started.elapsed().as_secs_f64())
}

async fn fill<P: Peer>(peer: &P, jobs: usize) -> Result<()> {
    if !peer.bulk(jobs).await? {
        enqueue(peer, jobs).await?;
    }
    let waiting = peer.unfinished().await?;
    anyhow::ensure!(waiting == i64::try_from(jobs)?, "{waiting} of {jobs} jobs wait");
    Ok(())
}

/// From before the call that enqueues until the handler runs.
async fn pickup<P: Peer>(peer: &P, samples: usize) -> Result<Vec<Duration>> {
    let (sender, mut starts) = mpsc::unbounded_channel();
    let handler: Handler = Arc::new(move || {
        let _ = sender.send(Instant::now());
    });
    let _worker = peer.start(handler).await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut took = Vec::with_capacity(samples);
    for sample in 0..samples {
        tokio::time::sleep(gap(sample)).await;
        let began = Instant::now();
        peer.enqueue().await?;
        let start = tokio::time::timeout(Duration::from_secs(60), starts.recv()).await;
        let start =
            start.context("a job was not picked up within a minute")?.context("the worker is gone")?;
        took.push(start.duration_since(began));
    }
    Ok(took)
}

/// So long before each sample: never in step with anybody's poll.
fn gap(sample: usize) -> Duration {
    Duration::from_millis(20 + (sample as u64 * 7) % 13)
}

fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(f64::NAN, |took| took.as_secs_f64() * 1e3)
}

/// One job per call, several callers at once.
async fn enqueue<P: Peer>(peer: &P, jobs: usize) -> Result<f64> {
    peer.settle().await?;
    let share = |caller: usize| jobs / CALLERS + usize::from(caller < jobs % CALLERS);
    let started = Instant::now();
    let callers = (0..CALLERS).map(|caller| {
        let peer = peer.clone();
        let mine = share(caller);
        let call = async move {
            for _ in 0..mine {
                peer.enqueue().await?;
            }
            anyhow::Ok(())
        };
        async move { tokio::spawn(call).await? }
    });
    try_join_all(callers).await?;
    Ok(jobs as f64 / started.elapsed().as_secs_f64())
}

async fn bulk<P: Peer>(peer: &P, jobs: usize) -> Result<Option<f64>> {
    peer.settle().await?;
    let started = Instant::now();
    let can = peer.bulk(jobs).await?;
    Ok(can.then(|| jobs as f64 / started.elapsed().as_secs_f64()))
}
