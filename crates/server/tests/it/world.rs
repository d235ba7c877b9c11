//! A whole server in a folder of its own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use redrive_blob::{Blobs, Folder};
use redrive_convert::{Convert, ConvertOptions, Gateway, GatewayOptions};
use redrive_engine::{Engine, JobId, Options, Policy};
use redrive_fetch::{
    Canceller, Destinations, ManifestLimits, ManifestOptions, Manifests, Place, Places, Unpacker,
};
use redrive_intake::digest::{DigestOptions, Digests, Post};
use redrive_model::backoff::Backoff;
use redrive_model::breaker::Mode;
use redrive_server::{App, AppParts, DoorLimits, FetchParts, IntakeParts, Limits, Operators, SettingsParts};
use redrive_store::intake::IntakeStore;
use redrive_store_sqlite::SqliteStore;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use url::Url;

use crate::client::Client;
use crate::gateway::FakeGateway;
use crate::place::Watched;

/// The folder of people, as its rows name it.
pub(crate) const ROOT: &str = "file:///srv/intake";
/// Two mappings, the first is the default.
pub(crate) const MAPPINGS: &str = r#"[{"name":"text","title":"Text"},{"name":"alto","title":"ALTO"}]"#;

/// A PDF as small as they come.
pub(crate) const PDF: &[u8] = b"%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<</Root 1 0 R>>\nstartxref\n9\n%%EOF\n";

/// A PDF that is like no other.
pub(crate) fn pdf(n: u32) -> Vec<u8> {
    [format!("%PDF-1.4\n% {n}\n").as_bytes(), PDF].concat()
}

/// One that is too large to be held in memory on its way.
pub(crate) fn large_pdf() -> Vec<u8> {
    [b"%PDF-1.4\n", &[b' '; 300 << 10][..], PDF].concat()
}

/// The operators' token of every world.
pub(crate) const TOKEN: &str = "token-of-the-operators";

/// What a test may change.
pub(crate) struct Setup {
    pub(crate) limits: Limits,
    pub(crate) door: DoorLimits,
    pub(crate) public_url: Option<&'static str>,
    pub(crate) mappings: Option<&'static str>,
    pub(crate) works: bool,
    pub(crate) has_gateway: bool,
    pub(crate) fetches: bool,
    pub(crate) has_intake: bool,
    pub(crate) pools: Arc<redrive_fetch::Pools>,
    pub(crate) manifest_limits: ManifestLimits,
    pub(crate) manifest_seam: Arc<dyn redrive_blob::Seam>,
    pub(crate) settings: SettingsParts,
}

