//! The application: its parts put together, its routes, and serving them.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use redrive_api::SettingList;
use redrive_blob::Blobs;
use redrive_convert::Gateway;
use redrive_engine::Engine;
use redrive_intake::digest::Digests;
use redrive_model::breaker::Mode;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use url::Url;

use crate::disk::{Disk, DiskParts};
use crate::feed::Feed;
use crate::fetch::FetchParts;
use crate::intake::IntakeParts;
use crate::limits::Limits;
use crate::mappings::Mappings;
use crate::operator::Operators;
use crate::own::Desk;
use crate::pulse::Pulse;
use crate::rates::Meters;
use crate::session::Jar;
use crate::settings::{SettingsParts, Surgery};
use crate::slots::Slots;
use crate::sources::Sources;
use crate::upload::Turns;

/// Between two looks for sessions whose life is over, and how many go at once.
const FORGET_EVERY: Duration = Duration::from_secs(3600);
const FORGET_AT_ONCE: usize = 10_000;

/// What an application is made of.
pub struct AppParts {
    /// The engine; whether it also works is the caller's business.
    pub engine: Engine,
    /// The folders of the database and of what is on its way to buckets: they must have room.
    pub home: Vec<PathBuf>,
    /// Where uploads go.
    pub sources: Arc<dyn Blobs>,
    /// Where results are.
    pub results: Arc<dyn Blobs>,
    /// Who converts, for the list of mappings. Without one uploads are taken and wait, and the status says so.
    pub gateway: Option<Gateway>,
    /// What it takes to fetch; without it the routes of fetch say that this server does not.
    pub fetch: Option<FetchParts>,
    /// What owners of intake's documents are told; without it the routes of digests say that this server has no intake.
    pub digests: Option<Digests>,
    /// The folder or bucket of people; without it the routes of intake say that there is none.
    pub intake: Option<IntakeParts>,
    /// What breakers do with jobs while they are open, to show it.
    pub breaker_mode: Mode,
    /// How people reach this server. With https cookies are `__Host-` and Secure.
    pub public_url: Option<Url>,
    /// Who may see everything.
    pub operators: Operators,
    /// What clients may take.
    pub limits: Limits,
    /// What the server runs with, and who examines it, to tell operators.
    pub settings: SettingsParts,
}

/// The application. Clones are the same.
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    desk: Desk,
    sources: Arc<dyn Blobs>,
    known_sources: Sources,
    results: Arc<dyn Blobs>,
    mappings: Mappings,
    pulse: Pulse,
    feed: Feed,
    meters: Meters,
    slots: Slots,
    turns: Turns,
    jar: Jar,
    disk: Arc<Disk>,
    digests: Option<Digests>,
    operators: Operators,
    public_url: Option<Url>,
    limits: Limits,
    settings: SettingList,
    surgery: Option<Surgery>,
    stopping: watch::Sender<bool>,
}

impl App {
    /// Puts the parts together. Nothing runs yet.
    #[must_use]
    pub fn new(parts: AppParts) -> Self {
        let limits = parts.limits;
        let fetched =
            parts.fetch.iter().flat_map(|fetch| [fetch.manifests.blobs(), fetch.places.usual.blobs.clone()]);
        let places = DiskParts {
            home: parts.home,
            uploads: vec![parts.sources.clone(), parts.results.clone()],
            manifests: fetched.collect(),
            others: parts.intake.iter().map(|intake| intake.place.clone()).collect(),
        };
        let disk = Disk::new(places, limits.room);
        let desk = Desk::new(parts.engine, parts.fetch, parts.intake);
        let secure = parts.public_url.as_ref().is_some_and(|url| url.scheme() == "https");
        Self(Arc::new(Inner {
            disk: Arc::new(disk),
            mappings: Mappings::new(parts.gateway),
            pulse: Pulse::new(parts.breaker_mode),
            feed: Feed::new(desk.clone(), &limits),
            meters: Meters::new(&limits),
            slots: Slots::of_uploads(&limits),
            turns: Turns::new(),
            jar: Jar::new(secure),
            digests: parts.digests,
            operators: parts.operators,
            desk,
            known_sources: Sources::new(parts.sources.clone()),
            sources: parts.sources,
            results: parts.results,
            public_url: parts.public_url,
            limits,
            settings: parts.settings.list,
            surgery: parts.settings.examine.map(Surgery::new),
            stopping: watch::Sender::new(false),
        }))
    }

