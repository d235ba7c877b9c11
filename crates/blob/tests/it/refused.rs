//! A bucket that refuses, cuts, stalls and loses answers: each is told apart, nothing is retried here, nothing is torn.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use redrive_blob::{BlobError, Blobs, BlobsExt, Key, Placed, S3, Sha256};
use redrive_model::Code;

use crate::fake_s3::{Fake, Fault};
use crate::kit::{Kit, files_below, k, later, noise, raw, settings};

struct Bucket {
    fake: Fake,
    s3: S3,
    home: tempfile::TempDir,
}

async fn bucket() -> Bucket {
    bucket_that_waits(Duration::from_millis(300)).await
}

/// One that waits so long for an answer.
async fn bucket_that_waits(read_timeout: Duration) -> Bucket {
    let fake = Fake::start().await;
    let home = tempfile::tempdir().unwrap();
    let mut settings = settings(&fake.url, "bucket", home.path());
    settings.read_timeout = read_timeout;
    let s3 = S3::open(settings).await.unwrap();
    fake.forget();
    Bucket { fake, s3, home }
}

fn small() -> Bytes {
    noise(1_000, 1)
}

fn large() -> Bytes {
    noise((11 << 20) + 5, 2)
}

/// Also covers: M38.
#[tokio::test]
async fn refused_puts_are_told_apart_and_not_retried() {
    let b = bucket().await;
    for (fault, code) in [
        (Fault::Refuse(503, "SlowDown", Some("7")), Code::UploadThrottled),
        (Fault::Refuse(503, "ServiceUnavailable", None), Code::UploadS3Error),
        (Fault::Refuse(500, "InternalError", None), Code::UploadS3Error),
        (Fault::Refuse(403, "AccessDenied", None), Code::UploadAccessDenied),
        (Fault::Refuse(404, "NoSuchBucket", None), Code::UploadNoBucket),
        (Fault::Refuse(409, "ConditionalRequestConflict", None), Code::UploadS3Error),
        (Fault::Refuse(507, "XMinioStorageFull", None), Code::UploadThrottled),
        (Fault::Reset, Code::UploadS3Error),
    ] {
        b.fake.forget();
        b.fake.on("PUT", 1, fault.clone());
        let error = b.s3.put_bytes(&k("a"), small()).await.unwrap_err();
        assert_eq!(error.code(), code, "{fault:?}: {error:?}");
        assert_eq!(b.fake.calls("PUT"), 1, "{fault:?} is the engine's to retry");
        assert_eq!(b.fake.objects(), [""; 0]);
        if code == Code::UploadThrottled {
            let wait = if matches!(fault, Fault::Refuse(507, ..)) { 60 } else { 7 };
            assert_eq!(error.failure().retry_after, Some(Duration::from_secs(wait)));
        }
    }
    assert_eq!(files_below(b.home.path()), [], "the spool is empty");
}

#[tokio::test]
async fn the_same_upload_is_sent_again_when_the_bucket_is_back() {
    let b = bucket().await;
    let mut upload = b.s3.begin(2_000).await.unwrap();
    upload.write(small()).await.unwrap();
    let mut sealed = upload.seal().await.unwrap();
    b.fake.on("PUT", 1, Fault::Refuse(500, "InternalError", None));
    b.fake.on("PUT", 2, Fault::Refuse(503, "SlowDown", None));
    assert_eq!(sealed.finish(&k("a")).await.unwrap_err().code(), Code::UploadS3Error);
    assert_eq!(sealed.finish(&k("a")).await.unwrap_err().code(), Code::UploadThrottled);
    assert_eq!(sealed.finish(&k("a")).await.unwrap().placed, Placed::New);
    assert_eq!(b.s3.hash(&k("a")).await.unwrap(), Sha256::of(&small()));
    b.fake.on("PUT", 1, Fault::Refuse(403, "AccessDenied", None));
    let mut upload = b.s3.begin(2_000).await.unwrap();
    upload.write(small()).await.unwrap();
    let mut sealed = upload.seal().await.unwrap();
    sealed.finish(&k("b")).await.unwrap_err();
    assert!(
        matches!(sealed.finish(&k("b")).await, Err(BlobError::Io { .. })),
        "what is terminal is given up"
    );
}

