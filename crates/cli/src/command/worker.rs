//! `redrive worker`: work without a door, for more machines on one Postgres.

use std::sync::Arc;

use redrive_server::{Disk, DiskParts};
use tokio::sync::watch;

use crate::args::Shared;
use crate::exit::{Exit, Stop};
use crate::logs::Usual;
use crate::settings::table::WORKER;
use crate::settings::{Flags, Serving, StoreUrl, Values};
use crate::signals::{self, until};
use crate::{counting, sameness, say, settings, store, wiring};

pub(crate) fn run(shared: &Shared, flags: &Flags<WORKER>) -> Result<(), Stop> {
    let values = settings::read(shared, flags, Usual::Info)?;
    signals::run(|stopped| work(&values, stopped))
}

async fn work(values: &Values, stopped: watch::Receiver<bool>) -> Result<(), Stop> {
    let place = settings::place(values)?;
    if let StoreUrl::Sqlite(path) = &place.store {
        let text = format!(
            "one process works on an SQLite file ({}), and redrive serve is it; more workers need Postgres: set DATABASE_URL=postgres://…",
            path.display()
        );
        return Err(Stop::new(Exit::Conflict, text));
    }
    let serving = Serving::read(values)?;
    let metrics = counting::install()?;
    let name = format!("worker {}", std::process::id());
    let wired = wiring::wire(&place, values, &serving, &name, stopped.clone()).await?;
    sameness::check(&wired.engine, "uploads", &serving.uploads).await?;
    sameness::check(&wired.engine, "results", &serving.results).await?;
    sameness::check(&wired.engine, "manifests", &serving.fetching.manifests).await?;
    sameness::check(&wired.engine, "fetched", &serving.fetching.to).await?;
    sameness::check_fetching(&wired.engine, &serving.fetching).await?;
    if let Some(intaking) = &serving.intaking {
        sameness::check(&wired.engine, "intake", &intaking.place).await?;
    }
    let counted = counting::listen(serving.operators.metrics_listen).await?;
    say::hello(&format!("redrive worker on {}", store::describe(&place)));
    say::hello(&format!("files    {} and {}", serving.uploads, serving.results));
    say::hello(&format!("fetched  {}", serving.fetching.to));
    if let Some(intaking) = &serving.intaking {
        say::hello(&format!("intake   {}", intaking.place));
    }
    say::hello(&format!("gateway  {}", wired.gateway_words));
    say::hello(&format!("metrics  http://{}/metrics", counted.local_addr()?));
    let running = wired.engine.start();
    let places = DiskParts {
        home: place.homes(),
        uploads: vec![wired.sources, wired.results],
        manifests: vec![wired.fetches.manifests.blobs(), wired.fetches.places.usual.blobs],
        others: wired.intake.into_iter().map(|intake| intake.place).collect(),
    };
    let disk = Arc::new(Disk::new(places, serving.limits.room));
    let counting = metrics.serve(counted, wired.engine, disk, until(stopped.clone()));
    let working = async {
        until(stopped).await;
        running.drain().await;
    };
    tokio::join!(working, counting);
    Ok(())
}
