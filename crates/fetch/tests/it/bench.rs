//! A store, a folder, an engine that fetches, and short forms.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use redrive_blob::{Blobs, BlobsExt, Folder, Sha256};
use redrive_engine::model::backoff::Backoff;
use redrive_engine::model::breaker::Config;
use redrive_engine::model::{JobId, Policy, State, Target};
use redrive_engine::store::{AttemptRow, JobRow, Store};
use redrive_engine::{Code, Engine, Options, Running};
use redrive_fetch::{
    DownloadOptions, Downloads, Fetch, FetchOptions, GuardOptions, Made, Place, Places, Resource,
};

pub(crate) struct Bench {
    pub(crate) engine: Engine,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) place: Arc<Folder>,
    pub(crate) home: tempfile::TempDir,
}

/// Limits for tests: loopback is allowed, time is short, and every byte is worth keeping.
pub(crate) fn quick() -> DownloadOptions {
    DownloadOptions {
        guard: GuardOptions { allow_private: true, ports: Vec::new() },
        connect_timeout: Duration::from_secs(2),
        answer_timeout: Duration::from_millis(300),
        deadline: Duration::from_secs(20),
        slow_after: Duration::from_millis(500),
        min_speed: 100,
        max_bytes: 4 << 20,
        keep_from: 1,
        ..DownloadOptions::default()
    }
}

impl Bench {
    pub(crate) async fn new() -> Self {
        let store: Arc<dyn Store> = Arc::new(redrive_store_sqlite::Options::default().in_memory().unwrap());
        Self::on(store).await
    }

    /// No breaker opens: what is told here is what each download does on its own.
    pub(crate) async fn on(store: Arc<dyn Store>) -> Self {
        Self::on_by(store, Config { consecutive: 0, min_calls: u32::MAX, ..Config::default() }).await
    }

    /// Breakers open by the usual rules; what is held is looked at again after this time.
    pub(crate) async fn with_breakers(cooldown: Duration) -> Self {
        let store: Arc<dyn Store> = Arc::new(redrive_store_sqlite::Options::default().in_memory().unwrap());
        Self::on_by(store, Config { cooldown, ..Config::default() }).await
    }

    async fn on_by(store: Arc<dyn Store>, config: Config) -> Self {
        let home = tempfile::tempdir().unwrap();
        let options = Options {
            poll: Duration::from_millis(50),
            drain: Duration::ZERO,
            breaker: Arc::new(move |_| config.clone()),
            ..Options::default()
        };
        Self {
            engine: Engine::new(store.clone(), options).await.unwrap(),
            store,
            place: Arc::new(Folder::open(home.path().join("fetched")).await.unwrap()),
            home,
        }
    }

    pub(crate) fn workload(&self, options: DownloadOptions) -> Fetch {
        self.workload_on(options, self.place.clone(), "disk")
    }

    pub(crate) fn workload_on(&self, options: DownloadOptions, blobs: Arc<dyn Blobs>, target: &str) -> Fetch {
        let soon = |policy| Policy { backoff: Backoff::none(), ..policy };
        self.workload_as(options, soon, blobs, target)
    }

    /// With another policy than one that never waits.
    pub(crate) fn workload_by(&self, options: DownloadOptions, by: impl FnOnce(Policy) -> Policy) -> Fetch {
        self.workload_as(options, by, self.place.clone(), "disk")
    }

    /// With other limits than the same for all together and for one host.
    pub(crate) fn workload_for(
        &self,
        options: DownloadOptions,
        concurrency: usize,
        per_host: usize,
    ) -> Fetch {
        let soon = |policy| Policy { backoff: Backoff::none(), ..policy };
        self.workload_of(options, soon, self.place.clone(), "disk", (concurrency, per_host))
    }

    fn workload_as(
        &self,
        options: DownloadOptions,
        by: impl FnOnce(Policy) -> Policy,
        blobs: Arc<dyn Blobs>,
        target: &str,
    ) -> Fetch {
        self.workload_of(options, by, blobs, target, (16, 16))
    }

    fn workload_of(
        &self,
        options: DownloadOptions,
        by: impl FnOnce(Policy) -> Policy,
        blobs: Arc<dyn Blobs>,
        target: &str,
        (concurrency, per_host): (usize, usize),
    ) -> Fetch {
        let downloads = Downloads::new(options).unwrap();
        let policy = by(FetchOptions::policy(&downloads, 3, 3));
        let usual = Place { blobs, target: Target::new(target).unwrap() };
        let places = Places { usual, listed: BTreeMap::new() };
        Fetch::new(downloads, places, FetchOptions { policy, concurrency, per_host })
    }