/// Also covers: M40.
#[tokio::test]
async fn a_put_whose_answer_is_lost_is_read_back() {
    let b = bucket().await;
    for (key, bytes, call) in [("small", small(), "PUT"), ("large", large(), "COMPLETE")] {
        b.fake.on(call, 1, Fault::LoseReply);
        let stored = b.s3.put_bytes(&k(key), bytes.clone()).await.unwrap();
        assert_eq!(stored.placed, Placed::Adopted, "{key}: it is there, and we cannot say who made it");
        assert_eq!(b.s3.hash(&k(key)).await.unwrap(), Sha256::of(&bytes));
    }
    // Not even the look is answered: unknown, said as an error, and the same put again is right.
    b.fake.on("PUT", 1, Fault::LoseReply);
    b.fake.on("HEAD", 1, Fault::Reset);
    assert_eq!(b.s3.put_bytes(&k("c"), small()).await.unwrap_err().code(), Code::UploadS3Error);
    assert_eq!(b.s3.put_bytes(&k("c"), small()).await.unwrap().placed, Placed::Adopted);
    let error = b.s3.put_bytes(&k("c"), noise(1_000, 9)).await.unwrap_err();
    assert_eq!(error.code(), Code::UploadConflict);
}

/// Also covers: M39.
#[tokio::test]
async fn a_large_put_that_fails_anywhere_is_aborted_and_never_visible() {
    let b = bucket().await;
    for (call, nth, fault, code) in [
        ("CREATE", 1, Fault::Refuse(503, "SlowDown", None), Code::UploadThrottled),
        ("PART", 1, Fault::Refuse(500, "InternalError", None), Code::UploadS3Error),
        ("PART", 3, Fault::Reset, Code::UploadS3Error),
        ("PART", 2, Fault::Refuse(403, "AccessDenied", None), Code::UploadAccessDenied),
        ("COMPLETE", 1, Fault::Refuse(500, "InternalError", None), Code::UploadS3Error),
        ("COMPLETE", 1, Fault::ErrorBody("InternalError"), Code::UploadS3Error),
        ("COMPLETE", 1, Fault::ErrorBody("SlowDown"), Code::UploadThrottled),
        ("COMPLETE", 1, Fault::ErrorBody("AccessDenied"), Code::UploadAccessDenied),
    ] {
        b.fake.forget();
        b.fake.on(call, nth, fault.clone());
        let error = b.s3.put_bytes(&k("a"), large()).await.unwrap_err();
        assert_eq!(error.code(), code, "{call} {fault:?}: {error:?}");
        assert!(b.fake.calls("COMPLETE") <= 1, "one try");
        assert_eq!(b.fake.unfinished(), 0, "{call} {fault:?}: aborted");
        assert_eq!(b.fake.objects(), [""; 0], "{call} {fault:?}");
    }
    assert_eq!(b.s3.put_bytes(&k("a"), large()).await.unwrap().placed, Placed::New);
    assert_eq!(b.s3.hash(&k("a")).await.unwrap(), Sha256::of(&large()));
}

#[tokio::test]
async fn a_large_put_that_nobody_waits_for_is_aborted() {
    // The abort is tried once: a machine that stalls must not eat it.
    let b = bucket_that_waits(Duration::from_secs(60)).await;
    let mut upload = b.s3.begin(1 << 30).await.unwrap();
    upload.write(large()).await.unwrap();
    let mut sealed = upload.seal().await.unwrap();
    b.fake.on("COMPLETE", 1, Fault::Stall(0));
    let key = k("a");
    {
        let finish = sealed.finish(&key);
        let mut finish = std::pin::pin!(finish);
        // Until the parts are on their way.
        while b.fake.calls("PART") < 1 {
            assert!(futures::poll!(&mut finish).is_pending());
            tokio::task::yield_now().await;
        }
    }
    while b.fake.calls("ABORT") < 1 {
        tokio::task::yield_now().await;
    }
    while b.fake.unfinished() > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(b.fake.objects(), [""; 0]);
}

async fn read(b: &Bucket, key: &Key) -> Result<usize, BlobError> {
    let mut bytes = b.s3.read(key, None).await?.bytes;
    let mut got = 0;
    while let Some(chunk) = bytes.next().await {
        got += chunk?.len();
    }
    Ok(got)
}

