//! Downloads that break off: what is asked again, and from where.

use std::time::Duration;

use redrive_engine::Code;
use redrive_lab::origin::{Answer, Origin};

use crate::bench::{Bench, noise, quick, resource, until};

/// The first bytes that were asked for, question by question.
fn froms(origin: &Origin, path: &str) -> Vec<Option<usize>> {
    origin.heard(path).iter().map(|heard| heard.request.from()).collect()
}

#[tokio::test]
async fn after_a_cut_the_rest_is_asked_for_within_the_attempt() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    let bytes = noise(300_000);
    origin.say("/a", [Answer::Cut(bytes.clone(), 200_000), Answer::Bytes(bytes.clone())]);
    let row = bench.fetch(&origin.url("/a")).await;
    assert_eq!(bench.stored(&row).await.1, bytes);
    assert_eq!((row.attempt, froms(&origin, "/a")), (1, vec![None, Some(200_000)]));
    let second = &origin.heard("/a")[1].request;
    assert!(second.header("if-range").unwrap().starts_with('"'), "{second:?}");
    assert_eq!(bench.temps(), 0);
    running.drain().await;
}

#[tokio::test]
async fn what_breaks_off_twice_is_kept_for_the_next_attempt() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    let bytes = noise(300_000);
    let cut = |at| Answer::Cut(bytes.clone(), at);
    origin.say("/a", [cut(100_000), cut(50_000), cut(25_000), Answer::Bytes(bytes.clone())]);
    let row = bench.fetch(&origin.url("/a")).await;
    assert_eq!(bench.stored(&row).await.1, bytes);
    assert_eq!(row.attempt, 2);
    assert_eq!(froms(&origin, "/a"), [None, Some(100_000), Some(150_000), Some(175_000)]);
    let attempts = bench.engine.attempts(row.id).await.unwrap();
    assert_eq!(attempts[0].code, Some(Code::DownloadTruncated));
    assert!(
        attempts[0].message.as_deref().unwrap().contains("after 150000 bytes of 300000"),
        "{attempts:#?}"
    );
    assert_eq!(bench.temps(), 0);
    running.drain().await;
}

#[tokio::test]
async fn without_a_strong_validator_everything_is_asked_for_again() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    let bytes = noise(10_000);
    for (path, etag) in [("/weak", "W/\"a\""), ("/odd", "a"), ("/none", "")] {
        origin.say(path, [Answer::CutAs(etag.into(), bytes.clone(), 5_000), Answer::Bytes(bytes.clone())]);
        let row = bench.fetch(&origin.url(path)).await;
        assert_eq!((bench.stored(&row).await.1, row.attempt), (bytes.clone(), 2), "{path}");
        assert_eq!(froms(&origin, path), [None, None], "{path}");
    }
    origin.say("/chunks", [Answer::CutChunks(bytes.clone(), 5_000), Answer::Bytes(bytes.clone())]);
    let row = bench.fetch(&origin.url("/chunks")).await;
    assert_eq!((bench.stored(&row).await.1, row.attempt), (bytes, 1), "chunks may have a validator too");
    assert_eq!(froms(&origin, "/chunks"), [None, Some(5_000)]);
    running.drain().await;
}

#[tokio::test]
async fn a_rest_that_does_not_fit_is_thrown_away_and_all_is_fetched_anew() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    let (old, new) = (noise(10_000), noise(12_000)[1_000..].to_vec());
    for (path, second, third, requests) in [
        // It changed, and the server says so: 200 with all of it.
        ("/changed", Answer::Bytes(new.clone()), None, vec![None, Some(5_000)]),
        // The server knows no ranges.
        ("/none", Answer::NoRange(new.clone()), None, vec![None, Some(5_000)]),
        // It changed, and the server gives the rest of the new one all the same.
        (
            "/lies",
            Answer::AnyRange(new.clone()),
            Some(Answer::Bytes(new.clone())),
            vec![None, Some(5_000), None],
        ),
        (
            "/wrong",
            Answer::WrongRange(old.clone()),
            Some(Answer::Bytes(new.clone())),
            vec![None, Some(5_000), None],
        ),
        ("/416", Answer::status(416), Some(Answer::Bytes(new.clone())), vec![None, Some(5_000), None]),
    ] {
        origin.say(path, [Answer::Cut(old.clone(), 5_000), second].into_iter().chain(third));
        let row = bench.fetch(&origin.url(path)).await;
        assert_eq!(bench.stored(&row).await.1, new, "{path}");
        assert_eq!((row.attempt, froms(&origin, path)), (1, requests), "{path}");
    }
    assert_eq!(bench.temps(), 0);
    running.drain().await;
}

