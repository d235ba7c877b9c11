//! A store whose time is moved by hand, engines on it, and a mail server that answers as it is asked to (`scripts/smtp.py`).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redrive_engine::model::{Code, JobId, LeaseToken, Timestamp};
use redrive_engine::store::clock::ManualClock;
use redrive_engine::store::intake::{
    Delivery, DocumentChange, FailureRecord, IntakeStore, NewDocument, Notification, RecordFilter, Stage,
};
use redrive_engine::store::{JobFilter, JobRow, PageRequest, Store};
use redrive_engine::{By, Engine, Options, Policy, WorkloadName};
use redrive_intake::digest::{DigestOptions, Digests, Post};
use redrive_notify::mail::{MailSettings, Mailer};
use serde_json::Value;
use uuid::Uuid;

/// What `scripts/smtp.sh start` said; without it a test says so and ends.
#[expect(clippy::disallowed_methods, reason = "the home of the environment in these tests")]
pub(crate) fn server() -> Option<Server> {
    let folder = std::env::var("REDRIVE_TEST_SMTP").ok().filter(|folder| !folder.is_empty());
    if folder.is_none() {
        println!("REDRIVE_TEST_SMTP is not set: skipped; run ./test");
    }
    let folder = PathBuf::from(folder?);
    let ports = serde_json::from_slice(&std::fs::read(folder.join("ports.json")).unwrap()).unwrap();
    Some(Server { folder, ports })
}

pub(crate) struct Server {
    folder: PathBuf,
    ports: Value,
}

impl Server {
    pub(crate) fn post(&self) -> Post {
        let url = format!("smtp://127.0.0.1:{}?tls=none", self.ports["plain"]);
        Post::Mail(Mailer::new(MailSettings::parse(&url, "Redrive <redrive@example.org>").unwrap()))
    }

    /// Every mail that this address got, in the order in which they came.
    pub(crate) fn taken(&self, address: &str) -> Vec<Value> {
        let mut found: Vec<(PathBuf, Value)> = std::fs::read_dir(self.folder.join("mails"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
            .map(|path| (path.clone(), serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()))
            .filter(|(_, mail): &(PathBuf, Value)| {
                mail["to"].as_array().unwrap().iter().any(|to| to == address)
            })
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found.into_iter().map(|(_, mail)| mail).collect()
    }
}

/// An address of a test's own: the server keeps the mails of all tests. What stands before the + is what the server is asked for.
pub(crate) fn address(asks: &str) -> String {
    static NTH: AtomicUsize = AtomicUsize::new(0);
    format!("{asks}+{}-{}@example.org", std::process::id(), NTH.fetch_add(1, Ordering::SeqCst))
}

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) struct Desk {
    pub(crate) clock: ManualClock,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) intake: Arc<dyn IntakeStore>,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let clock = ManualClock::new(at("2026-03-01T12:00:00Z"));
        let store = redrive_store_sqlite::Options::default().clock(clock.clone()).in_memory().unwrap();
        let store = Arc::new(store);
        Self { clock, intake: store.clone(), store }
    }

    /// One on which time goes by itself.
    pub(crate) fn ticking() -> Self {
        let store = Arc::new(redrive_store_sqlite::Options::default().in_memory().unwrap());
        Self { clock: ManualClock::new(at("2026-03-01T12:00:00Z")), intake: store.clone(), store }
    }

    pub(crate) async fn engine(&self) -> Engine {
        self.engine_with(Options::default()).await
    }

    pub(crate) async fn engine_with(&self, options: Options) -> Engine {
        Engine::new(self.store.clone(), options).await.unwrap()
    }

    pub(crate) fn digests(&self, engine: &Engine, post: Post) -> Digests {
        self.digests_with(engine, post, DigestOptions::policy())
    }

    pub(crate) fn digests_with(&self, engine: &Engine, post: Post, policy: Policy) -> Digests {
        let options = DigestOptions { zone: jiff::tz::TimeZone::UTC, base_url: None, post, policy };
        Digests::new(engine.clone(), self.intake.clone(), options)
    }

    /// A document of this owner that has failed once.
    pub(crate) async fn failed(&self, n: u8, owner: &str, path: &str, code: Code) -> JobId {
        let id = JobId::from_parts(at("2026-03-01T08:00:00Z"), [n; 10]);
        let document = NewDocument {
            id,
            root: "file:///srv".into(),
            path: path.into(),
            key: format!("queue/{n}"),
            version: "1".into(),
            bytes: 9,
            owner: owner.into(),
        };
        self.intake.take_in(vec![document]).await.unwrap();
        self.fails_again(id, owner, code).await;
        id
    }

    pub(crate) async fn fails_again(&self, id: JobId, owner: &str, code: Code) {
        static NTH: AtomicUsize = AtomicUsize::new(1);
        let failure = Some((code, "said by the gateway".to_owned()));
        let change = DocumentChange { failure, ..DocumentChange::default() };
        assert!(self.intake.change_document(id, LeaseToken(1), change).await.unwrap());
        let record = FailureRecord {
            failure_id: Uuid::from_u128(NTH.fetch_add(1, Ordering::SeqCst) as u128),
            document: id,
            timestamp: self.store.now().await.unwrap(),
            owner: owner.into(),
            pdf_key: "pdf/x.pdf".into(),
            queue_key: None,
            failed_key: None,
            retry_count: 1,
            max_retries_exceeded: false,
            code,
            failure_reason: "said by the gateway".into(),
            notified: false,
        };
        assert!(self.intake.note_failure(record).await.unwrap());
    }

    pub(crate) async fn stage(&self, id: JobId, stage: Stage) {
        assert!(self.intake.change_document(id, LeaseToken(1), DocumentChange::stage(stage)).await.unwrap());
    }

    pub(crate) async fn address(&self, owner: &str, address: &str, enabled: bool) {
        let (owner, address) = (owner.to_owned(), address.to_owned());
        self.intake.set_notification(Notification { owner, address, enabled }).await.unwrap();
    }

    pub(crate) async fn deliveries(&self) -> Vec<Delivery> {
        self.intake.deliveries(PageRequest::default()).await.unwrap().rows
    }

    pub(crate) async fn untold_records(&self) -> usize {
        let filter = RecordFilter { notified: Some(false), ..RecordFilter::default() };
        self.intake.failure_records(filter, PageRequest::default()).await.unwrap().rows.len()
    }

    pub(crate) async fn mails(&self) -> Vec<JobRow> {
        let workload = Some(WorkloadName::new("digest.mail").unwrap());
        let filter = JobFilter { workload, ..JobFilter::default() };
        self.store.jobs(filter, PageRequest { limit: 200, cursor: None }).await.unwrap().rows
    }
}

/// Asks until there is an answer.
pub(crate) async fn eventually<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), asking).await.expect("it did not come")
}

/// Asks for a digest, and runs all that follows from it.
pub(crate) async fn send(digests: &Digests, engine: &Engine) {
    digests.open(&By::new("a test")).await.unwrap();
    engine.run_until_idle().await.unwrap();
}
