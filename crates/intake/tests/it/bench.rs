//! A folder or a bucket of people, a store, and an engine that does everything intake does.
//!
//! The store is SQLite in memory, or Postgres where `REDRIVE_TEST_ENGINE_ON` says so.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redrive_blob::S3Settings;
use redrive_blob::room::Places;
use redrive_blob::shelf::{BucketShelf, FolderShelf, Shelf};
use redrive_engine::model::backoff::Backoff;
use redrive_engine::store::intake::{
    DocumentFilter, DocumentRow, FailureRecord, IntakeStore, RecordFilter, Stage,
};
use redrive_engine::store::{JobFilter, PageRequest, Store};
use redrive_engine::{Engine, JobId, Options, Policy, Running, WorkloadName};
use redrive_gateway_client::{Gateway, GatewayOptions};
use redrive_intake::{Analyst, Cleaner, Command, Intake, IntakeOptions, Mover, Queue, QueueOptions};
use url::Url;

use crate::bucket;

pub(crate) const PDF: &[u8] = b"%PDF-1.7 not really, but nobody here reads it\n%%EOF\n";
const PAGE: PageRequest = PageRequest { limit: 100, cursor: None };

pub(crate) struct Bench {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) intake: Arc<dyn IntakeStore>,
    pub(crate) mover: Mover,
    pub(crate) engine: Engine,
    /// Between two runs of a document.
    pub(crate) wait: Duration,
    pub(crate) pages_per_part: u32,
    pub(crate) mapping: Option<String>,
    pub(crate) command: Option<Command>,
    /// Between two looks.
    pub(crate) interval: Duration,
    /// What is needed to process a document.
    pub(crate) targets: Vec<String>,
    /// Free bytes that must be there.
    pub(crate) reserve: u64,
    gateway: Gateway,
    /// Where the files of people are; also those of a bucket, whose server keeps each object as a file.
    files: PathBuf,
    _home: tempfile::TempDir,
}

/// What people's files lie in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    Folder,
    Bucket,
}

/// Numbers for those who do not wait long.
pub(crate) fn quick() -> Options {
    Options { poll: Duration::from_millis(50), drain: Duration::from_secs(1), ..Options::default() }
}

async fn stores() -> (Arc<dyn Store>, Arc<dyn IntakeStore>) {
    if setting("REDRIVE_TEST_ENGINE_ON").as_deref() != Some("postgres") {
        let sqlite = Arc::new(redrive_store_sqlite::Options::default().in_memory().unwrap());
        return (sqlite.clone(), sqlite);
    }
    let url = setting("REDRIVE_TEST_POSTGRES").expect("REDRIVE_TEST_POSTGRES is not set: run ./test");
    static NTH: AtomicUsize = AtomicUsize::new(0);
    let schema = format!("intake_{}_{}", once(), NTH.fetch_add(1, Ordering::SeqCst));
    let postgres = redrive_store_postgres::Options::default().schema(&schema).unwrap().open(&url).await;
    let postgres = Arc::new(postgres.unwrap());
    (postgres.clone(), postgres)
}

