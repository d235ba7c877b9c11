//! What every place promises, as functions over the trait, run on each of them.

use bytes::Bytes;
use futures::{StreamExt, stream};
use redrive_blob::{BlobError, BlobsExt, ByteRange, Mark, Placed, PutError, Removed, Sha256};

use crate::kit::{Kit, collect, earlier, files_below, k, later, noise};

macro_rules! on_every_place {
    ($($case:ident),+ $(,)?) => {
        mod folder {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() { super::$case(&super::Kit::folder().await).await; })+
        }
        mod scratch {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() { super::$case(&super::Kit::scratch().await).await; })+
        }
        mod s3s {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() { super::$case(&super::Kit::s3s().await).await; })+
        }
        mod moto {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                if let Some(kit) = super::Kit::moto().await { super::$case(&kit).await; }
            })+
        }
    };
}

on_every_place! {
    a_put_is_there_with_its_size_hash_and_age,
    the_key_may_be_chosen_when_the_hash_is_known,
    an_empty_artifact_is_an_artifact,
    the_same_bytes_again_are_adopted_and_other_bytes_are_refused,
    a_body_over_the_limit_leaves_nothing,
    a_dropped_upload_leaves_nothing,
    an_upload_goes_on_where_it_was_marked,
    what_was_sealed_and_marked_needs_no_second_sending,
    what_is_sealed_can_be_looked_at_before_it_has_its_key,
    a_mark_whose_bytes_are_others_is_not_gone_on_with,
    a_stream_that_breaks_off_leaves_nothing,
    ranges_are_read_as_http_says,
    what_is_not_there_is_not_found,
    names_that_people_give_go_in_and_come_out,
    deleting_twice_is_deleting_once,
    only_the_old_is_deleted_when_only_the_old_may_be,
    a_list_has_whole_segments_only,
    a_large_body_comes_back_and_is_put_once,
    twenty_puts_of_the_same_bytes_are_one,
    a_copy_is_made_once_and_the_source_stays,
    a_damaged_read_errs_instead_of_ending,
    small_chunks_and_large_chunks_make_the_same,
}

async fn a_put_is_there_with_its_size_hash_and_age(kit: &Kit) {
    let bytes = noise(300_000, 1);
    let stored = kit.put("job/7", bytes.clone()).await;
    assert_eq!((stored.bytes, stored.sha256, stored.placed), (300_000, Sha256::of(&bytes), Placed::New));
    let head = kit.blobs.head(&k("job/7")).await.unwrap();
    assert_eq!(head.bytes, 300_000);
    assert!(head.modified > earlier(120) && head.modified < later(120), "{head:?}");
    // A bucket keeps the hash with the object, a folder has no place for it.
    assert_eq!(head.sha256, kit.s3.as_ref().map(|_| stored.sha256));
    assert_eq!(kit.get("job/7").await, bytes);
    kit.blobs.verify(&k("job/7"), &stored.sha256).await.unwrap();
    assert_eq!(kit.keys().await, ["job/7"]);
    assert_eq!(kit.temps().await, 0);
}

async fn the_key_may_be_chosen_when_the_hash_is_known(kit: &Kit) {
    let mut upload = kit.blobs.begin(100).await.unwrap();
    upload.write("hello ").await.unwrap();
    upload.write("world").await.unwrap();
    assert_eq!(upload.bytes(), 11);
    let mut sealed = upload.seal().await.unwrap();
    assert_eq!((sealed.bytes(), sealed.sha256()), (11, Sha256::of(b"hello world")));
    assert_eq!(kit.keys().await, [""; 0], "nothing is visible before it has its key");
    let key = format!("by-hash/{}", sealed.sha256());
    sealed.finish(&k(&key)).await.unwrap();
    assert_eq!(kit.get(&key).await, b"hello world");
}