#[tokio::test]
async fn reads_that_fail_are_told_apart_and_never_short() {
    let b = bucket().await;
    b.s3.put_bytes(&k("a"), noise(200_000, 3)).await.unwrap();
    for (fault, code) in [
        (Fault::Refuse(503, "SlowDown", Some("Mon, 16 Nov 2026 08:00:00 GMT")), Code::UploadThrottled),
        (Fault::Refuse(500, "InternalError", None), Code::StorageUnavailable),
        (Fault::Refuse(403, "AccessDenied", None), Code::StorageAccessDenied),
        (Fault::Refuse(404, "NoSuchBucket", None), Code::UploadNoBucket),
        (Fault::Refuse(404, "NoSuchKey", None), Code::SourceMissing),
        (Fault::Reset, Code::StorageUnavailable),
        (Fault::Cut(100_000), Code::StorageUnavailable),
        (Fault::Cut(0), Code::StorageUnavailable),
        (Fault::Stall(100_000), Code::StorageUnavailable),
    ] {
        b.fake.forget();
        b.fake.on("GET", 1, fault.clone());
        let error = read(&b, &k("a")).await.unwrap_err();
        assert_eq!(error.code(), code, "{fault:?}: {error:?}");
        assert_eq!(b.fake.calls("GET"), 1, "{fault:?} is the engine's to retry");
    }
    assert_eq!(read(&b, &k("a")).await.unwrap(), 200_000);
}

#[tokio::test]
async fn a_bucket_that_does_not_answer_is_a_timeout() {
    let b = bucket().await;
    b.s3.put_bytes(&k("a"), small()).await.unwrap();
    b.fake.on("GET", 1, Fault::Stall(10));
    match read(&b, &k("a")).await {
        Err(BlobError::Unavailable { timeout, .. }) => assert!(timeout),
        other => panic!("{other:?}"),
    }
    let home = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let mut settings = settings(&silent, "bucket", home.path());
    settings.read_timeout = Duration::from_millis(200);
    assert_eq!(S3::open(settings).await.unwrap_err().code(), Code::UploadTimeout);
}

#[tokio::test]
async fn a_bucket_that_cannot_be_used_is_said_at_start() {
    for (fault, code) in [
        (Fault::Refuse(404, "NoSuchBucket", None), Code::UploadNoBucket),
        (Fault::Refuse(503, "SlowDown", None), Code::UploadThrottled),
    ] {
        let fake = Fake::start().await;
        fake.on("PUT", 1, fault);
        let home = tempfile::tempdir().unwrap();
        assert_eq!(S3::open(settings(&fake.url, "bucket", home.path())).await.unwrap_err().code(), code);
    }
    let fake = Fake::start().await;
    for nth in 1..=2 {
        fake.on("PUT", nth, Fault::Refuse(403, "AccessDenied", None));
    }
    let home = tempfile::tempdir().unwrap();
    let error = S3::open(settings(&fake.url, "bucket", home.path())).await.unwrap_err();
    assert_eq!(error.code(), Code::UploadAccessDenied);
    let nobody = settings("http://127.0.0.1:9", "bucket", home.path());
    assert_eq!(S3::open(nobody).await.unwrap_err().code(), Code::UploadS3Error);
}

/// TLS is set up by us, with one provider and nothing installed for the whole process.
#[tokio::test]
async fn an_endpoint_with_tls_that_speaks_none_is_an_error_and_no_panic() {
    let fake = Fake::start().await;
    let home = tempfile::tempdir().unwrap();
    let secure = fake.url.replace("http://", "https://");
    let error = S3::open(settings(&secure, "bucket", home.path())).await.unwrap_err();
    assert!(matches!(error, BlobError::Unavailable { .. } | BlobError::Settings { .. }), "{error:?}");
    assert!(rustls::crypto::CryptoProvider::get_default().is_none());
}

