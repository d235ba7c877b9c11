//! Adopting makes young: a put that finds its bytes there must not lose them to a sweeper a moment later.

use std::sync::Arc;

use redrive_blob::{BlobsExt, Conditional, Conditionals, Placed, Removed, S3};
use redrive_store::clock::ManualClock;

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

/// Whoever was told that the bytes are there finds them there, however a sweeper runs beside.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_adoption_and_a_removal_of_the_old_never_both_succeed() {
    let kit = Kit::folder().await;
    let file = kit.files.as_ref().unwrap().join("shared/a");
    let key = k("shared/a");
    let (mut kept, mut removed) = (0, 0);
    for _ in 0..300 {
        kit.put("shared/a", "bytes").await;
        age(&file, 7_200);
        let (put, gone) = tokio::join!(
            kit.blobs.put_bytes(&key, "bytes".into()),
            kit.blobs.delete_older(&key, earlier(3_600))
        );
        let placed = put.unwrap().placed;
        assert_eq!(kit.get("shared/a").await, b"bytes", "{placed:?} {gone:?}");
        match gone.unwrap() {
            Removed::Gone { .. } => removed += 1,
            Removed::Kept | Removed::Missing => kept += 1,
        }
    }
    assert!(kept + removed == 300 && removed > 0, "both orders happen: {kept} {removed}");
}
