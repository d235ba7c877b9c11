//! `redrive bench`: measures the engine on this machine.

use std::time::Duration;

use crate::args::Bench;
use crate::bench::{child, measure, summary};
use crate::exit::{Exit, Stop};
use crate::say;

pub(crate) fn run(args: &Bench) -> Result<(), Stop> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let failed = |error: anyhow::Error| Stop::new(Exit::Failed, format!("{error:#}"));
    if args.worker {
        return runtime.block_on(child::work(Duration::from_secs(args.ttl))).map_err(failed);
    }
    let mut figures = Vec::new();
    let tell = |figure: crate::bench::Figure| {
        if args.json {
            let _ = say::line(&figure.json());
        }
        figures.push(figure);
    };
    runtime.block_on(measure(args, tell)).map_err(failed)?;
    if !args.json {
        say::bytes(summary(&figures).as_bytes())?;
    }
    Ok(())
}
