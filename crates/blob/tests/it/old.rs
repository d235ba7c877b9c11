//! Adopting makes young: a put that finds its bytes there must not lose them to a sweeper a moment later.

use std::sync::{Arc, Mutex};

use redrive_blob::{Blobs, BlobsExt, Conditional, Conditionals, Folder, Placed, Point, Removed, S3, Seam};
use redrive_store::clock::ManualClock;
use tokio::runtime::Handle;

use crate::fake_s3::{Fake, Keeps};
use crate::kit::{Kit, age, earlier, k, noise, settings};

#[tokio::test(flavor = "multi_thread")]
async fn an_adopted_artifact_counts_as_put_now() {
    for kit in [Kit::folder().await, Kit::s3s().await] {
        for (key, bytes) in [("small", noise(100, 1)), ("large", noise(6 << 20, 2))] {
            kit.put(key, bytes.clone()).await;
            age(&kit.files.as_ref().unwrap().join(key), 7_200);
            assert!(kit.blobs.head(&k(key)).await.unwrap().modified < earlier(3_600));
            assert_eq!(kit.put(key, bytes.clone()).await.placed, Placed::Adopted);
            assert!(kit.blobs.head(&k(key)).await.unwrap().modified > earlier(60), "{key}");
            assert_eq!(kit.blobs.delete_older(&k(key), earlier(3_600)).await.unwrap(), Removed::Kept);
            assert_eq!(kit.get(key).await, bytes);
        }
    }
}

/// The object is only written again under the condition that it is still the same one.
#[tokio::test]
async fn an_old_object_that_is_replaced_in_between_is_not_overwritten() {
    let fake = Fake::start().await;
    let home = tempfile::tempdir().unwrap();
    // Five minutes after the time that the fake's objects have.
    let clock = Arc::new(ManualClock::new("2026-11-16T08:05:00Z".parse().unwrap()));
    let s3 = S3::open_with(settings(&fake.url, "bucket", home.path()), clock.clone()).await.unwrap();
    s3.put_bytes(&k("a"), "bytes".into()).await.unwrap();
    fake.forget();
    s3.put_bytes(&k("a"), "bytes".into()).await.unwrap();
    assert_eq!(fake.calls("PUT"), 1, "a young object is left as it is");
    clock.advance(std::time::Duration::from_secs(3_600));
    fake.forget();
    assert_eq!(s3.put_bytes(&k("a"), "bytes".into()).await.unwrap().placed, Placed::Adopted);
    assert_eq!(fake.calls("PUT"), 2);
    // Between the look and the write somebody removes it: the put starts over and makes it.
    fake.on("HEAD", 1, crate::fake_s3::Fault::VanishAfter);
    assert_eq!(s3.put_bytes(&k("a"), "bytes".into()).await.unwrap().placed, Placed::New);
}

#[tokio::test]
async fn what_a_store_does_with_conditions_is_found_out_and_tidied() {
    use Conditional::{Honoured, Ignored};
    for (keeps, put, multipart) in [
        (Keeps { put: true, complete: true }, Honoured, Honoured),
        (Keeps { put: true, complete: false }, Honoured, Ignored),
        (Keeps { put: false, complete: false }, Ignored, Ignored),
    ] {
        let fake = Fake::keeping(keeps).await;
        let home = tempfile::tempdir().unwrap();
        let s3 = S3::open(settings(&fake.url, "bucket", home.path())).await.unwrap();
        assert_eq!(s3.conditionals(), Conditionals { put, multipart });
        assert_eq!(fake.objects(), [""; 0], "probes are removed");
        assert_eq!(fake.unfinished(), 0);
        for (key, bytes) in [("small", noise(100, 1)), ("large", noise(6 << 20, 2))] {
            assert_eq!(s3.put_bytes(&k(key), bytes.clone()).await.unwrap().placed, Placed::New);
            assert_eq!(s3.put_bytes(&k(key), bytes.clone()).await.unwrap().placed, Placed::Adopted);
            let error = s3.put_bytes(&k(key), noise(bytes.len(), 9)).await.unwrap_err();
            assert!(matches!(error, redrive_blob::BlobError::AlreadyExists { .. }), "{error:?}");
            s3.verify(&k(key), &redrive_blob::Sha256::of(&bytes)).await.unwrap();
        }
        assert_eq!(fake.objects(), ["pre/fix/large", "pre/fix/small"], "no temporary names stay");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_test_servers_keep_their_word() {
    let both = Conditionals { put: Conditional::Honoured, multipart: Conditional::Honoured };
    assert_eq!(Kit::s3s().await.s3.unwrap().conditionals(), both);
    if let Some(kit) = Kit::moto().await {
        assert_eq!(kit.s3.unwrap().conditionals().put, Conditional::Honoured);
    }
}

/// A sweeper that strikes at one point of an adoption, once.
struct Strike {
    at: Point,
    sweeper: Folder,
    found: Mutex<Option<Removed>>,
}

impl Seam for Strike {
    fn before(&self, point: Point) -> std::io::Result<()> {
        let mut found = self.found.lock().unwrap();
        if point == self.at && found.is_none() {
            let key = k("shared/a");
            let remove = self.sweeper.delete_older(&key, earlier(3_600));
            *found = Some(Handle::current().block_on(remove).unwrap());
        }
        Ok(())
    }
}

/// Whoever was told that the bytes are there finds them there, wherever a sweeper strikes.
#[tokio::test(flavor = "multi_thread")]
async fn an_adoption_and_a_removal_of_the_old_never_both_succeed() {
    for (at, found, placed) in [
        (Point::Adopt, Removed::Gone { bytes: 5 }, Placed::New),
        (Point::Refresh, Removed::Kept, Placed::Adopted),
    ] {
        let kit = Kit::folder().await;
        kit.put("shared/a", "bytes").await;
        let root = kit.files.clone().unwrap();
        age(&root.join("shared/a"), 7_200);
        let sweeper = Folder::open(&root).await.unwrap();
        let strike = Arc::new(Strike { at, sweeper, found: Mutex::new(None) });
        let blobs = Folder::open_with(&root, Arc::clone(&strike) as _).await.unwrap();
        let stored = blobs.put_bytes(&k("shared/a"), "bytes".into()).await.unwrap();
        assert_eq!((*strike.found.lock().unwrap(), stored.placed), (Some(found), placed), "{at:?}");
        assert_eq!(kit.get("shared/a").await, b"bytes");
        assert!(kit.blobs.head(&k("shared/a")).await.unwrap().modified > earlier(60));
    }
}
