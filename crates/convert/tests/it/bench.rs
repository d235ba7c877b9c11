//! A store, two folders, an engine that converts, and a client that hands PDFs in as the upload does.

use std::sync::Arc;
use std::time::Duration;

use redrive_blob::{Blobs, BlobsExt, Folder};
use redrive_convert::{Convert, ConvertOptions, Gateway, GatewayOptions, Made, Pdf, source_key};
use redrive_engine::model::backoff::Backoff;
use redrive_engine::model::{JobId, Policy};
use redrive_engine::store::clock::{Clock, ManualClock, SystemClock};
use redrive_engine::store::{JobRow, Store};
use redrive_engine::{Engine, Enqueue, Options, Running, Workload};
use url::Url;

pub(crate) const PDF: &[u8] = b"%PDF-1.7 not really, but nobody here reads it\n%%EOF\n";

pub(crate) struct Bench {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) sources: Arc<Folder>,
    pub(crate) results: Arc<Folder>,
    pub(crate) engine: Engine,
    clock: Option<ManualClock>,
    home: tempfile::TempDir,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        Self::on(redrive_store_sqlite::Options::default(), None).await
    }

    /// One whose time is moved by hand.
    pub(crate) async fn with_clock(clock: ManualClock) -> Self {
        Self::on(redrive_store_sqlite::Options::default().clock(clock.clone()), Some(clock)).await
    }

    async fn on(options: redrive_store_sqlite::Options, clock: Option<ManualClock>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(options.in_memory().unwrap());
        let quick =
            Options { poll: Duration::from_millis(50), drain: Duration::from_secs(1), ..Options::default() };
        Self {
            engine: Engine::new(store.clone(), quick).await.unwrap(),
            store,
            sources: Arc::new(Folder::open(home.path().join("uploads")).await.unwrap()),
            results: Arc::new(Folder::open(home.path().join("results")).await.unwrap()),
            clock,
            home,
        }
    }

    pub(crate) fn workload(&self, gateway: &Url) -> Convert {
        self.workload_on(gateway, self.results.clone())
    }

    /// One whose results go to another place.
    pub(crate) fn workload_on(&self, gateway: &Url, results: Arc<dyn Blobs>) -> Convert {
        let options = GatewayOptions {
            url: gateway.clone(),
            timeout: Duration::from_millis(700),
            max_response: 1 << 20,
        };
        let policy = Policy { max_attempts: Some(3), backoff: Backoff::none(), ..Policy::on_demand() };
        let how = ConvertOptions { policy, concurrency: 4, max_result: 1 << 20 };
        Convert::new(Gateway::new(options).unwrap(), self.sources.clone(), results, how)
    }

    pub(crate) fn start(&self, workload: impl Workload) -> Running {
        self.engine.register(workload);
        self.engine.start()
    }

    /// As the upload does it: the file first, then the row.
    pub(crate) async fn upload(&self, name: &str) -> JobId {
        let draw = Sha::of(name);
        let now = self.clock.as_ref().map_or_else(|| SystemClock.now(), |clock| clock.now());
        let id = JobId::from_parts(now, draw);
        let key = source_key(id).unwrap();
        let bytes = [PDF, name.as_bytes()].concat();
        let stored = self.sources.put_bytes(&key, bytes.into()).await.unwrap();
        let pdf = Pdf {
            source: key.as_str().to_owned(),
            sha256: stored.sha256.to_string(),
            bytes: stored.bytes,
            filename: format!("{name}.pdf"),
            mapping: "text".into(),
        };
        self.engine.enqueue_with(&pdf, Enqueue::default().id(id)).await.unwrap().job()
    }

    pub(crate) async fn ended(&self, id: JobId) -> JobRow {
        let waiting = self.engine.job_ended(id);
        tokio::time::timeout(Duration::from_secs(30), waiting)
            .await
            .expect("it never ended")
            .unwrap()
            .unwrap()
    }

    /// What the row refers to, and the file.
    pub(crate) async fn result(&self, row: &JobRow) -> (Made, String) {
        let made = Made::parse(row.result.as_deref().unwrap()).unwrap();
        let path = self.home.path().join("results").join(&made.key);
        (made, std::fs::read_to_string(path).unwrap())
    }

    /// Everything that lies among the results.
    pub(crate) async fn results(&self) -> Vec<String> {
        keys(&*self.results).await
    }

    pub(crate) async fn sources(&self) -> Vec<String> {
        keys(&*self.sources).await
    }

    pub(crate) fn home(&self) -> &std::path::Path {
        self.home.path()
    }
}

async fn keys(place: &dyn Blobs) -> Vec<String> {
    let mut keys: Vec<String> =
        place.keys(None).await.unwrap().iter().map(|key| key.as_str().to_owned()).collect();
    keys.sort();
    keys
}

/// Ten bytes of a name.
struct Sha;

impl Sha {
    fn of(name: &str) -> [u8; 10] {
        let hash = redrive_blob::Sha256::of(name.as_bytes());
        hash.as_bytes()[..10].try_into().unwrap()
    }
}
