//! A world of its own for every check: a folder, a database, a gateway, settings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use redrive::sqlx::{self, AssertSqlSafe, Connection, Executor, PgConnection};
use redrive_lab::gateway::{Answer, Gateway, Which};

use super::server::Server;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Everything that a server needs, and the gateway it calls.
pub(crate) struct World {
    pub(crate) home: tempfile::TempDir,
    pub(crate) gateway: Gateway,
    settings: BTreeMap<&'static str, String>,
}

impl World {
    /// On an SQLite file.
    pub(crate) async fn sqlite() -> Self {
        let home = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", home.path().join("redrive.db").display());
        Self::on(home, &url).await
    }

    /// On a database of its own of the private Postgres; nothing where there is none.
    pub(crate) async fn postgres() -> Option<Self> {
        let server = postgres()?;
        Some(Self::on(tempfile::tempdir().unwrap(), &database(&server).await).await)
    }

    /// On this database.
    pub(crate) async fn on(home: tempfile::TempDir, url: &str) -> Self {
        let gateway = Gateway::start().await.unwrap();
        let mut world = Self { home, gateway, settings: BTreeMap::new() };
        let data = world.path("data");
        for (name, value) in [
            ("DATABASE_URL", url),
            ("DATA_DIR", data.to_str().unwrap()),
            ("GATEWAY_URL", &world.gateway.url()),
            ("METRICS_LISTEN", "127.0.0.1:0"),
            ("WORKER_LEASE_TTL_SEC", "2"),
            ("RETRY_BASE_DELAY_MS", "100"),
            ("RETRY_JITTER_MAX_MS", "50"),
            ("GATEWAY_TIMEOUT_MS", "20000"),
            ("CIRCUIT_COOLDOWN_MS", "300"),
            ("DRAIN_TIMEOUT_SEC", "20"),
        ] {
            world.set(name, value);
        }
        world
    }

    /// A setting for servers that start from now on.
    pub(crate) fn set(&mut self, name: &'static str, value: impl ToString) {
        self.settings.insert(name, value.to_string());
    }

    /// No failure opens the breaker.
    pub(crate) fn without_breaker(&mut self) {
        self.set("CIRCUIT_CONSECUTIVE", 0);
        self.set("CIRCUIT_FAIL_THRESHOLD", 2);
    }

    pub(crate) fn settings(&self) -> &BTreeMap<&'static str, String> {
        &self.settings
    }

    /// Starts a server and waits until it can be used.
    pub(crate) async fn serve(&self) -> Server {
        Server::start(self.home.path(), self.settings.clone()).await
    }

    /// The same with some settings of its own.
    pub(crate) async fn serve_with(&self, other: &[(&'static str, String)]) -> Server {
        let mut settings = self.settings.clone();
        settings.extend(other.iter().cloned());
        Server::start(self.home.path(), settings).await
    }

    /// A day and an hour go by for the clock that decides: of the process, by these settings for the next server, or of Postgres.
    pub(crate) async fn tomorrow(&self) -> Vec<(&'static str, String)> {
        let url = &self.settings["DATABASE_URL"];
        if url.starts_with("postgres:") {
            let mut conn = PgConnection::connect(url).await.unwrap();
            let later = "CREATE OR REPLACE FUNCTION redrive.now_ms() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE
                AS $$ SELECT (extract(epoch FROM clock_timestamp() + interval '25 hours') * 1000)::bigint $$";
            conn.execute(later).await.unwrap();
            return Vec::new();
        }
        let mut places = std::fs::read_dir("/usr/lib").unwrap().map(|entry| entry.unwrap().path());
        let library = places.find_map(|place| {
            let path = place.join("faketime/libfaketime.so.1");
            path.exists().then(|| path.display().to_string())
        });
        let library = library.expect("libfaketime is missing: ./test installs the package faketime");
        let fake = ["FAKETIME_DONT_FAKE_MONOTONIC", "DONT_FAKE_MONOTONIC"].map(|name| (name, "1".to_owned()));
        let mut settings = vec![("LD_PRELOAD", library), ("FAKETIME", "+25h".to_owned())];
        settings.extend(fake);
        settings
    }

    /// A file or folder of this world.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Every file below a folder of the data folder, whatever the depth.
    pub(crate) fn files(&self, under: &str) -> Vec<PathBuf> {
        files_below(&self.path("data").join(under))
    }

    /// What the gateway says from now on.
    pub(crate) fn gateway_says(&self, answers: impl IntoIterator<Item = Answer>) {
        self.gateway.say(Which::Any, answers);
    }

    /// How often the gateway was called for this PDF.
    pub(crate) fn calls(&self, pdf: &[u8]) -> usize {
        self.gateway.calls_of(&sha256(pdf)).len()
    }
}

/// Every file below a folder; a file that goes meanwhile is not there.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    // The server's mark, by which workers know its folders.
    files.retain(|file| !file.ends_with(".redrive-place"));
    files.sort();
    files
}

/// A PDF that is like no other.
pub(crate) fn pdf(n: u32) -> Vec<u8> {
    format!("%PDF-1.4\n% {n}\n1 0 obj<<>>endobj\ntrailer<</Root 1 0 R>>\nstartxref\n9\n%%EOF\n").into_bytes()
}

/// The hash of some bytes, in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    redrive_lab::gateway::sha256(bytes)
}

/// Where the private server is.
#[expect(clippy::disallowed_methods, reason = "the test script says here where its server is")]
fn postgres() -> Option<String> {
    let url = std::env::var("REDRIVE_TEST_POSTGRES").ok();
    if url.is_none() {
        println!(
            "REDRIVE_TEST_POSTGRES is not set: run ./test, or start a server with scripts/postgres.sh: skipped"
        );
    }
    url
}

/// A fresh database on this server.
async fn database(server: &str) -> String {
    use std::hash::BuildHasher;
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let draw = std::collections::hash_map::RandomState::new().hash_one(std::process::id());
    let name = format!("accept_{draw:x}_{n}");
    let mut conn = PgConnection::connect(server).await.unwrap();
    // Waits for nobody's disk but its own: two tests may do this at once.
    let create = format!("CREATE DATABASE {name} STRATEGY wal_log");
    conn.execute(sqlx::raw_sql(AssertSqlSafe(create))).await.unwrap();
    let (host, _) = server.rsplit_once('/').unwrap();
    format!("{host}/{name}")
}