#[expect(clippy::disallowed_methods, reason = "the test script says here where its servers are")]
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Bench {
    pub(crate) async fn new(gateway: &Url) -> Self {
        Self::on(On::Folder, gateway).await
    }

    pub(crate) async fn on(on: On, gateway: &Url) -> Self {
        let home = tempfile::tempdir().unwrap();
        let (store, intake) = stores().await;
        let engine = Engine::new(store.clone(), quick()).await.unwrap();
        let files = home.path().join("s3/bucket");
        std::fs::create_dir_all(&files).unwrap();
        let shelf: Arc<dyn Shelf> = match on {
            On::Folder => Arc::new(FolderShelf::open(&files).await.unwrap()),
            On::Bucket => {
                let vars = bucket::serve(&home.path().join("s3")).await;
                let settings = S3Settings::new("bucket", None, home.path().join("spool")).with_vars(vars);
                Arc::new(BucketShelf::open(settings).await.unwrap())
            }
        };
        let mover = Mover::new(shelf, intake.clone());
        let options =
            GatewayOptions { url: gateway.clone(), timeout: Duration::from_secs(30), max_response: 64 << 20 };
        Self {
            store,
            intake,
            mover,
            engine,
            wait: Duration::from_millis(50),
            pages_per_part: 50,
            mapping: None,
            command: None,
            interval: Duration::from_millis(200),
            targets: Vec::new(),
            reserve: 0,
            gateway: Gateway::new(options).unwrap(),
            files,
            _home: home,
        }
    }

    /// One that works.
    pub(crate) async fn started(gateway: &Url) -> (Self, Running) {
        let bench = Self::new(gateway).await;
        let running = bench.start().await;
        (bench, running)
    }

    fn policy(&self) -> Policy {
        let backoff = Backoff::reliability_with(self.wait, Duration::ZERO);
        Policy { backoff, retry_all: true, ..Policy::reliability().with_max_retries(3) }
    }

    pub(crate) async fn start(&self) -> Running {
        let options = IntakeOptions {
            policy: self.policy(),
            concurrency: 4,
            mapping: self.mapping.clone(),
            max_result: 64 << 20,
            pages_per_part: self.pages_per_part,
            command: self.command.clone(),
        };
        let (engine, mover, gateway) = (self.engine.clone(), self.mover.clone(), self.gateway.clone());
        let intake = Intake::new(engine.clone(), mover.clone(), gateway.clone(), options);
        engine.register(intake.parts());
        engine.register(intake);
        engine.register(Analyst::new(self.store.clone(), mover.clone(), gateway, self.policy()));
        engine.projector("intake.cleaner", Cleaner::new(engine.clone(), mover.clone())).await.unwrap();
        let queue = QueueOptions {
            interval: self.interval,
            max_in_flight: 10,
            settle: Duration::ZERO,
            targets: self.targets.clone(),
            patience: Duration::from_millis(500),
            room: Places::default().folders(std::slice::from_ref(&self.files)),
            reserve: self.reserve,
        };
        engine.permanent("intake.queue", Queue::new(engine.clone(), mover, queue)).await.unwrap();
        engine.start()
    }

    /// The job of the queue processor.
    pub(crate) async fn queue(&self) -> JobId {
        let workload = Some(WorkloadName::new("intake.queue").unwrap());
        let filter = JobFilter { workload, ..JobFilter::default() };
        self.store.jobs(filter, PAGE).await.unwrap().rows[0].id
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.files.join(path)
    }

    /// As people do it.
    pub(crate) fn put(&self, path: &str, bytes: &[u8]) {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// All files, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        fn walk(folder: &Path, home: &Path, into: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    walk(&path, home, into);
                } else if let Ok(name) = path.strip_prefix(home) {
                    into.push(name.to_str().unwrap().to_owned());
                }
            }
        }
        let mut files = Vec::new();
        walk(&self.files, &self.files, &mut files);
        files.retain(|name| !name.starts_with('.'));
        files.sort();
        files
    }

    /// Waits until something is so.
    pub(crate) async fn until(&self, what: &str, so: impl AsyncFn(&Self) -> bool) {
        let waiting = async {
            while !so(self).await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(60), waiting).await.is_err() {
            panic!("never: {what}\n{:#?}\n{:#?}", self.files(), self.documents().await);
        }
    }

    pub(crate) async fn until_file(&self, path: &str) {
        self.until(path, async |bench| bench.at(path).is_file()).await;
    }

    pub(crate) async fn until_stage(&self, stage: Stage, count: usize) {
        let so = async |bench: &Self| {
            bench.documents().await.iter().filter(|row| row.stage == stage).count() == count
        };
        self.until(stage.as_str(), so).await;
    }

    /// Oldest first.
    pub(crate) async fn documents(&self) -> Vec<DocumentRow> {
        let filter = DocumentFilter { root: self.mover.shelf.root().to_owned(), ..DocumentFilter::default() };
        let mut rows = self.intake.documents(filter, PAGE).await.unwrap().rows;
        rows.reverse();
        rows
    }

    /// Oldest first.
    pub(crate) async fn records(&self) -> Vec<FailureRecord> {
        let mut rows = self.intake.failure_records(RecordFilter::default(), PAGE).await.unwrap().rows;
        rows.reverse();
        rows
    }
}

/// A word that no process had before: numbers of processes come again, and soon.
fn once() -> String {
    format!("{}_{}", std::process::id(), std::time::UNIX_EPOCH.elapsed().unwrap().as_micros())
}
