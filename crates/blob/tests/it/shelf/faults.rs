//! A bucket that refuses, resets and loses answers in the middle of a move: told apart, not retried here, and nothing is lost.

use std::sync::Arc;
use std::time::Duration;

use redrive_blob::shelf::{BucketShelf, Meta, MovePoint, MoveSeam, Relocated, Shelf};
use redrive_blob::{BlobError, Sha256};
use redrive_model::Code;

use crate::fake_s3::{Fake, Fault, Keeps};
use crate::kit::{k, settings};

use super::kit::{Hook, Person};

const A: &[u8] = b"%PDF-1.7 the first";
const B: &[u8] = b"%PDF-1.7 the second";

struct Bucket {
    fake: Fake,
    shelf: BucketShelf,
    hook: Arc<Hook>,
    person: Person,
    _home: tempfile::TempDir,
}

async fn bucket_keeping(keeps: bool) -> Bucket {
    let fake = Fake::keeping(Keeps { put: keeps, complete: keeps }).await;
    let (home, hook) = (tempfile::tempdir().unwrap(), Arc::new(Hook::default()));
    let mut settings = settings(&fake.url, "bucket", home.path());
    settings.read_timeout = Duration::from_millis(500);
    let shelf = BucketShelf::open_with(settings, Arc::clone(&hook) as _).await.unwrap();
    assert_eq!(fake.objects(), [""; 0], "the probes are gone");
    fake.forget();
    let person = Person::at(&fake.url, "bucket");
    Bucket { fake, shelf, hook, person, _home: home }
}

async fn bucket() -> Bucket {
    bucket_keeping(true).await
}

impl Bucket {
    async fn put(&self, key: &str, bytes: &'static [u8]) -> String {
        self.person.put_with(key, bytes, &[("uploaded-by", "anna")]).await;
        let version = self.shelf.look(&k(key)).await.unwrap().unwrap().0.version;
        self.fake.forget();
        version
    }

    async fn relocate(&self, version: &str) -> Result<Relocated, BlobError> {
        let (from, to) = (k("queue/a.pdf"), k("pdf/a.pdf"));
        self.shelf.relocate(&from, &version.to_owned(), &to, &Meta::new()).await
    }

    fn holds(&self, expected: &[(&str, &[u8])]) {
        let names: Vec<String> = expected.iter().map(|(name, _)| format!("pre/fix/{name}")).collect();
        assert_eq!(self.fake.objects(), names);
        for (name, (_, bytes)) in names.iter().zip(expected) {
            assert_eq!(self.fake.bytes(name).as_deref(), Some(*bytes), "{name}");
        }
    }
}

/// Also covers: M38.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_in_a_move_are_told_apart_and_not_retried() {
    let b = bucket().await;
    for (call, fault, code) in [
        ("COPY", Fault::Refuse(500, "InternalError", None), Code::UploadS3Error),
        ("COPY", Fault::Refuse(503, "SlowDown", Some("7")), Code::UploadThrottled),
        ("COPY", Fault::Refuse(403, "AccessDenied", None), Code::UploadAccessDenied),
        ("COPY", Fault::Refuse(404, "NoSuchBucket", None), Code::UploadNoBucket),
        ("COPY", Fault::Refuse(507, "QuotaExceeded", None), Code::UploadThrottled),
        ("COPY", Fault::Reset, Code::UploadS3Error),
        ("COPY", Fault::ErrorBody("InternalError"), Code::UploadS3Error),
        ("COPY", Fault::ErrorBody("SlowDown"), Code::UploadThrottled),
        ("HEAD", Fault::Refuse(500, "", None), Code::UploadS3Error),
        ("HEAD", Fault::Refuse(403, "", None), Code::UploadAccessDenied),
        ("HEAD", Fault::Reset, Code::UploadS3Error),
        ("DELETE", Fault::Refuse(500, "InternalError", None), Code::StorageUnavailable),
        ("DELETE", Fault::Refuse(503, "SlowDown", Some("7")), Code::UploadThrottled),
        ("DELETE", Fault::Refuse(403, "AccessDenied", None), Code::StorageAccessDenied),
        ("DELETE", Fault::Reset, Code::StorageUnavailable),
    ] {
        let version = b.put("queue/a.pdf", A).await;
        b.fake.on(call, 1, fault.clone());
        let error = b.relocate(&version).await.unwrap_err();
        assert_eq!(error.code(), code, "{call} {fault:?}: {error:?}");
        assert!(b.fake.calls("COPY") <= 1 && b.fake.calls("DELETE") <= 1, "{call} {fault:?}: one try");
        if matches!(fault, Fault::Refuse(503, ..)) {
            assert_eq!(error.failure().retry_after, Some(Duration::from_secs(7)));
        }
        let said = format!("{error:?} {error}");
        assert!(
            !said.contains("Signature") && !said.contains("http://") && !said.contains("secret"),
            "{said}"
        );
        assert!(b.fake.objects().contains(&"pre/fix/queue/a.pdf".to_owned()), "{call} {fault:?}");
        // The same again, when the bucket is back.
        let moved = b.relocate(&version).await.unwrap();
        assert!(matches!(moved, Relocated::Done { .. }), "{call} {fault:?}: {moved:?}");
        b.holds(&[("pdf/a.pdf", A)]);
        b.person.remove("pdf/a.pdf").await;
    }
}