#[tokio::test]
async fn errors_do_not_tell_secrets() {
    let b = bucket().await;
    b.fake.on("LIST", 1, Fault::Reset);
    b.fake.on("GET", 1, Fault::Reset);
    let list = b.s3.keys(None).await.unwrap_err();
    let get = b.s3.read(&k("a"), None).await.unwrap_err();
    for error in [list, get] {
        let said = format!("{error:?} {error} {}", error.failure());
        assert!(
            !said.contains("Signature") && !said.contains("http://") && !said.contains("secret"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_name_that_is_no_key_does_not_stop_a_list() {
    let b = bucket().await;
    b.s3.put_bytes(&k("a"), small()).await.unwrap();
    for name in
        ["pre/fix/x//y", "pre/fix/../up", "pre/fix/back\\slash", "pre/fix/", "pre/fixed/other", "elsewhere"]
    {
        b.fake.plant(name, b"?");
    }
    assert_eq!(b.s3.keys(None).await.unwrap(), [k("a")]);
}

#[tokio::test]
async fn an_object_of_somebody_else_is_read_before_it_is_adopted() {
    let b = bucket().await;
    b.fake.plant("pre/fix/a", b"their bytes");
    assert_eq!(b.s3.head(&k("a")).await.unwrap().sha256, None);
    assert_eq!(b.s3.put_bytes(&k("a"), "their bytes".into()).await.unwrap().placed, Placed::Adopted);
    let error = b.s3.put_bytes(&k("a"), "other bytes".into()).await.unwrap_err();
    assert!(
        matches!(error, BlobError::AlreadyExists { there, .. } if there == Sha256::of(b"their bytes")),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_copy_of_an_object_that_is_not_what_its_hash_says_is_not_made() {
    let b = bucket().await;
    b.fake.plant_as("pre/fix/a", b"damaged", Some(Sha256::of(b"sound").to_string()));
    let error = b.s3.copy_once(&k("a"), &k("b")).await.unwrap_err();
    assert_eq!(error.code(), Code::ResultCorrupt);
    assert_eq!(b.fake.objects(), ["pre/fix/a"]);
}

#[tokio::test]
async fn a_store_that_cannot_list_unfinished_uploads_is_swept_as_far_as_it_goes() {
    let b = bucket().await;
    b.fake.plant("pre/fix/.redrive-temp/left", b"behind");
    b.fake.plant("pre/fix/.redrive-probe/left", b"behind");
    b.fake.on("UPLOADS", 1, Fault::Refuse(501, "NotImplemented", None));
    let swept = b.s3.sweep_temps(later(60), 10).await.unwrap();
    assert_eq!((swept.removed, swept.bytes), (2, 12));
    assert_eq!(b.fake.objects(), [""; 0]);
}

/// A process that died before it completed a multipart upload.
#[tokio::test]
async fn an_unfinished_multipart_upload_is_aborted_when_it_is_old() {
    let b = bucket().await;
    for key in ["pre/fix/dead", "pre/fix/dead too", "elsewhere/alive"] {
        let name = key.replace(' ', "%20");
        raw(reqwest::Method::POST, &format!("{}/bucket/{name}?uploads", b.fake.url)).await;
    }
    let begun = |at: &str| at.parse::<redrive_model::Timestamp>().unwrap();
    assert_eq!(b.s3.sweep_temps(begun("2026-11-16T07:59:59Z"), 10).await.unwrap().removed, 0, "too young");
    assert_eq!(b.s3.sweep_temps(begun("2026-11-16T08:00:01Z"), 1).await.unwrap().removed, 1, "bounded");
    assert_eq!(b.s3.sweep_temps(begun("2026-11-16T08:00:01Z"), 10).await.unwrap().removed, 1);
    assert_eq!(b.fake.unfinished(), 1, "what lies outside of the prefix is somebody else's");
}

#[tokio::test]
async fn more_unfinished_uploads_than_a_page_are_found_behind_those_of_others() {
    let b = bucket().await;
    let ours = ["pre/fix/1", "pre/fix/2", "pre/fix/3", "pre/fix/3", "pre/fix/4"];
    for key in ["a/1", "a/2", "a/3"].into_iter().chain(ours) {
        raw(reqwest::Method::POST, &format!("{}/bucket/{key}?uploads", b.fake.url)).await;
    }
    let later = "2026-11-17T08:00:00Z".parse().unwrap();
    assert_eq!(b.s3.sweep_temps(later, 10).await.unwrap().removed, 5);
    assert_eq!(b.fake.unfinished(), 3);
}

/// The same on a server that others wrote. All its uploads are of the year 2010.
#[tokio::test]
async fn an_unfinished_multipart_upload_is_aborted_on_moto() {
    let Some(kit) = Kit::moto().await else { return };
    let url = crate::kit::var("REDRIVE_TEST_MOTO").unwrap();
    let name = format!("unfinished{}", crate::kit::once());
    let bucket = format!("{url}/{name}");
    raw(reqwest::Method::PUT, &bucket).await;
    for key in ["pre/fix/dead", "elsewhere/alive"] {
        raw(reqwest::Method::POST, &format!("{bucket}/{key}?uploads")).await;
    }
    let s3 = S3::open(settings(&url, &name, kit.home.path())).await.unwrap();
    assert_eq!(s3.sweep_temps(later(3_600), 10).await.unwrap().removed, 1);
    let left = raw(reqwest::Method::GET, &format!("{bucket}?uploads")).await;
    assert!(!left.contains("pre/fix/dead") && left.contains("elsewhere/alive"), "{left}");
}
