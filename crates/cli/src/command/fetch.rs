//! `redrive fetch`: URLs to objects, through a server that runs, or on its own.

use redrive_api::client::{Client, ManifestShape};
use redrive_blob::Location;
use redrive_fetch::Format;
use tokio::sync::watch;

use crate::args::{Fetch, Shared};
use crate::exit::{Exit, Stop};
use crate::fetch::{Alone, Asked, Doer, Wish, end, failed, follow, is_stdout, missing, report};
use crate::logs::Usual;
use crate::near_server::{self, Known};
use crate::settings::{self, Fetching, Values};
use crate::{say, signals};

pub(crate) fn run(shared: &Shared, args: &Fetch) -> Result<(), Stop> {
    if args.json && args.missing.as_deref().is_some_and(is_stdout) {
        return Err(Stop::new(
            Exit::Usage,
            "--json and --missing - both write to stdout: name a file for one of them",
        ));
    }
    let values = settings::read(shared, &args.flags, Usual::Reporting)?;
    signals::run(|stopped| fetch(&values, args, stopped))
}

async fn fetch(values: &Values, args: &Fetch, stopped: watch::Receiver<bool>) -> Result<(), Stop> {
    match server(values, args).await? {
        Some(client) => there(values, client, args, stopped).await,
        None => here(values, args, stopped).await,
    }
}

/// The server to use: one that is named, or one that runs here while nobody says where objects go.
async fn server(values: &Values, args: &Fetch) -> Result<Option<Client>, Stop> {
    match near_server::find(values)? {
        Some(Known { client, named: true }) => {
            client.ready().await.map(|()| Some(client)).map_err(Stop::from)
        }
        Some(Known { client, named: false }) if args.to.is_none() => {
            Ok(client.ready().await.ok().map(|()| client))
        }
        Some(_) | None => Ok(None),
    }
}

fn asked(args: &Fetch, to: Option<String>) -> Result<Asked, Stop> {
    let end_rule = args.tolerant.then_some("tolerant");
    let wish = Wish { to, proxy_pool: args.proxy_pool.clone(), end_rule };
    match &args.manifest {
        Some(path) => Asked::manifest(path, &wish),
        None => Asked::urls(&args.urls, &wish),
    }
}

async fn here(values: &Values, args: &Fetch, mut stopped: watch::Receiver<bool>) -> Result<(), Stop> {
    let mut fetching = Fetching::read(values)?;
    if let Some(to) = &args.to {
        let place = to.parse::<Location>();
        fetching.to = place.map_err(|error| Stop::new(Exit::Usage, format!("--to: {error}")))?;
    }
    let (work, data_dir) = (settings::work(values)?, settings::data_dir(values));
    let asked = asked(args, None)?;
    let to = fetching.to.to_string();
    let mut alone = Alone::open(values, &data_dir, fetching, &work, &asked, args.again).await?;
    let running = alone.start();
    let followed = follow(&mut alone.doer, args.json, None, &mut stopped, || None).await;
    if *stopped.borrow() {
        say::note("stopping after what has begun; once more stops at once");
    }
    running.drain().await;
    followed?;
    let seen = alone.doer.snapshot().await?;
    tell(&alone.doer, args, |place| place.map_or_else(|| to.clone(), str::to_owned)).await?;
    end(&seen, alone.before, "the same command goes on from here")
}

async fn there(
    values: &Values,
    client: Client,
    args: &Fetch,
    mut stopped: watch::Receiver<bool>,
) -> Result<(), Stop> {
    let asked = asked(args, args.to.clone())?;
    // The same command, given again while its batch is known, asks for the same batch.
    let key = (!args.again).then(|| format!("redrive-fetch-{}", asked.sha256));
    let shape = ManifestShape { ndjson: asked.shape.format == Format::Ndjson, gzip: asked.shape.gzip };
    let reply =
        client.fetch(asked.body(), shape, key.as_deref()).await.map_err(|error| asked.not_taken(error))?;
    let mut doer = Doer::There { client, id: reply.job_id.clone() };
    let before = if reply.replayed { Some(doer.again().await?) } else { None };
    let (stored, ended) = before.map_or((0, None), |before| {
        (before.resources_completed, before.finished_at.filter(|_| before.resources_failed > 0))
    });
    let find = || near_server::find(values).ok().flatten().map(|known| known.client);
    let seen = follow(&mut doer, args.json, ended, &mut stopped, find).await?;
    if seen.finished_at.is_some() {
        tell(&doer, args, |place| place.unwrap_or("the server's FETCH_TO").to_owned()).await?;
    }
    end(&seen, stored, &format!("the server goes on with batch {}", reply.job_id))
}

async fn tell(doer: &Doer, args: &Fetch, place: impl Fn(Option<&str>) -> String) -> Result<(), Stop> {
    // stdout is the manifest's then.
    if args.missing.as_deref().is_some_and(is_stdout) {
        failed(doer).await?;
    } else {
        report(doer, args.json, place).await?;
    }
    match &args.missing {
        Some(path) => missing(doer, path).await,
        None => Ok(()),
    }
}
