//! What nobody may take: rates, quotas, places, room.

use std::time::Duration;

use redrive_blob::room::Room;
use redrive_server::Rate;

use crate::world::{World, pdf};

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