    pub(crate) fn start(&self) -> Running {
        self.start_with(quick())
    }

    pub(crate) fn start_with(&self, options: DownloadOptions) -> Running {
        self.engine.register(self.workload(options));
        self.engine.start()
    }

    pub(crate) async fn enqueue(&self, resource: &Resource) -> JobId {
        self.engine.enqueue(resource).await.unwrap()
    }

    pub(crate) async fn fetch(&self, url: &str) -> JobRow {
        self.ended(self.enqueue(&resource(url)).await).await
    }

    /// Fetches all of these at once, and all of them must come.
    pub(crate) async fn fetch_all(&self, urls: impl IntoIterator<Item = String>) {
        let mut ids = Vec::new();
        for url in urls {
            ids.push(self.enqueue(&resource(&url)).await);
        }
        for id in ids {
            assert_eq!(self.ended(id).await.state, State::Complete);
        }
    }

    pub(crate) async fn ended(&self, id: JobId) -> JobRow {
        let waiting = self.engine.job_ended(id);
        tokio::time::timeout(Duration::from_secs(60), waiting)
            .await
            .expect("it never ended")
            .unwrap()
            .unwrap()
    }

    /// Fetches something that must come to nothing: the code, and how many attempts it took.
    pub(crate) async fn fails(&self, resource: &Resource) -> (Code, Vec<AttemptRow>) {
        let row = self.ended(self.enqueue(resource).await).await;
        assert_eq!(row.state, State::Failed, "{row:#?}");
        let attempts = self.engine.attempts(row.id).await.unwrap();
        (attempts.last().unwrap().code.unwrap(), attempts)
    }

    /// What the row refers to, checked against the file.
    pub(crate) async fn stored(&self, row: &JobRow) -> (Made, Vec<u8>) {
        assert_eq!(row.state, State::Complete, "{row:#?} {:#?}", self.engine.attempts(row.id).await.unwrap());
        let made = Made::parse(row.result.as_deref().unwrap()).unwrap();
        let bytes = std::fs::read(self.home.path().join("fetched").join(&made.key)).unwrap();
        assert_eq!((made.sha256, made.bytes), (Sha256::of(&bytes), bytes.len() as u64));
        (made, bytes)
    }

    /// Where the breaker of a target is; closed where it has none.
    pub(crate) async fn breaker(&self, target: &str) -> &'static str {
        let row = self.store.breaker(&Target::new(target).unwrap()).await.unwrap();
        row.map_or("closed", |row| row.breaker.phase_name())
    }

    pub(crate) async fn keys(&self) -> usize {
        self.place.keys(None).await.unwrap().len()
    }

    /// Uploads that are on their way, or were left to be gone on with.
    pub(crate) fn temps(&self) -> usize {
        files_below(&self.home.path().join("fetched/.redrive-temp"))
    }
}

fn files_below(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| if entry.file_type().unwrap().is_dir() { files_below(&entry.path()) } else { 1 })
        .sum()
}

/// A resource of a manifest of its own.
pub(crate) fn resource(url: &str) -> Resource {
    Resource {
        manifest: "manifests/1".into(),
        id: url.to_owned(),
        url: url.to_owned(),
        headers: BTreeMap::new(),
        sha256: None,
        tags: BTreeMap::new(),
        place: None,
        bucket: None,
        prefix: "batch".into(),
        shared: false,
        proxy_pool: None,
    }
}

/// Bytes that do not repeat.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut x = 0x2545_f491_4f6c_dd1du64;
    let byte = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 32) as u8
    };
    std::iter::repeat_with(byte).take(length).collect()
}

/// What an attempt tells beside its message.
pub(crate) fn context(attempt: &AttemptRow) -> serde_json::Value {
    serde_json::from_str(attempt.context.as_deref().unwrap()).unwrap()
}

/// The target of an address.
pub(crate) fn host(at: std::net::SocketAddr) -> String {
    format!("host:{at}")
}

/// Waits for a fact.
pub(crate) async fn until(mut fact: impl FnMut() -> bool) {
    until_so(async || fact()).await;
}

/// Waits for a fact that somebody has to be asked for.
pub(crate) async fn until_so(mut fact: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !fact().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waiting).await.expect("it never came true");
}
