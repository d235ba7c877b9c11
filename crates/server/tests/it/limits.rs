//! What nobody may take: rates, quotas, places, room.

use std::time::Duration;

use redrive_blob::room::Room;
use redrive_server::Rate;

use crate::client::{Answer, Client};
use crate::fetch::{accepted, ended};
use crate::gateway::Mood;
use crate::world::{World, eventually, pdf};

const NONE: Rate = Rate { burst: 2.0, per_second: 0.001 };

#[tokio::test]
async fn one_who_asks_too_often_is_told_when_to_come_again() {
    let world = World::with(|setup| {
        (setup.mappings, setup.limits.rates.upload, setup.limits.rates.act) = (None, NONE, NONE);
        setup.limits.rates.address_factor = 2.0;
    })
    .await;
    let mut client = world.client();
    let first = client.upload("a.pdf", &pdf(1), None).await;
    assert_eq!(first.status, 201);
    for n in 2..4 {
        assert_eq!(client.upload("a.pdf", &pdf(n), None).await.status, 201);
    }
    let answer = client.upload("a.pdf", &pdf(4), None).await;
    assert_eq!((answer.status, answer.code().as_str()), (429, "RATE_LIMITED"));
    // Another name for oneself is not believed, and the address has a limit too.
    let mut stranger = world.client();
    let spoofed = [("x-forwarded-for", "203.0.113.7")];
    assert_eq!(stranger.upload_with("a.pdf", &pdf(5), None, &spoofed).await.code(), "RATE_LIMITED");
    // Looking is another thing.
    assert_eq!(client.get(&format!("/api/jobs/{}", first.job_id())).await.status, 200);
    for expected in [202, 409, 429] {
        let answer = client.post(&format!("/api/jobs/{}/cancel", first.job_id())).await;
        assert!(answer.status == expected || (expected == 202 && answer.status == 409), "{}", answer.status);
    }
}

/// Who asks too often is not looked up: neither session nor token is asked for.
#[tokio::test]
async fn an_address_is_counted_before_anybody_asks_who_it_is() {
    let world = World::with(|setup| {
        (setup.mappings, setup.limits.rates.look, setup.limits.rates.address_factor) = (None, NONE, 1.0);
    })
    .await;
    let mut guesser = world.client().with_token("not-the-operators-token");
    for expected in ["AUTH_REQUIRED", "AUTH_REQUIRED", "RATE_LIMITED"] {
        assert_eq!(guesser.get("/api/jobs").await.code(), expected);
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(world.client().get(path).await.status, 200, "{path} has no rate");
    }
}

#[tokio::test]
async fn a_server_that_stops_is_not_ready() {
    let world = World::start().await;
    world.app.stop();
    let answers = [world.client().get("/healthz").await.status, world.client().get("/readyz").await.status];
    assert_eq!(answers, [200, 503]);
}

#[tokio::test]
async fn sessions_of_one_address_have_a_rate() {
    let world = World::with(|setup| setup.limits.rates.session = NONE).await;
    for _ in 0..2 {
        assert_eq!(world.client().get("/api/jobs").await.status, 200);
    }
    assert_eq!(world.client().get("/api/jobs").await.code(), "RATE_LIMITED");
}

#[tokio::test]
async fn a_session_has_a_quota_of_jobs_and_of_bytes() {
    let world = World::with(|setup| {
        (setup.works, setup.limits.active_per_session, setup.limits.jobs_per_session) = (false, 2, 3);
    })
    .await;
    let mut client = world.client();
    let first = client.upload("a.pdf", &pdf(1), None).await.job_id();
    client.upload("a.pdf", &pdf(2), None).await;
    let answer = client.upload("a.pdf", &pdf(3), None).await;
    assert_eq!((answer.status, answer.code().as_str()), (429, "RATE_LIMITED"));
    client.post(&format!("/api/jobs/{first}/cancel")).await;
    let third = client.upload("a.pdf", &pdf(3), None).await;
    assert_eq!(third.status, 201, "one has ended");
    client.post(&format!("/api/jobs/{}/cancel", third.job_id())).await;
    assert_eq!(client.upload("a.pdf", &pdf(4), None).await.code(), "RATE_LIMITED", "three in all");
    assert_eq!(world.client().upload("a.pdf", &pdf(4), None).await.status, 201, "somebody else");
    let world = World::with(|setup| {
        setup.limits.bytes_per_session = Rate { burst: 250.0, per_second: 0.001 };
    })
    .await;
    let mut client = world.client();
    assert_eq!(client.upload("a.pdf", &pdf(1), None).await.status, 201);
    assert_eq!(client.upload("a.pdf", &pdf(2), None).await.code(), "RATE_LIMITED");
}

