//! `redrive serve`: store, engine, files and the HTTP side in one process, until it is told to stop.

use std::sync::Arc;

use redrive_blob::{Blobs, Location};
use redrive_convert::{Convert, Gateway, Retention};
use redrive_engine::{Engine, Options};
use redrive_server::{App, AppParts};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::args::Serve;
use crate::exit::{Exit, Stop};
use crate::settings::Serving;
use crate::{settings, store};

pub(crate) fn run(flags: &Serve) -> Result<(), Stop> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(flags))
}

#[expect(clippy::print_stdout, reason = "the first lines say where everything is")]
async fn serve(flags: &Serve) -> Result<(), Stop> {
    let place = settings::place(&flags.database)?;
    let address = settings::listen(flags)?;
    let serving = settings::serving(&place)?;
    let store = store::open(&place).await?;
    let breaker = serving.breaker.clone();
    let options = Options {
        lease_ttl: serving.lease_ttl,
        drain: serving.drain,
        retention: serving.retention.every,
        breaker: Arc::new(move |_| breaker.clone()),
        ..Options::default()
    };
    let engine = Engine::new(store.clone(), options).await.map_err(engine_stop)?;
    let sources = open(&serving.uploads, &place).await?;
    let results = open(&serving.results, &place).await?;
    let gateway = gateway(&serving)?;
    if let Some(gateway) = &gateway {
        let (sources, results) = (sources.clone(), results.clone());
        engine.register(Convert::new(gateway.clone(), sources, results, serving.convert.clone()));
    }
    let retention = Retention::new(store, sources.clone(), results.clone(), serving.retention);
    engine.permanent("convert.retention", retention).await.map_err(engine_stop)?;
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| Stop::new(Exit::Conflict, format!("cannot listen on {address}: {error}")))?;
    println!("redrive listening on http://{}", listener.local_addr()?);
    println!("data     {}", place.data_dir.display());
    println!("store    {}", store::describe(&place));
    println!("files    {} and {}", serving.uploads, serving.results);
    println!("gateway  {}", describe(&serving));
    let running = engine.start();
    let app = App::new(AppParts {
        engine,
        sources,
        results,
        gateway,
        breaker_mode: serving.breaker.mode,
        public_url: serving.public_url,
        limits: serving.limits,
    });
    let (stop, stopped) = watch::channel(false);
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

/// Without one nobody converts: jobs wait, and the status says so.
fn gateway(serving: &Serving) -> Result<Option<Gateway>, Stop> {
    let made = serving.gateway.clone().map(Gateway::new).transpose();
    made.map_err(|error| Stop::new(Exit::Failed, error.to_string()))
}

fn describe(serving: &Serving) -> String {
    match &serving.gateway {
        Some(gateway) => redrive_model::redact::redact(gateway.url.as_str()),
        None => "none: uploads wait until GATEWAY_URL is set".to_owned(),
    }
}

async fn open(location: &Location, place: &settings::Place) -> Result<Arc<dyn Blobs>, Stop> {
    let opened = location.open(place.data_dir.join("spool"), settings::all()).await;
    opened.map_err(|error| Stop::new(Exit::Failed, format!("cannot open {location}: {error}")))
}

fn engine_stop(error: redrive_engine::EngineError) -> Stop {
    match error {
        redrive_engine::EngineError::Store(error) => error.into(),
        error => Stop::new(Exit::Failed, error.to_string()),
    }
}

/// SIGTERM or SIGINT.
async fn told_to_stop() {
    let wait = async |kind| match signal(kind) {
        Ok(mut signal) => {
            signal.recv().await;
        }
        Err(_) => std::future::pending().await,
    };
    tokio::select! {
        () = wait(SignalKind::terminate()) => {}
        () = wait(SignalKind::interrupt()) => {}
    }
}
