//! Where objects lie, on a disk or in a bucket, looked at past the server.

use std::sync::atomic::{AtomicU32, Ordering};

use futures::TryStreamExt;
use redrive_blob::{Blobs, BlobsExt, Key, S3, S3Settings};

use crate::acceptance::kit::{Browser, World};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Where the resources of a world go.
pub(super) enum Place {
    /// `DATA_DIR/fetched`.
    Folder,
    /// A bucket of its own on the S3 server of the tests.
    Bucket(Box<S3>),
}

impl Place {
    /// Sends what this world fetches to a bucket; nothing without a server.
    pub(super) async fn bucket(world: &mut World) -> Option<Self> {
        let url = moto()?;
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fetched{}-{n}", std::process::id());
        let server = Browser::new(url.strip_prefix("http://").unwrap());
        let made = server.send(server.request("PUT", &format!("/{name}"))).await;
        assert_eq!(made.status, 200, "{}", made.text());
        let settings = [
            ("S3_ENDPOINT", url.as_str()),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "who"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
        ];
        for (setting, value) in settings {
            world.set(setting, value);
        }
        world.set("FETCH_TO", format!("s3://{name}/in"));
        let prefix = Key::parse("in").unwrap();
        let settings = S3Settings::new(&name, Some(prefix), world.path("spool")).with_vars(settings);
        Some(Self::Bucket(Box::new(S3::open(settings).await.unwrap())))
    }

    /// The names of all objects in the bucket.
    pub(super) async fn keys(&self) -> Vec<String> {
        let Self::Bucket(bucket) = self else { panic!("this is no bucket") };
        bucket.keys(None).await.unwrap().iter().map(ToString::to_string).collect()
    }

    /// The bytes of an object.
    pub(super) async fn read(&self, world: &World, key: &str) -> Vec<u8> {
        match self {
            Self::Folder => std::fs::read(world.path("data").join("fetched").join(key)).unwrap(),
            Self::Bucket(bucket) => {
                let reading = bucket.read(&Key::parse(key).unwrap(), None).await.unwrap();
                reading.bytes.try_collect::<Vec<_>>().await.unwrap().concat()
            }
        }
    }
}

/// Where the S3 server of the tests is.
#[expect(clippy::disallowed_methods, reason = "the test script says here where its server is")]
fn moto() -> Option<String> {
    let url = std::env::var("REDRIVE_TEST_MOTO").ok();
    if url.is_none() {
        println!("REDRIVE_TEST_MOTO is not set: run ./test, or start a server with scripts/moto.sh: skipped");
    }
    url
}