/// The server and everything behind it.
pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) engine: Engine,
    pub(crate) gateway: FakeGateway,
    pub(crate) url: String,
    pub(crate) app: App,
    pub(crate) operators: Operators,
    pub(crate) documents: Arc<dyn IntakeStore>,
    pub(crate) sources: Arc<Watched>,
    pub(crate) fetched: Arc<Watched>,
    running: Option<redrive_engine::Running>,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<tokio::task::JoinHandle<()>>,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Setup)) -> Self {
        let mut setup = Setup {
            limits: Limits { stream_poll: Duration::from_millis(10), ..Limits::default() },
            door: DoorLimits::default(),
            public_url: None,
            mappings: Some(MAPPINGS),
            works: true,
            has_gateway: true,
            fetches: true,
            has_intake: true,
            pools: Arc::default(),
            manifest_limits: ManifestLimits::default(),
            manifest_seam: Arc::new(redrive_blob::Seamless),
            settings: crate::settings::healthy(),
        };
        change(&mut setup);
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(folder.path().join("redrive.db")).await.unwrap());
        let documents: Arc<dyn IntakeStore> = store.clone();
        let place = Watched::new(Folder::open(folder.path().join("uploads")).await.unwrap());
        let sources: Arc<dyn Blobs> = place.clone();
        let results: Arc<dyn Blobs> = Arc::new(Folder::open(folder.path().join("results")).await.unwrap());
        let fake = FakeGateway::start(setup.mappings).await;
        let gateway = Gateway::new(GatewayOptions {
            url: Url::parse(&format!("http://{}/", fake.address)).unwrap(),
            timeout: Duration::from_secs(30),
            max_response: 64 << 20,
        })
        .unwrap();
        // A worker hears a wish with its heartbeat, which comes four times in a lease.
        let options = Options { lease_ttl: Duration::from_secs(20), ..Options::default() };
        let engine = Engine::new(store, options).await.unwrap();
        let policy = Policy { backoff: Backoff::none(), ..Policy::reliability() };
        let options = ConvertOptions { policy, concurrency: 4, max_result: 64 << 20 };
        engine.register(Convert::new(gateway.clone(), sources.clone(), results.clone(), options));
        let manifests: Arc<dyn Blobs> =
            Arc::new(Folder::open_with(folder.path().join("manifests"), setup.manifest_seam).await.unwrap());
        let fetched_to = Watched::new(Folder::open(folder.path().join("fetched")).await.unwrap());
        let fetched: Arc<dyn Blobs> = fetched_to.clone();
        engine.register(Unpacker::new(engine.store().clone(), manifests.clone()));
        engine.register(Canceller::new(engine.store().clone(), manifests.clone()));
        engine.register(redrive_fetch::Starter::new(engine.store().clone()));
        engine.register(crate::fetch::Pretends { to: fetched.clone() });
        let fetch = setup.fetches.then(|| {
            let to = redrive_blob::Location::Folder(folder.path().join("fetched"));
            let options = ManifestOptions {
                limits: setup.manifest_limits,
                pools: ["asia", "eu", "us"]
                    .iter()
                    .filter(|name| setup.pools.has(name))
                    .map(ToString::to_string)
                    .collect(),
                ..ManifestOptions::new(Destinations::new(to, BTreeMap::new()))
            };
            let usual = Place { blobs: fetched, target: redrive_model::Target::new("disk").unwrap() };
            FetchParts {
                manifests: Manifests::new(engine.clone(), manifests, options),
                places: Places { usual, listed: BTreeMap::new() },
                pools: setup.pools,
            }
        });
        let reports: Arc<dyn Blobs> = Arc::new(Folder::open(folder.path().join("intake")).await.unwrap());
        let lying = reports.clone();
        let digests = setup.has_intake.then(|| {
            let options = DigestOptions {
                zone: jiff::tz::TimeZone::UTC,
                base_url: None,
                post: Post::Files(reports),
                policy: DigestOptions::policy(),
            };
            let digests = Digests::new(engine.clone(), documents.clone(), options);
            digests.handle();
            digests
        });
        let intake = setup.has_intake.then(|| IntakeParts {
            store: documents.clone(),
            place: lying,
            root: ROOT.to_owned(),
            max_retries: 3,
            max_in_flight: 10,
            interval: Duration::from_secs(120),
        });
        let (operators, made) = Operators::open(&engine, Some(TOKEN)).await.unwrap();
        assert_eq!(made, None, "it was given");
        let running = setup.works.then(|| engine.start());
        let app = App::new(AppParts {
            engine: engine.clone(),
            home: vec![folder.path().to_owned()],
            sources,
            results,
            gateway: setup.has_gateway.then_some(gateway),
            fetch,
            digests,
            intake,
            breaker_mode: Mode::Hold,
            operators: operators.clone(),
            public_url: setup.public_url.map(|url| Url::parse(url).unwrap()),
            limits: setup.limits,
            settings: setup.settings,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn({
            let app = app.clone();
            let stopped = async move { drop(stopped.await) };
            async move { redrive_server::serve(listener, app.clone(), app.router(), setup.door, stopped).await }
        });
        let world = Self {
            folder,
            engine,
            gateway: fake,
            url,
            app,
            operators,
            documents,
            sources: place,
            fetched: fetched_to,
            running,
            stop: Some(stop),
            serving: Some(serving),
        };
        if setup.mappings.is_some() && setup.has_gateway {
            world.mappings_known().await;
        }
        world
    }

    /// Somebody with no session yet.
    pub(crate) fn client(&self) -> Client {
        Client::new(&self.url)
    }

    /// Somebody with the operators' token.
    pub(crate) fn operator(&self) -> Client {
        Client::new(&self.url).with_token(TOKEN)
    }

    /// Uploads for this client and waits until the job has ended.
    pub(crate) async fn converted(&self, client: &mut Client, name: &str, bytes: &[u8]) -> String {
        let answer = client.upload(name, bytes, None).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        let id = answer.job_id();
        self.ended(&id).await;
        id
    }

    /// Waits until a job has ended.
    pub(crate) async fn ended(&self, id: &str) {
        let id: JobId = id.parse().unwrap();
        self.engine.job_ended(id).await.unwrap().unwrap();
    }

    async fn mappings_known(&self) {
        let mut client = self.client();
        while client.get("/api/status").await.json()["gateway"] != "known" {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Has the workers end what they do: from now on nothing happens by itself.
    pub(crate) async fn rest(&mut self) {
        if let Some(running) = self.running.take() {
            running.drain().await;
        }
    }

    /// Files below a folder of ours, whatever the depth.
    pub(crate) fn files(&self, under: &str) -> Vec<std::path::PathBuf> {
        let (mut files, mut folders) = (Vec::new(), vec![self.folder.path().join(under)]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { files.push(path) }
            }
        }
        files
    }

    /// Stops the server and waits for it.
    pub(crate) async fn stop(&mut self) {
        drop(self.stop.take());
        self.serving.take().unwrap().await.unwrap();
    }
}

/// Asks until there is an answer.
pub(crate) async fn eventually<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = ask().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), found).await.expect("it never came")
}