#[tokio::test]
async fn an_upload_that_is_repeated_has_its_answer_also_when_no_quota_is_left() {
    let world = World::with(|setup| (setup.works, setup.limits.active_per_session) = (false, 1)).await;
    let (mut client, key) = (world.client(), [("idempotency-key", "one")]);
    let first = client.upload_with("a.pdf", &pdf(1), None, &key).await;
    let again = client.upload_with("a.pdf", &pdf(1), None, &key).await;
    assert_eq!((first.status, again.status, again.job_id()), (201, 201, first.job_id()));
    assert_eq!(client.upload_with("a.pdf", &pdf(2), None, &key).await.code(), "IDEMPOTENCY_MISMATCH");
    assert_eq!(client.upload("a.pdf", &pdf(2), None).await.code(), "RATE_LIMITED");
}

#[tokio::test]
async fn a_full_disk_or_queue_lets_nothing_in_before_a_byte_is_read() {
    let no_room = World::with(|setup| setup.limits.room = Room { soft: u64::MAX, hard: u64::MAX }).await;
    let mut client = no_room.client();
    let answer = client.upload("a.pdf", &pdf(1), None).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "OVERLOADED"));
    assert_eq!(client.get("/api/status").await.json()["accepting"], false);
    assert_eq!(client.get("/api/jobs").await.json()["jobs"].as_array().unwrap().len(), 0);
    let no_queue = World::with(|setup| setup.limits.queue_depth = 0).await;
    assert_eq!(no_queue.client().upload("a.pdf", &pdf(1), None).await.code(), "OVERLOADED");
    let no_time = World::with(|setup| (setup.works, setup.limits.queue_age) = (false, Duration::ZERO)).await;
    let mut client = no_time.client();
    assert_eq!(client.upload("a.pdf", &pdf(1), None).await.status, 201);
    // What was looked at a moment ago is believed; soon the one that waits is seen.
    let waiting = tokio::time::timeout(Duration::from_secs(20), async {
        while client.get("/api/status").await.json()["accepting"] == true {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    waiting.await.unwrap();
    assert_eq!(client.upload("a.pdf", &pdf(2), None).await.code(), "OVERLOADED");
}

/// Asks with a body of JSON.
async fn asked(client: &mut Client, path: &str, json: &'static str) -> Answer {
    let request = client.request("POST", path).header("content-type", "application/json");
    client.send(request.body(json)).await
}

fn is_full(answer: &Answer) {
    assert_eq!((answer.status, answer.code().as_str()), (503, "OVERLOADED"), "{}", answer.text());
    assert_eq!(answer.header("retry-after"), Some("30"));
}

/// What would fill a disk that is nearly full is refused wherever it begins, each disk for itself, until there is room.
#[tokio::test]
async fn on_a_full_disk_nothing_begins_or_begins_again() {
    let world = World::with(|setup| setup.limits.room = Room { soft: 1, hard: 1 }).await;
    world.gateway.mood(Mood::Refuses);
    let (mut client, mut operator) = (world.client(), world.operator());
    let id = world.converted(&mut client, "a.pdf", &pdf(1)).await;
    let letter = operator.get("/api/dead-letters").await.json()["dead_letters"][0]["offset"].to_string();
    let batch = accepted(&mut client, &["no-a"]).await;
    ended(&mut client, &batch).await;
    let of_convert = [
        (format!("/api/jobs/{id}/retry"), ""),
        (format!("/api/dead-letters/{letter}/replay"), ""),
        ("/api/replays".to_owned(), r#"{"filter":{"workload":"convert"}}"#),
    ];
    let of_fetch = [
        (format!("/api/fetch/{batch}/retry"), ""),
        ("/api/replays".to_owned(), r#"{"filter":{"workload":"fetch"}}"#),
        (
            "/api/fetch".to_owned(),
            r#"{"manifest_version":1,"resources":[{"id":"a","url":"https://a.example/"}]}"#,
        ),
    ];
    world.fetched.fill(true);
    assert_eq!(client.upload("b.pdf", &pdf(2), None).await.status, 201, "it goes elsewhere");
    for (path, json) in &of_fetch {
        is_full(&asked(&mut operator, path, json).await);
    }
    world.sources.fill(true);
    for (path, json) in &of_convert {
        is_full(&asked(&mut operator, path, json).await);
    }
    is_full(&client.upload("c.pdf", &pdf(3), None).await);
    assert_eq!(client.get("/api/status").await.json()["disk"], "full");
    world.sources.fill(false);
    world.fetched.fill(false);
    for (path, json) in of_convert.iter().take(1).chain(of_fetch.iter().take(1)) {
        assert_eq!(asked(&mut operator, path, json).await.status, 202, "{path} goes on by itself");
    }
}

/// Nobody needs to say how much comes: the room is looked at on the way too, and what has come is removed.
#[tokio::test]
async fn a_disk_that_fills_up_in_the_middle_of_a_body_ends_it() {
    let world = World::with(|setup| {
        setup.limits.room = Room { soft: 1, hard: 1 };
        setup.manifest_limits.held_bytes = 1_024;
    })
    .await;
    let url = format!("https://a.example/{}", "x".repeat(4_000));
    let lines: String = (0..1_500).map(|n| format!("{{\"id\":\"{n}\",\"url\":\"{url}\"}}\n")).collect();
    let large = [b"%PDF-1.4\n", &[b' '; 6 << 20][..]].concat();
    let form = crate::client::form(&[("file", Some("a.pdf"), &large)]);
    let fill = |full| {
        world.sources.fill(full);
        world.fetched.fill(full);
    };
    for (path, media, folder, body) in [
        ("/api/fetch", "application/x-ndjson", "manifests", lines.into_bytes()),
        ("/api/upload", "multipart/form-data; boundary=XX", "uploads", form),
    ] {
        let (sender, pieces) = futures::channel::mpsc::unbounded::<Result<Vec<u8>, std::io::Error>>();
        let request = world.client().request("POST", path).header("content-type", media);
        let asking = tokio::spawn(request.body(reqwest::Body::wrap_stream(pieces)).send());
        let (first, rest) = body.split_at(3 << 20);
        sender.unbounded_send(Ok(first.to_vec())).unwrap();
        eventually(async || (!world.files(folder).is_empty()).then_some(())).await;
        fill(true);
        sender.unbounded_send(Ok(rest.to_vec())).unwrap();
        drop(sender);
        let answer = asking.await.unwrap().unwrap();
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["retry-after"]),
            (503, &"30".parse().unwrap()),
            "{path}"
        );
        fill(false);
        eventually(async || world.files(folder).is_empty().then_some(())).await;
    }
}

#[tokio::test]
async fn uploads_at_once_have_a_number() {
    let world = World::with(|setup| setup.limits.uploads_per_session = 1).await;
    let mut client = world.client();
    client.get("/api/jobs").await;
    let (body, pieces) = futures::channel::mpsc::unbounded::<Result<Vec<u8>, std::io::Error>>();
    let request = client
        .request("POST", "/api/upload")
        .header("content-type", "multipart/form-data; boundary=XX")
        .body(reqwest::Body::wrap_stream(pieces));
    let first = tokio::spawn(request.send());
    // Large enough that it is not held in memory.
    let whole = crate::client::form(&[("file", Some("a.pdf"), &crate::world::large_pdf())]);
    body.unbounded_send(Ok(whole[..200 << 10].to_vec())).unwrap();
    // It has its place as soon as its file has begun.
    let begun = async {
        while world.files("uploads").is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), begun).await.unwrap();
    let answer = client.upload("b.pdf", &pdf(2), None).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "OVERLOADED"));
    body.unbounded_send(Ok(whole[200 << 10..].to_vec())).unwrap();
    drop(body);
    assert_eq!(first.await.unwrap().unwrap().status(), 201);
    assert_eq!(client.upload("b.pdf", &pdf(2), None).await.status, 201, "the place is free again");
}

