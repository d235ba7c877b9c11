//! Places to test, and short forms.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::TryStreamExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use redrive_blob::{Blobs, BlobsExt, Folder, Key, S3, S3Settings, Scratch, Stored};
use redrive_model::{Timestamp, instant};
use redrive_store::clock::{Clock, SystemClock};
use tempfile::TempDir;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A place under test.
pub(crate) struct Kit {
    pub(crate) blobs: Arc<dyn Blobs>,
    /// Where its files lie, for those that keep them on this disk.
    pub(crate) files: Option<PathBuf>,
    /// The bucket, where it is one.
    pub(crate) s3: Option<S3>,
    /// Whether it is `s3s-fs`, which answers 500 to a HEAD of a folder and to a range of more than all bytes.
    pub(crate) is_s3s: bool,
    /// Where its server is, where it has one of its own.
    pub(crate) url: Option<String>,
    pub(crate) home: TempDir,
}

/// A variable that the test script sets.
#[expect(clippy::disallowed_methods, reason = "the test script says here where its server is")]
pub(crate) fn var(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

impl Kit {
    pub(crate) async fn folder() -> Self {
        let home = tempfile::tempdir().unwrap();
        let files = home.path().join("files");
        let blobs = Arc::new(Folder::open(&files).await.unwrap());
        Self { blobs, files: Some(files), s3: None, is_s3s: false, url: None, home }
    }

    /// Memory for what is small, a folder for the rest.
    pub(crate) async fn scratch() -> Self {
        let home = tempfile::tempdir().unwrap();
        let blobs = Arc::new(Scratch::open(home.path().join("files")).await.unwrap());
        Self { blobs, files: None, s3: None, is_s3s: false, url: None, home }
    }

    /// An S3 server in this process that keeps objects as files and checks signatures.
    pub(crate) async fn s3s() -> Self {
        let home = tempfile::tempdir().unwrap();
        let files = home.path().join("s3");
        std::fs::create_dir_all(files.join("bucket")).unwrap();
        let mut service = s3s::service::S3ServiceBuilder::new(s3s_fs::FileSystem::new(&files).unwrap());
        service.set_auth(s3s::auth::SimpleAuth::from_single("who", "secret"));
        let service = service.build();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let service = service.clone();
                tokio::spawn(async move {
                    let _ = Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(socket), service)
                        .await;
                });
            }
        });
        let s3 = S3::open(settings(&url, "bucket", home.path())).await.unwrap();
        Self {
            blobs: Arc::new(s3.clone()),
            files: Some(files.join("bucket/pre/fix")),
            s3: Some(s3),
            is_s3s: true,
            url: Some(url),
            home,
        }
    }

    /// A bucket of its own on the moto server, when there is one.
    pub(crate) async fn moto() -> Option<Self> {
        let Some(url) = var("REDRIVE_TEST_MOTO") else {
            println!("REDRIVE_TEST_MOTO is not set: skipped; run ./test");
            return None;
        };
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let bucket = format!("b{}-{n}", once());
        raw(reqwest::Method::PUT, &format!("{url}/{bucket}")).await;
        let home = tempfile::tempdir().unwrap();
        let s3 = S3::open(settings(&url, &bucket, home.path())).await.unwrap();
        Some(Self { blobs: Arc::new(s3.clone()), files: None, s3: Some(s3), is_s3s: false, url: None, home })
    }

    pub(crate) async fn put(&self, key: &str, bytes: impl Into<Bytes>) -> Stored {
        self.blobs.put_bytes(&k(key), bytes.into()).await.unwrap()
    }

    pub(crate) async fn get(&self, key: &str) -> Vec<u8> {
        collect(self.blobs.read(&k(key), None).await.unwrap()).await
    }

    pub(crate) async fn keys(&self) -> Vec<String> {
        let mut keys: Vec<_> = self.blobs.keys(None).await.unwrap().iter().map(Key::to_string).collect();
        keys.sort();
        keys
    }

    /// How many temps a sweep finds when it takes even the youngest.
    pub(crate) async fn temps(&self) -> u64 {
        self.blobs.sweep_temps(later(3_600), 1_000).await.unwrap().removed
    }
}

/// Settings for a bucket on a test server; parts are as small as S3 allows.
pub(crate) fn settings(url: &str, bucket: &str, home: &Path) -> S3Settings {
    let vars = [
        ("S3_ENDPOINT", url),
        ("AWS_ACCESS_KEY_ID", "who"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "us-east-1"),
    ];
    let mut settings = S3Settings::new(bucket, Some(k("pre/fix")), home.join("spool")).with_vars(vars);
    settings.part_bytes = 5 << 20;
    settings.memory_bytes = 20 << 20;
    settings
}

/// A request past our code, unsigned.
pub(crate) async fn raw(method: reqwest::Method, url: &str) -> String {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    client.request(method, url).send().await.unwrap().error_for_status().unwrap().text().await.unwrap()
}

pub(crate) fn k(key: &str) -> Key {
    Key::parse(key).unwrap()
}

pub(crate) async fn collect(reading: redrive_blob::Reading) -> Vec<u8> {
    let chunks: Vec<Bytes> = reading.bytes.try_collect().await.unwrap();
    chunks.concat()
}

/// Bytes that do not repeat soon.
pub(crate) fn noise(length: usize, seed: u64) -> Bytes {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes.into()
}

pub(crate) fn later(seconds: u64) -> Timestamp {
    instant::after(SystemClock.now(), Duration::from_secs(seconds))
}

pub(crate) fn earlier(seconds: u64) -> Timestamp {
    instant::before(SystemClock.now(), Duration::from_secs(seconds))
}

/// Makes a file look as if it had been written long ago.
pub(crate) fn age(file: &Path, seconds: u64) {
    let at = std::time::UNIX_EPOCH + Duration::from_millis(earlier(seconds).as_millisecond().unsigned_abs());
    std::fs::File::open(file).unwrap().set_modified(at).unwrap();
}

/// Every file below a folder, temps too, with its size.
pub(crate) fn files_below(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for entry in entries {
        let entry = entry.unwrap();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => found.extend(files_below(&entry.path())),
            kind if kind.is_file() => found.push((entry.path(), entry.metadata().unwrap().len())),
            _ => {}
        }
    }
    found
}

/// A word that no process had before: numbers of processes come again, and soon.
pub(crate) fn once() -> String {
    format!("{}-{}", std::process::id(), std::time::UNIX_EPOCH.elapsed().unwrap().as_micros())
}
