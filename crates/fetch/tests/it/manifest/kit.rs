//! A store, a folder for manifests, and a workload that only pretends to fetch.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, TryStreamExt, stream};
use redrive_blob::{Blobs, Folder, Seam, Sha256};
use redrive_engine::model::BatchState;
use redrive_engine::store::{BatchRow, Store};
use redrive_engine::{BatchId, Code, Context, Done, Engine, Failure, Options, Owner, Policy, Workload};
use redrive_fetch::{
    AcceptError, Accepted, Canceller, Destinations, Format, Handing, Made, ManifestLimits, ManifestOptions,
    Manifests, Resource, Shape, Unpacker,
};

pub(crate) const JSON: Shape = Shape { format: Format::Json, gzip: false };
pub(crate) const NDJSON: Shape = Shape { format: Format::Ndjson, gzip: false };

/// Everything that a test of manifests needs.
pub(crate) struct Kit {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) engine: Engine,
    pub(crate) blobs: Arc<Folder>,
    pub(crate) manifests: Manifests,
    pub(crate) home: tempfile::TempDir,
}

/// SQLite in memory, and Postgres where the test script says that there is one.
pub(crate) async fn stores() -> Vec<Arc<dyn Store>> {
    let sqlite = redrive_store_sqlite::Options::default().in_memory().unwrap();
    let mut stores: Vec<Arc<dyn Store>> = vec![Arc::new(sqlite)];
    if let Some(url) = setting("REDRIVE_TEST_POSTGRES") {
        static NTH: AtomicUsize = AtomicUsize::new(0);
        let schema = format!("manifest_{}_{}", once(), NTH.fetch_add(1, Ordering::SeqCst));
        let postgres = redrive_store_postgres::Options::default().schema(&schema).unwrap().open(&url).await;
        stores.push(Arc::new(postgres.unwrap()));
    }
    stores
}

#[expect(clippy::disallowed_methods, reason = "the test script says here where its servers are")]
pub(crate) fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

pub(crate) fn numbers() -> Options {
    Options {
        lease_ttl: Duration::from_millis(800),
        sweep: Duration::from_millis(100),
        poll: Duration::from_millis(50),
        drain: Duration::from_millis(500),
        ..Options::default()
    }
}

impl Kit {
    pub(crate) async fn new() -> Self {
        Self::on(stores().await.remove(0)).await
    }

    pub(crate) async fn on(store: Arc<dyn Store>) -> Self {
        Self::with(store, Arc::new(redrive_blob::Seamless), |_| {}).await
    }

    /// What is more than so many resources is unpacked by a job.
    pub(crate) async fn holding(store: Arc<dyn Store>, most: usize) -> Self {
        Self::with(store, Arc::new(redrive_blob::Seamless), |options| options.limits.held_resources = most)
            .await
    }

    pub(crate) async fn with(
        store: Arc<dyn Store>,
        seam: Arc<dyn Seam>,
        change: impl FnOnce(&mut ManifestOptions),
    ) -> Self {
        let home = tempfile::tempdir().unwrap();
        let blobs = Arc::new(Folder::open_with(home.path().join("manifests"), seam).await.unwrap());
        let engine = Engine::new(store.clone(), numbers()).await.unwrap();
        let destinations = Destinations::new("/srv/fetched".parse().unwrap(), BTreeMap::new());
        let mut options = ManifestOptions::new(destinations);
        options.pools.insert("eu".into());
        options.first_wait = Duration::from_millis(1);
        change(&mut options);
        let manifests = Manifests::new(engine.clone(), blobs.clone(), options);
        Self { store, engine, blobs, manifests, home }
    }

    /// Registers the jobs of manifests and a workload that only pretends.
    pub(crate) fn register(&self) {
        self.register_on(&self.engine);
    }

    pub(crate) fn register_on(&self, engine: &Engine) {
        engine.register(Unpacker::new(self.store.clone(), self.blobs.clone()).chunks_of(100));
        engine.register(Canceller::new(self.store.clone(), self.blobs.clone()));
        engine.register(Pretends);
    }

    pub(crate) async fn accept(
        &self,
        text: &str,
        shape: Shape,
        how: Handing,
    ) -> Result<Accepted, AcceptError<Infallible>> {
        self.manifests.accept(pieces(text.as_bytes(), 1_000), shape, how).await
    }

    pub(crate) async fn row(&self, batch: BatchId) -> BatchRow {
        self.manifests.batch(batch).await.unwrap().unwrap()
    }