#[tokio::test]
async fn a_disk_that_fills_up_is_told_before_it_is_full() {
    let low = World::with(|setup| setup.limits.room = Room { soft: u64::MAX, hard: 0 }).await;
    let status = low.client().get("/api/status").await.json();
    assert_eq!((status["disk"].as_str(), status["accepting"].as_bool()), (Some("low"), Some(true)));
    assert_eq!(low.client().upload("a.pdf", &pdf(1), None).await.status, 201, "still taken");
    let full = World::with(|setup| setup.limits.room = Room { soft: u64::MAX, hard: u64::MAX }).await;
    assert_eq!(full.client().get("/api/status").await.json()["disk"], "full");
    let answer = full.client().upload("a.pdf", &pdf(1), None).await;
    assert_eq!((answer.code().as_str(), answer.header("retry-after")), ("OVERLOADED", Some("30")));
    assert!(full.files("uploads").is_empty());
    assert_eq!(World::start().await.client().get("/api/status").await.json()["disk"], "enough");
}

#[tokio::test]
async fn a_trusted_proxys_clients_are_counted_apart() {
    let world = World::with(|setup| {
        setup.limits.rates.session = NONE;
        setup.limits.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    for client in ["203.0.113.1", "203.0.113.2", "2001:db8::1"] {
        for expected in [200, 200, 429] {
            let spoofed = format!("198.51.100.{expected}, {client}");
            let answer = world.client().ask("GET", "/api/jobs", &[("x-forwarded-for", &spoofed)]).await;
            assert_eq!(answer.status, expected, "{client}: what the client wrote itself is not believed");
        }
    }
}
