//! `redrive serve`: store, engine, files and the HTTP side in one process, until it is told to stop.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use redrive_engine::Engine;
use redrive_server::{App, AppParts, CODE_LIFE, Examine, FetchParts, MIN_TOKEN, Operators, SettingsParts};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::args::Shared;
use crate::doctor::examine;
use crate::exit::{Exit, Stop};
use crate::local::{Lock, ServerFile};
use crate::logs::Usual;
use crate::settings::table::SERVE;
use crate::settings::{Flags, Serving, Values};
use crate::signals::{self, until};
use crate::{counting, sameness, say, settings, store, wiring};

pub(crate) fn run(shared: &Shared, flags: &Flags<SERVE>) -> Result<(), Stop> {
    let values = settings::read(shared, flags, Usual::Info)?;
    signals::run(|stopped| serve(&values, |_| (), stopped))
}

/// Serves until it is told to stop. As soon as it listens, `up` is told how to reach it.
pub(crate) async fn serve(
    values: &Values,
    up: impl FnOnce(ServerFile),
    stopped: watch::Receiver<bool>,
) -> Result<(), Stop> {
    let place = settings::place(values)?;
    let serving = Serving::read(values)?;
    let address = serving.listen;
    store::make_folder(&place.data_dir)?;
    // Before anything else: a second server must not touch what the first one works with.
    let _lock = Lock::take(&place.data_dir)?;
    let metrics = counting::install()?;
    let wired = wiring::wire(&place, values, &serving, "serve", stopped.clone()).await?;
    let engine = wired.engine;
    sameness::note(&engine, "uploads", &serving.uploads).await?;
    sameness::note(&engine, "results", &serving.results).await?;
    sameness::note(&engine, "manifests", &serving.fetching.manifests).await?;
    sameness::note(&engine, "fetched", &serving.fetching.to).await?;
    sameness::note_fetching(&engine, &serving.fetching).await?;
    if let Some(intaking) = &serving.intaking {
        sameness::note(&engine, "intake", &intaking.place).await?;
    }
    let given = serving.operators.token.as_ref().map(|token| token.reveal());
    refuse_unguarded(&engine, address, given).await?;
    let (operators, made) = Operators::open(&engine, given).await.map_err(no_operators)?;
    let token_words = match (&made, given) {
        (Some(token), _) => format!("{token}  (of operators; shown this once, keep it safe)"),
        (None, Some(_)) => "OPERATOR_TOKEN, as it was given".to_owned(),
        (None, None) => {
            "made at the first start, which printed it once; set OPERATOR_TOKEN to use another".to_owned()
        }
    };
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| Stop::new(Exit::Conflict, format!("cannot listen on {address}: {error}")))?;
    let counted = counting::listen(serving.operators.metrics_listen).await?;
    let url = format!("http://{}", near(listener.local_addr()?));
    let outside = serving.public_url.as_ref().map_or(url.as_str(), |url| url.as_str().trim_end_matches('/'));
    // Whoever reads the first line finds the file.
    let token = operators.local_token().map_err(no_operators)?;
    let here = ServerFile { url: url.clone(), token, pid: std::process::id() };
    let _file = here.write(&place.data_dir)?;
    say::hello(&format!("redrive listening on http://{}", listener.local_addr()?));
    say::hello(&format!("data     {}", place.data_dir.display()));
    say::hello(&format!("store    {}", store::describe(&place)));
    say::hello(&format!("files    {} and {}", serving.uploads, serving.results));
    say::hello(&format!("fetched  {}", serving.fetching.to));
    if let Some(digesting) = &serving.digesting {
        say::hello(&format!("digest   {digesting}"));
    }
    if let Some(intaking) = &serving.intaking {
        say::hello(&format!("intake   {}", intaking.place));
    }
    say::hello(&format!("gateway  {}", wired.gateway_words));
    say::hello(&format!("metrics  http://{}/metrics", counted.local_addr()?));
    let code = operators.one_time_code().map_err(no_operators)?;
    let minutes = CODE_LIFE.as_secs() / 60;
    say::hello(&format!(
        "sign in  {outside}/sign-in?code={code}  (for operators; works once, for {minutes} minutes)"
    ));
    say::hello(&format!("token    {token_words}"));
    up(here);
    let running = engine.start();
    let app = App::new(AppParts {
        engine: engine.clone(),
        home: place.homes(),
        sources: wired.sources,
        results: wired.results,
        gateway: Some(wired.gateway),
        fetch: Some(FetchParts {
            manifests: wired.fetches.manifests,
            places: wired.fetches.places,
            pools: wired.fetches.pools,
        }),
        digests: wired.digests,
        intake: wired.intake,
        breaker_mode: serving.work.breakers.mode(),
        public_url: serving.public_url,
        operators,
        limits: serving.limits,
        settings: SettingsParts { list: settings::listed(values), examine: Some(doctor(values)) },
    });
    let counting = metrics.serve(counted, engine, app.disk().clone(), until(stopped.clone()));
    let serving =
        redrive_server::serve(listener, app.clone(), app.router(), serving.door, until(stopped.clone()));
    // Claiming stops at once, while answers that have begun are still given.
    let working = async {
        until(stopped).await;
        running.drain().await;
    };
    tokio::join!(serving, working, counting);
    Ok(())
}

/// Whoever can be reached from other machines has a token first. One that is made now would be printed to a log that others may read, so it is made
/// by a start that only this machine reaches, or chosen.
async fn refuse_unguarded(engine: &Engine, address: SocketAddr, given: Option<&str>) -> Result<(), Stop> {
    if address.ip().to_canonical().is_loopback()
        || Operators::have_token(engine, given).await.map_err(no_operators)?
    {
        return Ok(());
    }
    let text = format!(
        "LISTEN is {address}, which other machines can reach, and operators have no token yet: set OPERATOR_TOKEN to one of {MIN_TOKEN} \
         characters or more, or start once with LISTEN=127.0.0.1:{} to have one made",
        address.port()
    );
    Err(Stop::new(Exit::Usage, text))
}

/// The doctor, for operators who look at the server's pages.
fn doctor(values: &Values) -> Examine {
    let values = Arc::new(values.clone());
    Arc::new(move || {
        let values = values.clone();
        Box::pin(async move { examine(&values).await })
    })
}

/// An address at which a program on this machine finds us.
fn near(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

fn no_operators(error: redrive_server::OperatorsError) -> Stop {
    match error {
        redrive_server::OperatorsError::Store(error) => error.into(),
        error @ redrive_server::OperatorsError::Weak => Stop::new(Exit::Usage, error.to_string()),
        error => Stop::new(Exit::Failed, error.to_string()),
    }
}