    pub(crate) async fn ended(&self, batch: BatchId) -> BatchRow {
        eventually(async || Some(self.row(batch).await).filter(|row| row.state != BatchState::Processing))
            .await
    }

    /// The manifests that are kept.
    pub(crate) async fn kept(&self) -> usize {
        self.blobs.list(None).try_collect::<Vec<_>>().await.unwrap().len()
    }

    /// Uploads that are on their way, or were left behind.
    pub(crate) fn temps(&self) -> usize {
        let (mut files, mut folders) = (0, vec![self.home.path().join("manifests/.redrive-temp")]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                if entry.path().is_dir() { folders.push(entry.path()) } else { files += 1 }
            }
        }
        files
    }

    /// What is missing, as text.
    pub(crate) async fn missing(&self, batch: BatchId, format: Option<Format>) -> String {
        let missing = self.manifests.missing(&self.row(batch).await, format).await;
        let bytes: Vec<Bytes> = missing.bytes.try_collect().await.unwrap();
        String::from_utf8(bytes.concat()).unwrap()
    }

    /// The ids of what is missing, sorted.
    pub(crate) async fn missing_ids(&self, batch: BatchId) -> Vec<String> {
        let text = self.missing(batch, Some(Format::Ndjson)).await;
        let id = |line: &str| {
            let json: serde_json::Value = serde_json::from_str(line).unwrap();
            json["id"].as_str().unwrap().to_owned()
        };
        let mut ids: Vec<String> = text.lines().skip(1).map(id).collect();
        ids.sort();
        ids
    }
}

/// A body as it comes from a socket.
pub(crate) fn pieces(
    bytes: &[u8],
    size: usize,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + use<> {
    let pieces: Vec<_> = bytes.chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    stream::iter(pieces)
}

/// So many lines; every tenth is called no.
pub(crate) fn lines(count: usize) -> String {
    let line = |n: usize| {
        let name = if n % 10 == 9 { "no" } else { "yes" };
        format!("{{\"id\":\"{name}-{n}\",\"url\":\"https://origin-{}.example/{n}\"}}\n", n % 3)
    };
    (0..count).map(line).collect()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

pub(crate) fn ann() -> Owner {
    Owner::new("ann").unwrap()
}

pub(crate) fn of_ann(key: Option<&str>) -> Handing {
    Handing { owner: Some(ann()), idempotency_key: key.map(str::to_owned), batch: None }
}

pub(crate) fn tight(options: &mut ManifestOptions, limits: ManifestLimits) {
    options.limits = limits;
}

/// What is called no fails for good, `slow` waits until it is told to stop, everything else is stored.
pub(crate) struct Pretends;

impl Workload for Pretends {
    type Input = Resource;

    fn policy(&self) -> Policy {
        Policy::reliability()
    }

    fn concurrency(&self) -> usize {
        64
    }

    async fn run(&self, ctx: Context, resource: Resource) -> Result<Done, Failure> {
        if resource.id.starts_with("slow") {
            ctx.cancelled().await;
        }
        if resource.id.starts_with("no") {
            let failure = Failure::new(Code::DownloadHttp4xx, format!("GET {}: 404", resource.url));
            let mut failure = failure.with("attempt", ctx.attempt()).with("proxy", serde_json::Value::Null);
            if resource.id.contains("behind") {
                failure = failure.with("hop", 1).with("host", "cdn.example:443");
            }
            return Err(failure.with("status", 404).status(404));
        }
        stored(&ctx, &resource);
        Ok(Done::Complete)
    }
}

/// Stores everything: what was wrong is mended.
pub(crate) struct Mends;

impl Workload for Mends {
    type Input = Resource;

    async fn run(&self, ctx: Context, resource: Resource) -> Result<Done, Failure> {
        stored(&ctx, &resource);
        Ok(Done::Complete)
    }
}

fn stored(ctx: &Context, resource: &Resource) {
    let made = Made {
        place: None,
        key: format!("{}/{}", resource.prefix, resource.id),
        bytes: 10,
        sha256: Sha256::of(resource.id.as_bytes()),
        content_type: Some("image/jpeg".into()),
        content_encoding: None,
        status: 200,
        tags: Default::default(),
    };
    ctx.set_result(made.reference());
    ctx.set_result_bytes(made.bytes);
}

/// Asks until there is an answer.
pub(crate) async fn eventually<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), asking).await.expect("it did not come")
}

/// A word that no process had before: numbers of processes come again, and soon.
fn once() -> String {
    format!("{}_{}", std::process::id(), std::time::UNIX_EPOCH.elapsed().unwrap().as_micros())
}
