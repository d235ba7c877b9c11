//! A database of the test's own, and a client on it that hands work in and looks.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use redrive::store::{AttemptRow, JobRow, Store};
use redrive::{Engine, Input, JobId, Timestamp};
use redrive_lab::proxy::Proxy;
use redrive_lab::worker::options;
use redrive_model::{State, instant};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use super::{Folder, eventually};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Where the private server is.
#[expect(clippy::disallowed_methods, reason = "the test script says here where its server is")]
fn server() -> String {
    std::env::var("REDRIVE_TEST_POSTGRES")
        .expect("REDRIVE_TEST_POSTGRES is not set: run ./test, or start a server with scripts/postgres.sh")
}

/// A client: an engine that is never started.
pub(crate) struct Database {
    pub(crate) url: String,
    engine: Engine,
}

impl Database {
    /// A fresh database on the private server, which is thrown away after the tests.
    pub(crate) async fn postgres() -> Self {
        use std::hash::BuildHasher;
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let draw = std::collections::hash_map::RandomState::new().hash_one(std::process::id());
        let name = format!("lab_{draw:x}_{n}");
        let mut conn = PgConnection::connect(&server()).await.unwrap();
        // Waits for nobody's disk but its own: two tests may do this at once.
        let create = format!("CREATE DATABASE {name} STRATEGY wal_log");
        conn.execute(sqlx::raw_sql(AssertSqlSafe(create))).await.unwrap();
        let url = server();
        let (host, _) = url.rsplit_once('/').unwrap();
        Self::open(&format!("{host}/{name}")).await
    }

    /// An SQLite file. One process at a time may have it: drop this before a worker starts.
    pub(crate) async fn sqlite(folder: &Folder) -> Self {
        Self::open(&format!("sqlite:{}", folder.file("jobs.db").display())).await
    }

    /// A client on this database.
    pub(crate) async fn open(url: &str) -> Self {
        Self { url: url.to_owned(), engine: Engine::open_with(url, options("client")).await.unwrap() }
    }

    /// Gives an SQLite file free for a worker.
    pub(crate) fn close(self) -> String {
        self.url
    }

    /// A wire to the server, and the URL that goes through it.
    pub(crate) async fn through_proxy(&self) -> (Proxy, String) {
        let host = self.url.split('@').nth(1).unwrap().split('/').next().unwrap();
        let proxy = Proxy::start(host).await.unwrap();
        let url = self.url.replace(host, &proxy.address().to_string());
        (proxy, url)
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        self.engine.store()
    }

    pub(crate) async fn enqueue(&self, input: &impl Input) -> JobId {
        self.engine.enqueue(input).await.unwrap()
    }

    pub(crate) async fn enqueue_many(&self, inputs: &[impl Input]) -> Vec<JobId> {
        self.engine.enqueue_many(inputs).await.unwrap().iter().map(|answer| answer.job()).collect()
    }

    pub(crate) async fn row(&self, id: JobId) -> JobRow {
        self.store().job(id).await.unwrap().unwrap()
    }

    pub(crate) async fn attempts(&self, id: JobId) -> Vec<AttemptRow> {
        self.store().attempts(id).await.unwrap()
    }

    /// How the attempts of a job ended.
    pub(crate) async fn outcomes(&self, id: JobId) -> Vec<String> {
        self.attempts(id).await.into_iter().map(|attempt| attempt.outcome).collect()
    }

    /// Waits until the job is in this state.
    #[track_caller]
    pub(crate) fn until(&self, id: JobId, state: State) -> impl Future<Output = JobRow> {
        self.until_row(id, state, move |row| row.state == state)
    }

    /// Waits until the job's row is as wanted.
    #[track_caller]
    pub(crate) fn until_row(
        &self,
        id: JobId,
        what: impl std::fmt::Debug,
        wanted: impl Fn(&JobRow) -> bool,
    ) -> impl Future<Output = JobRow> {
        eventually(format!("{id} to be {what:?}"), async move || {
            let row = self.row(id).await;
            wanted(&row).then_some(row)
        })
    }

    /// Waits until all of them have ended.
    pub(crate) async fn until_all_end(&self, ids: &[JobId]) {
        for id in ids {
            self.until_row(*id, "terminal", |row| row.state.is_terminal()).await;
        }
    }

    /// Waits until so much time has passed by the store's clock.
    pub(crate) async fn passes(&self, time: Duration) {
        let end = instant::after(self.now().await, time);
        eventually("time to pass", async || (self.now().await >= end).then_some(())).await;
    }

    pub(crate) async fn now(&self) -> Timestamp {
        self.store().now().await.unwrap()
    }
}

/// What the server says when this job's success was recorded: a row of two columns, the job and no batch.
pub(crate) fn completion_of(job: JobId) -> Vec<u8> {
    [b"\0\x02\0\0\0\x10", job.as_uuid().as_bytes().as_slice(), b"\xff\xff\xff\xff"].concat()
}

/// A server of one test's own, which it may crash.
pub(crate) struct Server {
    folder: tempfile::TempDir,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = script("start", folder.path());
        Self { folder, url }
    }

    /// Ends it as a power cut would, and starts it again.
    pub(crate) async fn crash_and_start(&self) {
        let folder = self.folder.path().to_owned();
        let again = tokio::task::spawn_blocking(move || {
            script("crash", &folder);
            script("start", &folder)
        });
        assert_eq!(again.await.unwrap(), self.url);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        script("crash", self.folder.path());
    }
}

fn script(action: &str, folder: &std::path::Path) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/postgres.sh");
    let done = Command::new(script).arg(action).arg(folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}
