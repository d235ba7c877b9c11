//! The engine's own benchmark, through the crate `redrive` as its users see it.
//!
//! The peers' side of the comparison lives in `bench/`, a workspace of its own; both print the same lines, and `bench/run`
//! puts them together. Every measurement starts on an empty database, which goes away afterwards.

pub(crate) mod child;
mod drain;
mod enqueue;
mod figure;
mod kill;
mod load;
mod pickup;
mod place;
mod rest;

use std::time::Duration;

use anyhow::Result;

use crate::args::{Bench, What};
pub(crate) use figure::{Figure, summary};
use place::Place;

/// Measures everything that was asked for, `runs` times, and hands every figure on as soon as it is there.
pub(crate) async fn measure(args: &Bench, mut tell: impl FnMut(Figure)) -> Result<()> {
    for _ in 0..args.runs {
        for what in &args.only {
            if let Some(server) = &args.postgres {
                one(args, *what, Place::postgres(server).await?, &mut tell).await?;
            }
            if args.postgres.is_none() || args.sqlite.is_some() {
                let folder = args.sqlite.as_deref().unwrap_or(".".as_ref());
                one(args, *what, Place::sqlite(folder)?, &mut tell).await?;
            }
        }
    }
    Ok(())
}

async fn one(args: &Bench, what: What, place: Place, tell: &mut impl FnMut(Figure)) -> Result<()> {
    let ttl = Duration::from_secs(args.ttl);
    let figures = match what {
        What::Drain => vec![("drain", drain::drain(&place, args.jobs).await?, "jobs/s")],
        What::Failures => vec![("failures", drain::failures(&place, args.jobs).await?, "executions/s")],
        What::Pickup => {
            let took = pickup::pickup(&place, args.samples).await?;
            let ms = |percent| pickup::percentile(&took, percent).as_secs_f64() * 1e3;
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
        tell(Figure::ours(place.on(), what, value, unit));
    }
    place.remove().await
}
