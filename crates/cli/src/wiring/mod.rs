//! Store, engine, files and gateway put together, for a server and for a worker alike.

mod digest;
pub(crate) mod fetch;
mod intake;
mod sink;

use std::sync::Arc;

use redrive_blob::{Blobs, Location};
use redrive_convert::{Convert, Gateway, GatewayOptions, Retention};
use redrive_engine::{Engine, Options};
use redrive_intake::digest::Digests;
use tokio::sync::watch;
use url::Url;

use crate::exit::{Exit, Stop};
use crate::settings::{Place, Serving, Values, Work};
use crate::{builtin, store};

/// What does the work, not yet started.
pub(crate) struct Wired {
    pub(crate) engine: Engine,
    pub(crate) sources: Arc<dyn Blobs>,
    pub(crate) results: Arc<dyn Blobs>,
    pub(crate) fetches: fetch::Fetches,
    /// What tells owners about their PDFs, where there is intake.
    pub(crate) digests: Option<Digests>,
    /// What tells about the folder or bucket of people, where there is one.
    pub(crate) intake: Option<redrive_server::IntakeParts>,
    pub(crate) gateway: Gateway,
    /// What people are told about the gateway.
    pub(crate) gateway_words: String,
}

/// Opens everything and registers the handlers. A built-in gateway ends when `stopped` says so.
pub(crate) async fn wire(
    place: &Place,
    values: &Values,
    serving: &Serving,
    name: &str,
    stopped: watch::Receiver<bool>,
) -> Result<Wired, Stop> {
    let store::Opened { jobs: store, documents } = store::open(place).await?;
    let work = &serving.work;
    let options = Options {
        name: name.to_owned(),
        lease_ttl: work.lease_ttl,
        drain: work.drain,
        retention: serving.retention.every,
        breaker: work.breakers.by_target(),
        ..Options::default()
    };
    let engine = Engine::new(store.clone(), options).await.map_err(engine_stop)?;
    let sources = open(&serving.uploads, place, values).await?;
    let results = open(&serving.results, place, values).await?;
    let (url, built_in) = match &work.gateway {
        Some(url) => (url.clone(), ""),
        None => (builtin::start(work.max_upload, stopped).await?, ", built in"),
    };
    let gateway_words = format!("{}{built_in}", redrive_model::redact::redact(url.as_str()));
    let gateway = gateway(work, url)?;
    engine.register(Convert::new(gateway.clone(), sources.clone(), results.clone(), work.convert.clone()));
    let retention = Retention::new(store.clone(), sources.clone(), results.clone(), serving.retention);
    engine.permanent("convert.retention", retention).await.map_err(engine_stop)?;
    engine.count_minutes().await.map_err(engine_stop)?;
    let fetching = &serving.fetching;
    let opening = |location: &Location| -> futures::future::BoxFuture<'_, _> {
        let location = location.clone();
        Box::pin(async move { open(&location, place, values).await })
    };
    let fetches = fetch::register(&engine, &store, fetching, fetch::destinations(fetching), &opening).await?;
    fetch::retention(&engine, &store, &fetches, serving.retention.every).await?;
    let intake = match &serving.intaking {
        Some(intaking) => {
            let (most, every) = (work.convert.max_result, serving.retention.every);
            let parts =
                intake::register(&engine, &documents, intaking, &gateway, most, every, (place, values));
            Some(parts.await?)
        }
        None => None,
    };
    let (intake, shelf) = intake.unzip();
    if name == "serve" && intake.is_none() {
        intake::forget(&engine).await?;
    }
    let digests = match &serving.digesting {
        Some(digesting) => {
            let base = serving.public_url.as_ref();
            Some(digest::register(&engine, &documents, digesting, base, shelf, (place, values)).await?)
        }
        None => None,
    };
    if name == "serve" && digests.is_none() {
        digest::forget(&engine).await?;
    }
    let pools = fetching.download.pools.clone();
    sink::register(&engine, serving.nats.as_ref(), fetch::destinations(fetching), pools).await?;
    if name == "serve" && serving.nats.is_none() {
        sink::forget(&engine).await?;
    }
    Ok(Wired { engine, sources, results, fetches, digests, intake, gateway, gateway_words })
}

/// A client of the gateway at this address.
pub(crate) fn gateway(work: &Work, url: Url) -> Result<Gateway, Stop> {
    let (timeout, max_response) = (work.gateway_timeout, work.convert.max_result);
    Gateway::new(GatewayOptions { url, timeout, max_response })
        .map_err(|error| Stop::new(Exit::Failed, error.to_string()))
}

/// Opens a place for files.
pub(crate) async fn open(
    location: &Location,
    place: &Place,
    values: &Values,
) -> Result<Arc<dyn Blobs>, Stop> {
    open_at(location, place.data_dir.join("spool"), values).await
}

/// The same, with this folder for what is on its way to a bucket.
pub(crate) async fn open_at(
    location: &Location,
    spool: std::path::PathBuf,
    values: &Values,
) -> Result<Arc<dyn Blobs>, Stop> {
    let opened = location.open(spool, values.variables()).await;
    opened.map_err(|error| Stop::new(Exit::Failed, format!("cannot open {location}: {error}")))
}

/// Why there is no engine.
pub(crate) fn engine_stop(error: redrive_engine::EngineError) -> Stop {
    match error {
        redrive_engine::EngineError::Store(error) => error.into(),
        error => Stop::new(Exit::Failed, error.to_string()),
    }
}