#[tokio::test]
async fn a_part_of_nobody_knows_how_much_is_no_rest() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    let bytes = noise(10_000);
    let short = Answer::PartOfUnknown(bytes.clone(), 1_000);
    origin.say("/a", [Answer::CutChunks(bytes.clone(), 5_000), short, Answer::Bytes(bytes.clone())]);
    let row = bench.fetch(&origin.url("/a")).await;
    assert_eq!(bench.stored(&row).await.1, bytes);
    assert_eq!((row.attempt, froms(&origin, "/a")), (1, vec![None, Some(5_000), None]));
    // Where the first answer has said how much there is, the rest is known to be one.
    let rest = Answer::PartOfUnknown(bytes.clone(), 5_000);
    origin.say("/known", [Answer::Cut(bytes.clone(), 5_000), rest]);
    let row = bench.fetch(&origin.url("/known")).await;
    assert_eq!((bench.stored(&row).await.1, froms(&origin, "/known")), (bytes, vec![None, Some(5_000)]));
    running.drain().await;
}

#[tokio::test]
async fn parts_that_make_something_else_than_expected_are_fetched_again_as_a_whole() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    let right = noise(10_000);
    let mut wrong = right.clone();
    wrong[9_000] ^= 1;
    // The same ETag for other bytes: only the hash can tell.
    let as_right = |bytes: &[u8]| Answer::With(bytes.to_vec(), vec![("etag".into(), "\"same\"".into())]);
    let mut wanted = resource(&origin.url("/a"));
    wanted.sha256 = Some(redrive_blob::Sha256::of(&right));
    origin.say(
        "/a",
        [Answer::CutAs("\"same\"".into(), right.clone(), 5_000), as_right(&wrong), as_right(&right)],
    );
    let row = bench.ended(bench.enqueue(&wanted).await).await;
    assert_eq!(bench.stored(&row).await.1, right);
    assert_eq!((row.attempt, froms(&origin, "/a")), (2, vec![None, Some(5_000), None]));
    running.drain().await;
}

#[tokio::test]
async fn a_length_that_is_a_lie_is_never_a_whole_download() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    let bytes = noise(10_000);
    origin.say("/longer", [Answer::Longer(bytes.clone(), 5)]);
    let (code, attempts) = bench.fails(&resource(&origin.url("/longer"))).await;
    assert_eq!((code, attempts.len()), (Code::DownloadTruncated, 4));
    origin.say("/shorter", [Answer::Shorter(bytes.clone(), 4_000)]);
    let row = bench.fetch(&origin.url("/shorter")).await;
    assert_eq!(bench.stored(&row).await.1, bytes[..6_000], "what was announced is what it is");
    running.drain().await;
}

#[tokio::test]
async fn a_stop_keeps_what_came_and_the_next_start_goes_on() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let bytes = noise(300_000);
    origin.say("/a", [Answer::Stall(bytes.clone(), 200_000), Answer::Bytes(bytes.clone())]);
    let patient = || redrive_fetch::DownloadOptions { slow_after: Duration::from_secs(20), ..quick() };
    let running = bench.start_with(patient());
    let id = bench.enqueue(&resource(&origin.url("/a"))).await;
    let temps = bench.home.path().join("fetched/.redrive-temp");
    let size = |entry: std::fs::DirEntry| entry.metadata().map_or(0, |meta| meta.len());
    // Bytes gather to blocks before they are written.
    until(|| std::fs::read_dir(&temps).unwrap().flatten().map(size).sum::<u64>() >= 128 << 10).await;
    running.drain().await;
    let running = bench.start_with(patient());
    let row = bench.ended(id).await;
    assert_eq!((bench.stored(&row).await.1, row.attempt), (bytes, 1), "a release costs nothing");
    assert_eq!(froms(&origin, "/a"), [None, Some(200_000)]);
    running.drain().await;
}