async fn an_empty_artifact_is_an_artifact(kit: &Kit) {
    let stored = kit.put("empty", "").await;
    assert_eq!((stored.bytes, stored.sha256), (0, Sha256::of(b"")));
    assert_eq!(kit.get("empty").await, b"");
    assert_eq!(kit.blobs.head(&k("empty")).await.unwrap().bytes, 0);
    assert_eq!(kit.put("empty", "").await.placed, Placed::Adopted);
}

async fn the_same_bytes_again_are_adopted_and_other_bytes_are_refused(kit: &Kit) {
    kit.put("a/b", "first").await;
    assert_eq!(kit.put("a/b", "first").await.placed, Placed::Adopted);
    for other in ["other", "a longer other", ""] {
        let error = kit.blobs.put_bytes(&k("a/b"), other.into()).await.unwrap_err();
        match &error {
            BlobError::AlreadyExists { key, there } => {
                assert_eq!((key.as_str(), *there), ("a/b", Sha256::of(b"first")));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(kit.get("a/b").await, b"first");
    let mut upload = kit.blobs.begin(10).await.unwrap();
    upload.write("other").await.unwrap();
    let mut sealed = upload.seal().await.unwrap();
    sealed.finish(&k("a/b")).await.unwrap_err();
    sealed.finish(&k("a/b (2)")).await.unwrap();
    assert_eq!(kit.get("a/b (2)").await, b"other", "another name may be tried with the same upload");
    drop(sealed);
    assert_eq!(kit.temps().await, 0, "refused puts leave nothing behind");
}

async fn a_body_over_the_limit_leaves_nothing(kit: &Kit) {
    for (limit, length) in [(1_000, 1_001), (300_000, 300_001), (0, 1)] {
        let body = noise(length, 2);
        let chunks = stream::iter(
            body.chunks(700).map(|chunk| Ok::<_, ()>(Bytes::copy_from_slice(chunk))).collect::<Vec<_>>(),
        );
        match kit.blobs.put(&k("large"), chunks, limit).await {
            Err(PutError::Blob(BlobError::TooLarge { limit: said })) => assert_eq!(said, limit),
            other => panic!("{other:?}"),
        }
        let exact = stream::iter([Ok::<_, ()>(body.slice(..length - 1))]);
        kit.blobs.put(&k(&format!("exact-{limit}")), exact, limit).await.unwrap();
    }
    let mut upload = kit.blobs.begin(10).await.unwrap();
    upload.write("12345678901").await.unwrap_err();
    assert!(upload.write("1").await.is_err(), "an upload that was refused takes nothing more");
    assert!(upload.finish(&k("large")).await.is_err());
    assert_eq!(kit.keys().await, ["exact-0", "exact-1000", "exact-300000"]);
    assert_eq!(kit.temps().await, 0);
}

async fn a_dropped_upload_leaves_nothing(kit: &Kit) {
    let mut upload = kit.blobs.begin(1 << 20).await.unwrap();
    upload.write(noise(400_000, 3)).await.unwrap();
    drop(upload);
    let mut upload = kit.blobs.begin(1 << 20).await.unwrap();
    upload.write("x").await.unwrap();
    drop(upload.seal().await.unwrap());
    assert_eq!(kit.keys().await, [""; 0]);
    assert_eq!(kit.temps().await, 0);
    assert_eq!(
        files_below(kit.home.path())
            .iter()
            .filter(|(path, _)| path.starts_with(kit.home.path().join("spool")))
            .count(),
        0
    );
}

async fn an_upload_goes_on_where_it_was_marked(kit: &Kit) {
    let bytes = noise(300_000, 7);
    let mut upload = kit.blobs.begin(300_000).await.unwrap();
    upload.write(bytes[..200_000].to_vec()).await.unwrap();
    let mark = upload.mark().await.unwrap();
    assert!(kit.blobs.resume(&mark, 300_000).await.unwrap().is_none(), "somebody is still writing it");
    upload.write(noise(50_000, 8)).await.unwrap();
    drop(upload);
    // As it is kept in a row between two attempts.
    let mark: Mark = serde_json::from_str(&serde_json::to_string(&mark).unwrap()).unwrap();
    assert_eq!(mark.bytes(), 200_000);
    let mut upload = kit.blobs.resume(&mark, 300_000).await.unwrap().unwrap();
    assert_eq!(upload.bytes(), 200_000, "what came behind the mark does not count");
    upload.write(bytes[200_000..].to_vec()).await.unwrap();
    let stored = upload.finish(&k("a")).await.unwrap();
    assert_eq!((stored.bytes, stored.sha256), (300_000, Sha256::of(&bytes)));
    assert_eq!(kit.get("a").await, bytes);
    assert!(kit.blobs.resume(&mark, 300_000).await.unwrap().is_none(), "it has its name");
    assert_eq!(kit.temps().await, 0);
}

async fn what_was_sealed_and_marked_needs_no_second_sending(kit: &Kit) {
    let bytes = noise(300_000, 1);
    let mut upload = kit.blobs.begin(300_000).await.unwrap();
    upload.write(bytes.clone()).await.unwrap();
    let mut sealed = upload.seal().await.unwrap();
    let mark = sealed.mark().unwrap();
    drop(sealed);
    let upload = kit.blobs.resume(&mark, 300_000).await.unwrap().unwrap();
    assert_eq!(upload.finish(&k("a")).await.unwrap().sha256, Sha256::of(&bytes));
    assert_eq!(kit.temps().await, 0);
}

async fn what_is_sealed_can_be_looked_at_before_it_has_its_key(kit: &Kit) {
    for (key, size) in [("none", 0), ("small", 5), ("large", 300_000)] {
        let bytes = noise(size, 1);
        let mut upload = kit.blobs.begin(300_000).await.unwrap();
        upload.write(bytes.clone()).await.unwrap();
        let mut sealed = upload.seal().await.unwrap();
        for _ in 0..2 {
            let copy = tempfile::NamedTempFile::new().unwrap();
            sealed.copy_to(copy.as_file().try_clone().unwrap()).await.unwrap();
            assert_eq!(std::fs::read(copy.path()).unwrap(), bytes, "{key}");
            copy.as_file().set_len(1).unwrap();
        }
        sealed.finish(&k(key)).await.unwrap();
        assert_eq!(kit.get(key).await, bytes, "{key}");
        let copy = tempfile::tempfile().unwrap();
        assert!(sealed.copy_to(copy).await.is_err(), "it is finished");
    }
}

async fn a_mark_whose_bytes_are_others_is_not_gone_on_with(kit: &Kit) {
    let mut upload = kit.blobs.begin(10).await.unwrap();
    upload.write("hello").await.unwrap();
    let mark = upload.mark().await.unwrap();
    drop(upload);
    let forged = |from: &str, to: &str| -> Mark {
        let text = serde_json::to_string(&mark).unwrap();
        assert!(text.contains(from), "{text}");
        serde_json::from_str(&text.replace(from, to)).unwrap()
    };
    let hash = Sha256::of(b"hello").to_string();
    for other in [
        forged(&hash, &Sha256::of(b"other").to_string()),
        forged("\"bytes\":5", "\"bytes\":6"),
        forged("\"temp\":\"", "\"temp\":\"../"),
    ] {
        assert!(kit.blobs.resume(&other, 10).await.unwrap().is_none(), "{other:?}");
    }
    let mut over = kit.blobs.begin(5).await.unwrap();
    over.write("hello").await.unwrap();
    let mark = over.mark().await.unwrap();
    assert!(over.write("!").await.is_err());
    drop(over);
    assert!(kit.blobs.resume(&mark, 5).await.unwrap().is_none(), "what was refused is not kept");
    assert_eq!(kit.temps().await, 0);
}

async fn a_stream_that_breaks_off_leaves_nothing(kit: &Kit) {
    let body = stream::iter([Ok(noise(200_000, 4)), Err("the client went away")]);
    match kit.blobs.put(&k("cut"), body, 1 << 20).await {
        Err(PutError::Source(why)) => assert_eq!(why, "the client went away"),
        other => panic!("{other:?}"),
    }
    assert_eq!(kit.keys().await, [""; 0]);
    assert_eq!(kit.temps().await, 0);
}

async fn ranges_are_read_as_http_says(kit: &Kit) {
    let bytes = noise(400_000, 5);
    kit.put("r", bytes.clone()).await;
    kit.put("none", "").await;
    let within = |first, last| ByteRange::Within { first, last };
    for (range, expected) in [
        (ByteRange::From(0), 0..400_000),
        (ByteRange::From(399_999), 399_999..400_000),
        (within(0, 0), 0..1),
        (within(131_071, 131_073), 131_071..131_074),
        (within(399_000, 9_000_000), 399_000..400_000),
        (ByteRange::Last(5), 399_995..400_000),
        (ByteRange::Last(9_000_000), 0..400_000),
    ] {
        if kit.is_s3s && range == ByteRange::Last(9_000_000) {
            continue;
        }
        let reading = kit.blobs.read(&k("r"), Some(range)).await.unwrap();
        assert_eq!(
            (reading.range.clone(), reading.head.bytes),
            (expected.start..expected.end, 400_000),
            "{range:?}"
        );
        let expected = usize::try_from(expected.start).unwrap()..usize::try_from(expected.end).unwrap();
        assert_eq!(collect(reading).await, &bytes[expected], "{range:?}");
    }
    for range in [ByteRange::From(400_000), within(400_000, 400_001), within(3, 2), ByteRange::Last(0)] {
        let error = kit.blobs.read(&k("r"), Some(range)).await.unwrap_err();
        assert!(matches!(error, BlobError::Range { .. }), "{range:?}: {error:?}");
    }
    let error = kit.blobs.read(&k("none"), Some(ByteRange::From(0))).await.unwrap_err();
    assert!(matches!(error, BlobError::Range { .. }), "{error:?}");
    let error = kit.blobs.read(&k("missing"), Some(ByteRange::From(0))).await.unwrap_err();
    assert!(matches!(error, BlobError::NotFound { .. }), "{error:?}");
}

async fn what_is_not_there_is_not_found(kit: &Kit) {
    kit.put("a/b", "x").await;
    for missing in ["c", "a", "a/c", "a/b/c", "x/y/z"] {
        if kit.is_s3s && ["a", "a/b/c"].contains(&missing) {
            continue;
        }
        let head = kit.blobs.head(&k(missing)).await;
        assert!(matches!(head, Err(BlobError::NotFound { .. })), "{missing}: {head:?}");
        let read = kit.blobs.read(&k(missing), None).await.map(drop);
        assert!(matches!(read, Err(BlobError::NotFound { .. })), "{missing}: {read:?}");
    }
}

async fn names_that_people_give_go_in_and_come_out(kit: &Kit) {
    let mut names = [
        "Rechnungen 2026/März (final).pdf",
        "日本語/報告書.pdf",
        "100% + more & such; a=b?.pdf",
        "a#b~c'd\"e!f$g,h:i@j[k]l{m}n^o`p|q<r>s*.pdf",
        "%2e%2e/%2Fetc",
        " leading and trailing ",
        "emoji 🦀/x",
        "dots.../..a/b..",
        "-rf",
    ];
    for name in names {
        kit.put(name, name.to_owned()).await;
    }
    for name in names {
        assert_eq!(kit.get(name).await, name.as_bytes(), "{name}");
    }
    names.sort_unstable();
    assert_eq!(kit.keys().await, names);
    for name in names {
        assert!(matches!(kit.blobs.delete(&k(name)).await.unwrap(), Removed::Gone { .. }), "{name}");
    }
    assert_eq!(kit.keys().await, [""; 0]);
}

async fn deleting_twice_is_deleting_once(kit: &Kit) {
    kit.put("d/e/f", "12345").await;
    assert_eq!(kit.blobs.delete(&k("d/e/f")).await.unwrap(), Removed::Gone { bytes: 5 });
    for _ in 0..2 {
        assert_eq!(kit.blobs.delete(&k("d/e/f")).await.unwrap(), Removed::Missing);
    }
    assert_eq!(kit.blobs.delete(&k("never/was")).await.unwrap(), Removed::Missing);
    assert_eq!(kit.put("d/e/f", "others").await.placed, Placed::New, "its key is free again");
    if !kit.is_s3s {
        assert_eq!(kit.blobs.delete(&k("d")).await.unwrap(), Removed::Missing, "a folder is no artifact");
    }
    assert_eq!(kit.get("d/e/f").await, b"others");
}

async fn only_the_old_is_deleted_when_only_the_old_may_be(kit: &Kit) {
    kit.put("o", "12").await;
    assert_eq!(kit.blobs.delete_older(&k("o"), earlier(60)).await.unwrap(), Removed::Kept);
    assert_eq!(kit.get("o").await, b"12");
    assert_eq!(kit.blobs.delete_older(&k("o"), later(60)).await.unwrap(), Removed::Gone { bytes: 2 });
    assert_eq!(kit.blobs.delete_older(&k("o"), later(60)).await.unwrap(), Removed::Missing);
}

async fn a_list_has_whole_segments_only(kit: &Kit) {
    for key in ["a/1", "a/b/2", "ab/3", "a.4", "c"] {
        kit.put(key, key.to_owned()).await;
    }
    let under = |prefix: &'static str| async move {
        let mut keys: Vec<_> =
            kit.blobs.keys(Some(&k(prefix))).await.unwrap().iter().map(ToString::to_string).collect();
        keys.sort();
        keys
    };
    assert_eq!(under("a").await, ["a/1", "a/b/2"]);
    assert_eq!(under("a/b").await, ["a/b/2"]);
    assert_eq!(under("missing").await, [""; 0]);
    assert_eq!(under("c").await, [""; 0]);
    assert_eq!(kit.keys().await, ["a.4", "a/1", "a/b/2", "ab/3", "c"]);
    let listed: Vec<_> = kit.blobs.list(Some(&k("ab"))).collect().await;
    let one = listed[0].as_ref().unwrap();
    assert_eq!((one.key.as_str(), one.bytes), ("ab/3", 4));
    assert!(one.modified > earlier(120) && one.modified < later(120), "{one:?}");
}

async fn a_large_body_comes_back_and_is_put_once(kit: &Kit) {
    let bytes = noise((11 << 20) + 17, 6);
    let stored = kit.put("big", bytes.clone()).await;
    assert_eq!((stored.bytes, stored.sha256), (bytes.len() as u64, Sha256::of(&bytes)));
    assert_eq!(kit.blobs.hash(&k("big")).await.unwrap(), stored.sha256);
    let head = kit.blobs.head(&k("big")).await.unwrap();
    assert_eq!(head.sha256, kit.s3.as_ref().map(|_| stored.sha256), "parts keep the hash too");
    assert_eq!(kit.put("big", bytes.clone()).await.placed, Placed::Adopted);
    let other = noise((11 << 20) + 17, 7);
    let error = kit.blobs.put_bytes(&k("big"), other).await.unwrap_err();
    assert!(matches!(error, BlobError::AlreadyExists { there, .. } if there == stored.sha256), "{error:?}");
    let range = ByteRange::Within { first: 5 << 20, last: (5 << 20) + 9 };
    let reading = kit.blobs.read(&k("big"), Some(range)).await.unwrap();
    assert_eq!(collect(reading).await, &bytes[5 << 20..(5 << 20) + 10]);
    assert_eq!(kit.keys().await, ["big"]);
    assert_eq!(kit.temps().await, 0);
}

async fn twenty_puts_of_the_same_bytes_are_one(kit: &Kit) {
    let bytes = noise(50_000, 8);
    let key = k("once/x");
    let puts = (0..20).map(|_| async {
        // A server that refuses before it has read everything may cut the connection; then the engine would try again.
        let mut answer = kit.blobs.put_bytes(&key, bytes.clone()).await;
        for _ in 0..5 {
            if answer.as_ref().is_err_and(BlobError::is_temporary) {
                answer = kit.blobs.put_bytes(&key, bytes.clone()).await;
            }
        }
        answer
    });
    let answers = futures::future::join_all(puts).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert!(answers.iter().any(|answer| answer.as_ref().unwrap().placed == Placed::New));
    assert_eq!(kit.get("once/x").await, bytes);
    assert_eq!(kit.keys().await, ["once/x"]);
    assert_eq!(kit.temps().await, 0);
}

async fn a_copy_is_made_once_and_the_source_stays(kit: &Kit) {
    let (from, to) = (k("queue/a b.pdf"), k("pdf/a b.pdf"));
    let bytes = noise(200_000, 9);
    kit.put(from.as_str(), bytes.clone()).await;
    let copied = kit.blobs.copy_once(&from, &to).await.unwrap();
    assert_eq!((copied.sha256, copied.placed), (Sha256::of(&bytes), Placed::New));
    assert_eq!(
        kit.blobs.copy_once(&from, &to).await.unwrap().placed,
        Placed::Adopted,
        "made again after a crash"
    );
    assert_eq!(kit.keys().await, ["pdf/a b.pdf", "queue/a b.pdf"]);
    kit.blobs.delete(&from).await.unwrap();
    assert_eq!(kit.get(to.as_str()).await, bytes);
    let gone = kit.blobs.copy_once(&from, &to).await.unwrap_err();
    assert!(matches!(gone, BlobError::NotFound { .. }), "{gone:?}");
    kit.put(from.as_str(), "a newer upload under the same name").await;
    let error = kit.blobs.copy_once(&to, &from).await.unwrap_err();
    assert!(matches!(error, BlobError::AlreadyExists { .. }), "{error:?}");
    assert_eq!(kit.get(from.as_str()).await, b"a newer upload under the same name");
}

async fn a_damaged_read_errs_instead_of_ending(kit: &Kit) {
    let good = kit.put("v", noise(300_000, 10)).await;
    assert_eq!(collect(kit.blobs.read_verified(&k("v"), good.sha256).await.unwrap()).await.len(), 300_000);
    let reading = kit.blobs.read_verified(&k("v"), Sha256::of(b"something else")).await.unwrap();
    let items: Vec<_> = reading.bytes.collect().await;
    assert!(matches!(items.last(), Some(Err(BlobError::Corrupt { .. }))), "{:?}", items.last());
    let error = kit.blobs.verify(&k("v"), &Sha256::of(b"")).await.unwrap_err();
    assert!(matches!(error, BlobError::Corrupt { .. }), "{error:?}");
}

async fn small_chunks_and_large_chunks_make_the_same(kit: &Kit) {
    let bytes = noise(700_001, 11);
    for (n, sizes) in
        [&[1_000][..], &[1, 200_000, 3], &[131_072], &[131_071, 131_073], &[700_001]].iter().enumerate()
    {
        let mut upload = kit.blobs.begin(bytes.len() as u64).await.unwrap();
        let (mut at, mut sizes) = (0, sizes.iter().cycle());
        while at < bytes.len() {
            let end = bytes.len().min(at + sizes.next().unwrap());
            upload.write(bytes.slice(at..end)).await.unwrap();
            at = end;
        }
        let stored = upload.finish(&k(&format!("same/{n}"))).await.unwrap();
        assert_eq!(stored.sha256, Sha256::of(&bytes));
        assert_eq!(kit.get(&format!("same/{n}")).await, bytes);
    }
}