    /// All routes with their layers. Other routers (pages) may be merged with it: sessions and request ids are a layer that
    /// [`App::layered`] puts around anything.
    pub fn router(&self) -> Router {
        self.layered(crate::routes::router(self))
    }

    /// Puts around a router what every request gets: an id, a session, the guard against other sites.
    pub fn layered(&self, router: Router<Self>) -> Router {
        use axum::middleware::{from_fn, from_fn_with_state};
        router
            .fallback(crate::refusal::not_found)
            .method_not_allowed_fallback(crate::refusal::method_not_allowed)
            .layer(from_fn_with_state(self.clone(), crate::session::visit))
            .layer(from_fn_with_state(self.clone(), crate::csrf::guard))
            .layer(from_fn(crate::request::identify))
            .with_state(self.clone())
    }

    /// Starts what goes on beside requests: the reader of events, the list of mappings, looks at the disk, the sweep of sessions. It ends when the
    /// answer is dropped.
    #[must_use = "dropping it stops the tasks"]
    pub fn start(&self) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let app = self.clone();
        tasks.spawn(async move { app.0.feed.run().await });
        let app = self.clone();
        tasks.spawn(async move { app.0.mappings.keep_fresh(app.0.limits.mappings_every).await });
        let app = self.clone();
        tasks.spawn(async move { app.0.disk.watch().await });
        let app = self.clone();
        tasks.spawn(async move { app.forget_sessions().await });
        tasks
    }

    async fn forget_sessions(&self) {
        loop {
            match self.0.desk.forget_sessions(self.0.limits.session, FORGET_AT_ONCE).await {
                Ok(0) | Err(_) => {}
                Ok(sessions) => tracing::info!(event = "sessions.forgotten", sessions),
            }
            tokio::time::sleep(FORGET_EVERY).await;
        }
    }

    /// Ends streams and takes no more uploads, so that a stop need not wait for them.
    pub fn stop(&self) {
        self.0.stopping.send_replace(true);
    }

    pub(crate) fn desk(&self) -> &Desk {
        &self.0.desk
    }

    pub(crate) fn sources(&self) -> &Arc<dyn Blobs> {
        &self.0.sources
    }

    /// What is known of sources, for pages.
    pub(crate) fn known_sources(&self) -> &Sources {
        &self.0.known_sources
    }

    pub(crate) fn results(&self) -> &Arc<dyn Blobs> {
        &self.0.results
    }

    pub(crate) fn mappings(&self) -> &Mappings {
        &self.0.mappings
    }

    pub(crate) fn pulse(&self) -> &Pulse {
        &self.0.pulse
    }

    pub(crate) fn feed(&self) -> &Feed {
        &self.0.feed
    }

    pub(crate) fn meters(&self) -> &Meters {
        &self.0.meters
    }

    pub(crate) fn slots(&self) -> &Slots {
        &self.0.slots
    }

    /// Whose manifest is handed in now.
    pub(crate) fn turns(&self) -> &Turns {
        &self.0.turns
    }

    pub(crate) fn jar(&self) -> Jar {
        self.0.jar
    }

    /// The room for files.
    #[must_use]
    pub fn disk(&self) -> &Arc<Disk> {
        &self.0.disk
    }

    pub(crate) fn digests(&self) -> Option<&Digests> {
        self.0.digests.as_ref()
    }

    pub(crate) fn operators(&self) -> &Operators {
        &self.0.operators
    }

    pub(crate) fn public_url(&self) -> Option<&Url> {
        self.0.public_url.as_ref()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// What it runs with.
    pub(crate) fn settings(&self) -> &SettingList {
        &self.0.settings
    }

    /// Where it is examined, if there is somebody who can.
    pub(crate) fn surgery(&self) -> Option<&Surgery> {
        self.0.surgery.as_ref()
    }

    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.0.stopping.subscribe()
    }
}

/// Serves until `shutdown` is done, then lets what has begun finish within the door's drain time.
pub async fn serve(
    listener: TcpListener,
    app: App,
    router: Router,
    door: redrive_door::Limits,
    shutdown: impl Future<Output = ()>,
) {
    let tasks = app.start();
    let stop = async {
        shutdown.await;
        app.stop();
    };
    let relays = app.limits().trusted_proxies.clone();
    let is_relay = |address: IpAddr| relays.iter().any(|net| net.contains(&address));
    redrive_door::serve_behind(listener, router, door, is_relay, stop).await;
    drop(tasks);
}
