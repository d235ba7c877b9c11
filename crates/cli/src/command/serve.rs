//! `redrive serve`: store, engine, files and the HTTP side in one process, until it is told to stop.

use std::sync::Arc;

use redrive_blob::{Blobs, Location};
use redrive_convert::{Convert, Gateway, GatewayOptions, Retention};
use redrive_engine::{Engine, Options};
use redrive_server::{App, AppParts};
use tokio::net::TcpListener;
use tokio::sync::watch;
use url::Url;

use crate::args::Shared;
use crate::exit::{Exit, Stop};
use crate::logs::Usual;
use crate::settings::table::SERVE;
use crate::settings::{Flags, Serving, Values, Work};
use crate::signals::told_to_stop;
use crate::{builtin, settings, store};

pub(crate) fn run(shared: &Shared, flags: &Flags<SERVE>) -> Result<(), Stop> {
    let values = settings::read(shared, flags, Usual::Info)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(&values))
}

#[expect(clippy::print_stdout, reason = "the first lines say where everything is")]
async fn serve(values: &Values) -> Result<(), Stop> {
    let place = settings::place(values)?;
    let serving = Serving::read(values)?;
    let (address, work) = (serving.listen, &serving.work);
    let store = store::open(&place).await?;
    let breaker = work.breaker.clone();
    let options = Options {
        lease_ttl: work.lease_ttl,
        drain: work.drain,
        retention: serving.retention.every,
        breaker: Arc::new(move |_| breaker.clone()),
        ..Options::default()
    };
    let engine = Engine::new(store.clone(), options).await.map_err(engine_stop)?;
    let sources = open(&serving.uploads, &place, values).await?;
    let results = open(&serving.results, &place, values).await?;
    let (stop, stopped) = watch::channel(false);
    let (gateway_url, built_in) = match &work.gateway {
        Some(url) => (url.clone(), ""),
        None => (builtin::start(work.max_upload, stopped.clone()).await?, ", built in"),
    };
    let gateway = gateway(work, gateway_url.clone())?;
    let convert = work.convert.clone();
    engine.register(Convert::new(gateway.clone(), sources.clone(), results.clone(), convert));
    let retention = Retention::new(store, sources.clone(), results.clone(), serving.retention);
    engine.permanent("convert.retention", retention).await.map_err(engine_stop)?;
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| Stop::new(Exit::Conflict, format!("cannot listen on {address}: {error}")))?;
    println!("redrive listening on http://{}", listener.local_addr()?);
    println!("data     {}", place.data_dir.display());
    println!("store    {}", store::describe(&place));
    println!("files    {} and {}", serving.uploads, serving.results);
    println!("gateway  {}{built_in}", redrive_model::redact::redact(gateway_url.as_str()));
    let running = engine.start();
    let app = App::new(AppParts {
        engine,
        sources,
        results,
        gateway: Some(gateway),
        breaker_mode: work.breaker.mode,
        public_url: serving.public_url,
        limits: serving.limits,
    });
    let told = async {
        told_to_stop().await;
        stop.send_replace(true);
    };
    let wait = |mut stopped: watch::Receiver<bool>| async move { drop(stopped.wait_for(|stop| *stop).await) };
    let serving =
        redrive_server::serve(listener, app.clone(), app.router(), serving.door, wait(stopped.clone()));
    // Claiming stops at once, while answers that have begun are still given.
    let working = async {
        wait(stopped).await;
        running.drain().await;
    };
    tokio::join!(told, serving, working);
    Ok(())
}

fn gateway(work: &Work, url: Url) -> Result<Gateway, Stop> {
    let (timeout, max_response) = (work.gateway_timeout, work.convert.max_result);
    Gateway::new(GatewayOptions { url, timeout, max_response })
        .map_err(|error| Stop::new(Exit::Failed, error.to_string()))
}

async fn open(location: &Location, place: &settings::Place, values: &Values) -> Result<Arc<dyn Blobs>, Stop> {
    let opened = location.open(place.data_dir.join("spool"), values.variables()).await;
    opened.map_err(|error| Stop::new(Exit::Failed, format!("cannot open {location}: {error}")))
}

fn engine_stop(error: redrive_engine::EngineError) -> Stop {
    match error {
        redrive_engine::EngineError::Store(error) => error.into(),
        error => Stop::new(Exit::Failed, error.to_string()),
    }
}
