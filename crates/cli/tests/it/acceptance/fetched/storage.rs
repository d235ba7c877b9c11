//! A bucket that misbehaves, in whole runs: what passes is sent again without a second download, what does not is told at once, and nothing
//! is stored that is not whole.

use redrive_lab::origin::{Answer, Origin, body_of};
use serde_json::{Value, json};

use super::bucket::Place;
use super::front::{Fault, Front};
use super::judged::TOKEN;
use crate::acceptance::kit::{Browser, World, eventually, sha256};

/// How a put goes wrong, and what must become of it: the code that is told, and the attempts that it takes.
const FAULTS: &[(&str, &[Fault], Option<&str>, u64)] = &[
    ("right", &[], None, 1),
    ("error", &[Fault::Refuse(500, "InternalError"); 2], None, 3),
    ("reset", &[Fault::Reset; 2], None, 3),
    ("cut10", &[Fault::Cut(10)], None, 2),
    ("cut50", &[Fault::Cut(50)], None, 2),
    ("cut99", &[Fault::Cut(99)], None, 2),
    // It is there with the right hash: adopted in the same attempt.
    ("lost", &[Fault::LoseReply], None, 1),
    ("slow", &[Fault::Refuse(503, "SlowDown"); 2], None, 1),
    ("denied", &[Fault::Refuse(403, "AccessDenied"); 9], Some("UPLOAD_ACCESS_DENIED"), 1),
    ("nowhere", &[Fault::Refuse(404, "NoSuchBucket"); 9], Some("UPLOAD_NO_BUCKET"), 1),
];

/// Also covers: M38, M39, M40.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_of_a_bucket_ends_as_one_object_or_one_dead_letter_and_the_origin_is_asked_once() {
    let Some((world, place, front)) = bucket().await else { return };
    let origin = Origin::start().await.unwrap();
    let server = world.serve().await;
    let browser = server.browser();
    for (name, faults, ..) in FAULTS {
        front.on("PUT", name, faults.iter().copied());
    }
    let batch = hand_in(&browser, FAULTS.iter().map(|(name, ..)| origin.url(&format!("/{name}")))).await;
    let snapshot = ended(&browser, &batch).await;
    let failing = FAULTS.iter().filter(|(_, _, code, _)| code.is_some()).count();
    assert_eq!(snapshot["resources_failed"], failing, "{snapshot:#}");
    assert_eq!(snapshot["resources_completed"], FAULTS.len() - failing, "{snapshot:#}");
    let resources = browser.get(&format!("/api/fetch/{batch}/resources")).await.json();
    for (name, _, code, attempts) in FAULTS {
        let path = format!("/{name}");
        let found = resources["resources"].as_array().unwrap().iter();
        let found = found.clone().find(|found| found["url"] == origin.url(&path)).unwrap();
        assert_eq!(found["failure"]["code"].as_str(), *code, "{found:#}");
        assert_eq!(found["attempts"], *attempts, "{found:#}");
        assert_eq!(origin.count(&path), 1, "{name}: what came is only sent again");
        if code.is_none() {
            let bytes = place.read(&world, found["key"].as_str().unwrap()).await;
            assert_eq!((bytes.clone(), &found["sha256"]), (body_of(&path), &sha256(&bytes).into()), "{name}");
        }
    }
    let dead = dead_letters(&browser).await;
    assert_eq!(dead.len(), failing, "{dead:#?}");
    assert!(
        dead.iter().all(|letter| letter["attempts"] == 1 && letter["reason"] == "non_retryable"),
        "{dead:#?}"
    );
    server.stop().await;
}

/// Also covers: M39.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_before_the_last_call_of_a_large_upload_nothing_is_seen_until_it_is_whole() {
    let Some((world, place, front)) = bucket().await else { return };
    let origin = Origin::start().await.unwrap();
    let bytes = body_of("/large").repeat(50_000);
    assert!(bytes.len() > 2 * (8 << 20), "more than one part");
    origin.say("/large", [Answer::Bytes(bytes.clone())]);
    let server = world.serve().await;
    let browser = server.browser();
    front.on("COMPLETE", "large", [Fault::Hold]);
    let batch = hand_in(&browser, [origin.url("/large")]).await;
    eventually("the last call", async || (front.count("COMPLETE", "large") == 1).then_some(())).await;
    assert_eq!(place.keys().await, [""; 0], "nothing is there before the last call");
    server.kill();
    assert_eq!(place.keys().await, [""; 0], "nor after it was never heard");

    let server = world.serve().await;
    let browser = browser.at(&server.address);
    let snapshot = ended(&browser, &batch).await;
    assert_eq!((&snapshot["status"], &snapshot["bytes"]), (&"complete".into(), &bytes.len().into()));
    let resources = browser.get(&format!("/api/fetch/{batch}/resources")).await.json();
    let found = &resources["resources"][0];
    assert_eq!((&found["attempts"], &found["sha256"]), (&2.into(), &sha256(&bytes).into()), "{found:#}");
    assert_eq!(place.keys().await, [found["key"].as_str().unwrap()], "one object");
    assert!(place.read(&world, found["key"].as_str().unwrap()).await == bytes, "the right one");
    // This S3 says of every upload that it is years old: a sweep takes it at once.
    eventually("the first one to be given up", async || (front.count("ABORT", "large") == 1).then_some(()))
        .await;
    server.stop().await;
}

/// A world on SQLite whose resources go to a bucket, past a front that can misbehave.
async fn bucket() -> Option<(World, Place, Front)> {
    let mut world = World::sqlite().await;
    let place = Place::bucket(&mut world).await?;
    let front = Front::before(&world.settings()["S3_ENDPOINT"]).await;
    world.set("S3_ENDPOINT", &front.url);
    world.set("FETCH_ALLOW_PRIVATE", true);
    world.set("OPERATOR_TOKEN", TOKEN);
    Some((world, place, front))
}

async fn hand_in(browser: &Browser, urls: impl IntoIterator<Item = String>) -> String {
    let lines: String = urls.into_iter().map(|url| format!("{}\n", json!({"id": url, "url": url}))).collect();
    let request = browser.request("POST", "/api/fetch").header("content-type", "application/x-ndjson");
    let answer = browser.send(request.body(lines)).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    answer.json()["job_id"].as_str().unwrap().to_owned()
}

async fn ended(browser: &Browser, batch: &str) -> Value {
    eventually("the batch to end", async || {
        let snapshot = browser.get(&format!("/api/fetch/{batch}")).await.json();
        (snapshot["status"] != "processing").then_some(snapshot)
    })
    .await
}

async fn dead_letters(browser: &Browser) -> Vec<Value> {
    let asked = browser.request("GET", "/api/dead-letters?workload=fetch");
    let answer = browser.send(asked.header("authorization", format!("Bearer {TOKEN}"))).await;
    answer.json()["dead_letters"].as_array().unwrap().clone()
}