/// Also covers: M40.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_lost_is_looked_after() {
    let b = bucket().await;
    for call in ["COPY", "DELETE"] {
        let version = b.put("queue/a.pdf", A).await;
        b.fake.on(call, 1, Fault::LoseReply);
        let moved = b.relocate(&version).await.unwrap();
        assert!(matches!(moved, Relocated::Done { .. }), "{call}: {moved:?}");
        assert_eq!((b.fake.calls("COPY"), b.fake.calls("DELETE")), (1, 1), "{call}: nothing is done twice");
        b.holds(&[("pdf/a.pdf", A)]);
        b.person.remove("pdf/a.pdf").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_to_the_target_before_the_copy_is_not_overwritten() {
    let b = bucket().await;
    let version = b.put("queue/a.pdf", A).await;
    let person = b.person.clone();
    b.hook.on(MovePoint::BeforeCopy, async move { person.put("pdf/a.pdf", B).await });
    assert_eq!(b.relocate(&version).await.unwrap(), Relocated::Taken);
    b.holds(&[("pdf/a.pdf", B), ("queue/a.pdf", A)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_movers_of_one_object_make_one_move() {
    for keeps in [true, false] {
        let b = bucket_keeping(keeps).await;
        for _ in 0..5 {
            let version = b.put("queue/a.pdf", A).await;
            for moved in futures::future::join_all((0..8).map(|_| b.relocate(&version))).await {
                let moved = moved.unwrap();
                assert!(matches!(moved, Relocated::Done { .. }), "{keeps}: {moved:?}");
            }
            b.holds(&[("pdf/a.pdf", A)]);
            b.person.remove("pdf/a.pdf").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_is_replaced_before_the_copy_or_the_removal_stays() {
    for keeps in [true, false] {
        let b = bucket_keeping(keeps).await;
        let version = b.put("queue/a.pdf", A).await;
        let person = b.person.clone();
        b.hook.on(MovePoint::BeforeCopy, async move { person.put("queue/a.pdf", B).await });
        let moved = b.relocate(&version).await.unwrap();
        assert!(matches!(moved, Relocated::Changed { .. }), "{keeps}: {moved:?}");
        b.holds(&[("queue/a.pdf", B)]);
        let version = b.put("queue/a.pdf", A).await;
        let person = b.person.clone();
        b.hook.on(MovePoint::AfterCopy, async move { person.put("queue/a.pdf", B).await });
        let moved = b.relocate(&version).await.unwrap();
        assert!(matches!(moved, Relocated::Overtaken { .. }), "{keeps}: {moved:?}");
        b.holds(&[("pdf/a.pdf", A), ("queue/a.pdf", B)]);
    }
}

/// As with parts, or with keys of one's own: the copy's ETag is not that of its source.
#[tokio::test(flavor = "multi_thread")]
async fn copies_with_an_etag_of_their_own_are_recognised() {
    let b = bucket().await;
    b.fake.reseal();
    let version = b.put("queue/a.pdf", A).await;
    let moved = b.relocate(&version).await.unwrap();
    let Relocated::Done { version: now } = moved.clone() else { panic!("{moved:?}") };
    assert_ne!(now, version);
    assert_eq!(b.fake.calls("GET"), 0, "nothing was read");
    assert_eq!(b.relocate(&version).await.unwrap(), moved, "it was made before");
    b.holds(&[("pdf/a.pdf", A)]);
    // A copy whose maker died: nothing tells but the bytes.
    let version = b.put("queue/a.pdf", A).await;
    assert!(matches!(b.relocate(&version).await.unwrap(), Relocated::Done { .. }));
    assert_eq!(b.fake.calls("GET"), 2, "both were read");
    b.holds(&[("pdf/a.pdf", A)]);
    let version = b.put("queue/a.pdf", b"%PDF-1.7 the firsT").await;
    assert_eq!(b.relocate(&version).await.unwrap(), Relocated::Taken);
    b.holds(&[("pdf/a.pdf", A), ("queue/a.pdf", b"%PDF-1.7 the firsT")]);
    // A mark changes the ETag too; made twice it is made once.
    let meta = Meta::from([("retry-count".to_owned(), "2".to_owned())]);
    let tagged = b.shelf.tag(&k("queue/a.pdf"), &version, &meta).await.unwrap();
    assert!(tagged.is_some() && tagged.as_ref() != Some(&version));
    assert_eq!(b.shelf.tag(&k("queue/a.pdf"), &version, &meta).await.unwrap(), tagged);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hash_that_we_kept_spares_the_reading() {
    let b = bucket().await;
    b.fake.reseal();
    let hash = Some(Sha256::of(A).to_string());
    b.fake.plant_as("pre/fix/queue/a.pdf", A, hash.clone());
    let version = b.shelf.look(&k("queue/a.pdf")).await.unwrap().unwrap().0.version;
    b.hook.on(MovePoint::AfterCopy, async { panic!("the process dies") });
    b.relocate(&version).await.unwrap_err();
    b.holds(&[("pdf/a.pdf", A), ("queue/a.pdf", A)]);
    assert!(matches!(b.relocate(&version).await.unwrap(), Relocated::Done { .. }));
    assert_eq!(b.fake.calls("GET"), 0);
    b.holds(&[("pdf/a.pdf", A)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seam_that_fails_ends_the_move_there() {
    struct Failing(MovePoint);
    impl MoveSeam for Failing {
        fn at(&self, point: MovePoint) -> std::io::Result<()> {
            if point == self.0 { Err(std::io::Error::from_raw_os_error(5)) } else { Ok(()) }
        }
    }
    for (point, copies, removals) in
        [(MovePoint::BeforeCopy, 0, 0), (MovePoint::AfterCopy, 1, 0), (MovePoint::AfterDelete, 1, 1)]
    {
        let b = bucket().await;
        let version = b.put("queue/a.pdf", A).await;
        let settings = settings(&b.fake.url, "bucket", b._home.path());
        let failing = BucketShelf::open_with(settings, Arc::new(Failing(point))).await.unwrap();
        b.fake.forget();
        let error = failing.relocate(&k("queue/a.pdf"), &version, &k("pdf/a.pdf"), &Meta::new()).await;
        assert_eq!(error.unwrap_err().code(), Code::IoError);
        assert_eq!((b.fake.calls("COPY"), b.fake.calls("DELETE")), (copies, removals), "{point:?}");
        assert!(matches!(b.relocate(&version).await.unwrap(), Relocated::Done { .. }), "{point:?}");
        b.holds(&[("pdf/a.pdf", A)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_no_keys_and_empty_folders_are_passed_over() {
    use futures::TryStreamExt;
    let b = bucket().await;
    b.put("queue/a.pdf", A).await;
    for name in ["queue/", "queue/x//y", "queue/../up", "queue/back\\slash", "queue2/b.pdf", "queue"] {
        b.fake.plant(&format!("pre/fix/{name}"), b"?");
    }
    let items: Vec<_> = b.shelf.list(&k("queue")).try_collect().await.unwrap();
    assert_eq!(items.iter().map(|item| item.key.as_str()).collect::<Vec<_>>(), ["queue/a.pdf"]);
    assert_eq!(b.shelf.root(), "s3://bucket/pre/fix");
}
