//! What becomes of a resource for every way in which an origin can answer, and how often it is asked.

use redrive_engine::Code;
use redrive_engine::model::State;
use redrive_lab::nobody::Nobody;
use redrive_lab::origin::{Answer, Origin, body_of};

use crate::bench::{Bench, resource};

#[tokio::test]
async fn a_resource_is_stored_and_the_row_says_where() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    let row = bench.fetch(&origin.url("/a/photo.jpg?size=2")).await;
    let (made, bytes) = bench.stored(&row).await;
    assert_eq!(bytes, body_of("/a/photo.jpg?size=2"));
    assert_eq!((made.content_type.as_deref(), made.status), (Some("text/plain"), 200));
    assert!(made.key.starts_with("batch/") && made.key.ends_with("-photo.jpg"), "{}", made.key);
    let heard = origin.heard("/a/photo.jpg?size=2");
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0].request.header("accept-encoding"), Some("identity"));
    assert_eq!(heard[0].request.header("accept"), Some("*/*"));
    assert!(heard[0].request.header("user-agent").unwrap().starts_with("redrive/"));
    assert_eq!(bench.temps(), 0);
    running.drain().await;
}

/// Also covers: M33.
#[tokio::test]
async fn each_status_is_asked_for_as_often_as_it_may_help() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    for (status, code, requests) in [
        (400, Code::DownloadHttp4xx, 1),
        (401, Code::DownloadHttp4xx, 1),
        (403, Code::DownloadHttp4xx, 1),
        (404, Code::DownloadHttp4xx, 1),
        (410, Code::DownloadHttp4xx, 1),
        (408, Code::DownloadHttp4xxTransient, 4),
        (425, Code::DownloadHttp4xxTransient, 4),
        (500, Code::DownloadHttp5xx, 4),
        (501, Code::DownloadHttp5xxPermanent, 1),
        (503, Code::DownloadHttp5xx, 4),
        (505, Code::DownloadHttp5xxPermanent, 1),
        (507, Code::DownloadHttp5xxPermanent, 1),
        (526, Code::DownloadHttp5xxPermanent, 1),
        (530, Code::DownloadHttp5xx, 4),
        (204, Code::DownloadBadResponse, 4),
        (304, Code::DownloadBadResponse, 4),
    ] {
        let path = format!("/{status}");
        origin.say(&path, [Answer::status(status)]);
        let (found, attempts) = bench.fails(&resource(&origin.url(&path))).await;
        assert_eq!((found, origin.count(&path)), (code, requests), "{status}");
        let context: serde_json::Value =
            serde_json::from_str(attempts[0].context.as_deref().unwrap()).unwrap();
        assert_eq!(context["attempt"], 1);
        assert!(context["proxy"].is_null());
        if status >= 400 {
            assert_eq!(
                (context["status"].as_u64(), attempts[0].target_status),
                (Some(u64::from(status)), Some(status))
            );
        }
    }
    assert_eq!((bench.keys().await, bench.temps()), (0, 0));
    running.drain().await;
}

#[tokio::test]
async fn what_passes_is_fetched_with_as_few_questions_as_can_be() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    for (path, answer, attempts) in [
        ("/500", Answer::status(500), 2),
        ("/garbage", Answer::Garbage, 2),
        // A connection that broke is made once more within the attempt.
        ("/reset", Answer::Reset, 1),
        ("/close", Answer::Close, 1),
        ("/silence", Answer::Silence, 2),
    ] {
        origin.once(path, [answer]);
        let row = bench.fetch(&origin.url(path)).await;
        assert_eq!(bench.stored(&row).await.1, body_of(path), "{path}");
        assert_eq!((row.attempt, origin.count(path)), (attempts, 2), "{path}");
    }
    running.drain().await;
}

#[tokio::test]
async fn a_connection_that_always_breaks_is_told_as_such() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    for (path, answer) in [("/reset", Answer::Reset), ("/close", Answer::Close)] {
        origin.say(path, [answer]);
        let (code, attempts) = bench.fails(&resource(&origin.url(path))).await;
        assert_eq!((code, attempts.len(), origin.count(path)), (Code::DownloadConnect, 4, 8), "{path}");
    }
    let nobody = Nobody::new().unwrap();
    let url = format!("http://{}/", nobody.address().unwrap());
    let (code, attempts) = bench.fails(&resource(&url)).await;
    assert_eq!((code, attempts.len()), (Code::DownloadConnect, 4));
    assert!(attempts[0].message.as_deref().unwrap().ends_with(": no connection"), "{attempts:#?}");
    running.drain().await;
}

#[tokio::test]
async fn a_wrong_checksum_is_found_and_nothing_is_stored() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    let mut wanted = resource(&origin.url("/a"));
    wanted.sha256 = Some(redrive_blob::Sha256::of(b"something else"));
    let (code, attempts) = bench.fails(&wanted).await;
    assert_eq!((code, attempts.len(), origin.count("/a")), (Code::DownloadChecksum, 1, 1));
    assert_eq!((bench.keys().await, bench.temps()), (0, 0));
    wanted.id = "right".into();
    wanted.sha256 = Some(redrive_blob::Sha256::of(&body_of("/a")));
    let row = bench.ended(bench.enqueue(&wanted).await).await;
    assert_eq!(row.state, State::Complete);
    running.drain().await;
}

#[tokio::test]
async fn what_comes_encoded_unasked_is_stored_as_it_came_and_never_unfolds() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    // Whatever it would unfold to: nobody unfolds it.
    let bomb = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0x04, 0, 0x43, 0xbe, 0xb7, 0xe8, 1, 0, 0, 0];
    origin.say("/bomb", [Answer::with(bomb, "content-encoding", "gzip")]);
    let row = bench.fetch(&origin.url("/bomb")).await;
    let (made, bytes) = bench.stored(&row).await;
    assert_eq!((bytes.as_slice(), made.content_encoding.as_deref()), (&bomb[..], Some("gzip")));
    running.drain().await;
}

#[tokio::test]
async fn connections_are_used_again_also_after_a_refusal() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    for n in 0..20 {
        let path = format!("/{n}");
        if n % 2 == 0 {
            origin.say(&path, [Answer::Status(404, Vec::new(), "x".repeat(2_000))]);
        }
        bench.fetch(&origin.url(&path)).await;
    }
    assert_eq!((origin.requests(), origin.connections()), (20, 1));
    running.drain().await;
}

#[tokio::test]
async fn an_object_of_a_dead_attempt_whose_origin_changed_is_no_conflict() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    let mut first = resource(&origin.url("/a"));
    let key = first.key().unwrap();
    redrive_blob::BlobsExt::put_bytes(&*bench.place, &key, "as it was".into()).await.unwrap();
    let row = bench.ended(bench.enqueue(&first).await).await;
    let (made, _) = bench.stored(&row).await;
    let own = redrive_blob::Sha256::of(first.id.as_bytes()).to_string();
    assert_eq!(made.key, format!("{key}-{}", &own[..16]));
    // The next one to find both names taken gets the number of its lease too.
    origin.say("/a", [Answer::Bytes(b"as it is now".to_vec())]);
    first.manifest = "manifests/again".into();
    let row = bench.ended(bench.enqueue(&first).await).await;
    assert_eq!(bench.stored(&row).await.0.key, format!("{key}-{}-1", &own[..16]));
    first.shared = true;
    first.manifest = "manifests/2".into();
    assert_eq!(bench.fails(&first).await.0, Code::UploadConflict, "what others put is never stepped around");
    running.drain().await;
}
