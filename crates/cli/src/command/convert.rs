//! `redrive convert`: files to XML, through a server that runs, or on its own.

use std::path::Path;

use redrive_convert::{Gateway, GatewayOptions};
use redrive_engine::Options;
use redrive_gateway::http;
use tokio::sync::watch;

use crate::args::{Convert, Shared};
use crate::convert::{Alone, Item, Job, Remote, Report, plan};
use crate::exit::{Exit, Stop};
use crate::logs::Usual;
use crate::near_server::{self, Known};
use crate::settings::{self, Values, Work};
use crate::{builtin, signals};

/// What a gateway without a list is asked for.
const USUAL_MAPPING: &str = "text";

pub(crate) fn run(shared: &Shared, args: &Convert) -> Result<(), Stop> {
    let values = settings::read(shared, &args.flags, Usual::Reporting)?;
    let work = settings::work(&values)?;
    let items = plan(&args.files, &args.out)?;
    let known = near_server::find(&values)?;
    let mut report = Report::new(items.len(), args.json);
    let outcome = signals::run_beside_others(async |stopped| {
        let job = Job { mapping: args.mapping.clone(), force: args.force, max_bytes: work.max_upload };
        match server(known, &report).await? {
            Some(client) => {
                check_mapping(&job, client.mappings().await?.iter().map(|mapping| mapping.name.as_str()))?;
                Remote::new(client, job).run(items, &mut report, stopped).await
            }
            None => alone(&values, work, &args.out, job, items, &mut report, stopped).await,
        }
    });
    outcome?;
    report.end()
}

/// The server to use; nothing when files are converted here.
async fn server(known: Option<Known>, report: &Report) -> Result<Option<redrive_api::client::Client>, Stop> {
    let Some(Known { client, named }) = known else { return Ok(None) };
    match client.ready().await {
        Ok(()) => Ok(Some(client)),
        Err(error) if named => Err(error.into()),
        Err(_) => {
            report.say("redrive: the server of this data folder does not answer; converting without it");
            Ok(None)
        }
    }
}

async fn alone(
    values: &Values,
    work: Work,
    out: &Path,
    job: Job,
    items: Vec<Item>,
    report: &mut Report,
    stopped: watch::Receiver<bool>,
) -> Result<(), Stop> {
    std::fs::create_dir_all(out)
        .map_err(|e| Stop::new(Exit::Failed, format!("cannot make {}: {e}", out.display())))?;
    let mut convert = work.convert.clone();
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    // One that starts or is being read leaves its core to another.
    let children =
        if settings::is_set(values, "WORKER_CONCURRENCY") { convert.concurrency } else { cores * 2 };
    // The gateway ends with the process: what has begun may need it until the very end.
    let (_open, until_the_end) = watch::channel(false);
    let url = match work.gateway.clone() {
        Some(url) => {
            convert.concurrency = children;
            url
        }
        None => {
            // A few more are being read or stored while the others are being converted.
            convert.concurrency = children * 2 + 2;
            let gateway =
                http::Settings { children, line: convert.concurrency + 32, ..http::Settings::default() };
            builtin::start_with(gateway, work.max_upload, until_the_end).await?
        }
    };
    let options = GatewayOptions { url, timeout: work.gateway_timeout, max_response: convert.max_result };
    let gateway = Gateway::new(options).map_err(|error| Stop::new(Exit::Failed, error.to_string()))?;
    let mapping = mapping(&gateway, &job).await?;
    let options = Options {
        name: "convert".to_owned(),
        lease_ttl: work.lease_ttl,
        drain: work.drain,
        breaker: work.breakers.by_target(),
        ..Options::default()
    };
    let alone = Alone::open(&settings::data_dir(values), out, mapping, job, options).await?;
    alone.register(gateway, convert);
    alone.run(items, report, stopped).await
}

/// The mapping that was asked for, if the gateway has it, or the gateway's first.
async fn mapping(gateway: &Gateway, job: &Job) -> Result<String, Stop> {
    let known = gateway.mappings().await.unwrap_or_default();
    check_mapping(job, known.iter().map(|mapping| mapping.name.as_str()))?;
    let first = known.first().map_or(USUAL_MAPPING, |mapping| mapping.name.as_str());
    Ok(job.mapping.as_deref().unwrap_or(first).to_owned())
}

/// A gateway that has never told its list may have any.
fn check_mapping<'a>(job: &Job, known: impl Iterator<Item = &'a str>) -> Result<(), Stop> {
    let known: Vec<&str> = known.collect();
    match &job.mapping {
        Some(mapping) if !known.is_empty() && !known.contains(&mapping.as_str()) => {
            let text = format!("no mapping is called {mapping:?}; there are {}", known.join(", "));
            Err(Stop::new(Exit::Usage, text))
        }
        Some(_) | None => Ok(()),
    }
}
