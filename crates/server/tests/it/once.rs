//! `Idempotency-Key` on what is done to jobs: the same request again is carried out once, whoever lost the answer.

use std::time::Duration;

use redrive_store::{ActFilter, PageRequest};
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::desk::refused;
use crate::gateway::Mood;
use crate::tokens::made;
use crate::world::{World, eventually, pdf};

async fn keyed(client: &mut Client, path: &str, body: &Value, key: &str) -> Answer {
    let request = client.request("POST", path).header("content-type", "application/json");
    client.send(request.header("idempotency-key", key).body(body.to_string())).await
}

/// How often something was done, by the trail.
async fn times(world: &World, action: &str) -> usize {
    let filter = ActFilter { action: Some(action.to_owned()), ..ActFilter::default() };
    world.engine.store().acts(filter, PageRequest::default()).await.unwrap().rows.len()
}

async fn newest_letter(operator: &mut Client) -> String {
    let found = operator.get("/api/dead-letters").await.json();
    found["dead_letters"][0]["offset"].to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_act_with_the_same_key_is_done_once_and_answered_like_the_first() {
    let (world, mut operator) = refused(2).await;
    let workload = json!({"filter": {"workload": "convert"}, "name": "monday"});
    let started = keyed(&mut operator, "/api/replays", &workload, "monday").await;
    assert_eq!((started.status, started.header("idempotent-replayed")), (201, None), "{}", started.text());
    for _ in 0..2 {
        let again = keyed(&mut operator, "/api/replays", &workload, "monday").await;
        assert_eq!((again.status, again.json()), (201, started.json()));
        assert_eq!(again.header("location"), started.header("location"));
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(again.header("content-type"), started.header("content-type"));
    }
    assert_eq!(times(&world, "replay.start").await, 1);

    // Another body, another address: another request.
    let other = keyed(&mut operator, "/api/replays", &json!({"filter": {}}), "monday").await;
    assert_eq!((other.status, other.code().as_str()), (422, "IDEMPOTENCY_MISMATCH"));
    let path = format!("/api/replays/{}/pause", started.json()["id"].as_str().unwrap());
    let other = keyed(&mut operator, &path, &workload, "monday").await;
    assert_eq!(other.code(), "IDEMPOTENCY_MISMATCH");
    let bad = keyed(&mut operator, "/api/replays", &workload, " ").await;
    assert_eq!((bad.status, bad.code().as_str()), (400, "VALIDATION_INVALID_FIELD"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_that_was_started_again_or_dropped_is_answered_so_again() {
    let (world, mut operator) = refused(2).await;
    let why = json!({"reason": "mended"});
    for (act, action) in [("replay", "jobs.retry"), ("discard", "dead.discard")] {
        let path = format!("/api/dead-letters/{}/{act}", newest_letter(&mut operator).await);
        let first = keyed(&mut operator, &path, &why, act).await;
        assert!(first.status < 300, "{}", first.text());
        let again = keyed(&mut operator, &path, &why, act).await;
        assert_eq!((again.status, again.json()), (first.status, first.json()));
        assert_eq!(times(&world, action).await, 1, "{act}");
        // Without the key it is what it was.
        assert_eq!(operator.post(&path).await.code(), "CONFLICT_STATE");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_belong_to_who_acts_and_owners_have_theirs() {
    let world = World::start().await;
    world.gateway.mood(Mood::Refuses);
    let (mut ann, mut bob) = (world.client(), world.client());
    let of_ann = world.converted(&mut ann, "a.pdf", &pdf(1)).await;
    let of_bob = world.converted(&mut bob, "b.pdf", &pdf(2)).await;
    let path = |id: &str| format!("/api/jobs/{id}/retry");
    let first = keyed(&mut ann, &path(&of_ann), &json!({}), "again").await;
    assert_eq!(first.status, 202, "{}", first.text());
    world.ended(&of_ann).await;
    assert_eq!(keyed(&mut ann, &path(&of_ann), &json!({}), "again").await.json(), first.json());
    assert_eq!(keyed(&mut bob, &path(&of_bob), &json!({}), "again").await.status, 202);
    assert_eq!(times(&world, "jobs.retry").await, 2);

    let mut admin = world.operator();
    let (one, two) = (made(&mut admin, "one", "act").await, made(&mut admin, "two", "act").await);
    let hold = json!({"reason": "night"});
    for token in [&one, &one, &two] {
        let mut robot = world.client().with_token(&token.secret);
        let answer = keyed(&mut robot, "/api/breakers/gateway/hold", &hold, "night").await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    assert_eq!(times(&world, "target.hold").await, 2, "once for each token");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_was_refused_has_not_used_its_key() {
    let (world, mut operator) = refused(1).await;
    let nothing = json!({"filter": {"workload": "fetch"}});
    for _ in 0..2 {
        assert_eq!(keyed(&mut operator, "/api/replays", &nothing, "key").await.code(), "NOT_FOUND");
    }
    let something = json!({"filter": {"workload": "convert"}});
    assert_eq!(keyed(&mut operator, "/api/replays", &something, "key").await.status, 201);
    // Who may not do it takes no key.
    let mut nobody = world.client();
    assert_eq!(keyed(&mut nobody, "/api/replays", &something, "key").await.code(), "AUTH_REQUIRED");
    nobody.get("/api/jobs").await;
    assert_eq!(keyed(&mut nobody, "/api/replays", &something, "key").await.code(), "AUTH_REQUIRED");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_made_once_and_kept_nowhere() {
    let world = World::start().await;
    let mut admin = world.operator();
    let wish = json!({"name": "nightly", "scope": "act"});
    let first = keyed(&mut admin, "/api/tokens", &wish, "make").await;
    assert_eq!(first.status, 201, "{}", first.text());
    let (id, token) = (first.json()["id"].clone(), first.json()["token"].clone());
    for _ in 0..2 {
        let again = keyed(&mut admin, "/api/tokens", &wish, "make").await;
        assert_eq!((again.status, again.code().as_str()), (409, "CONFLICT_STATE"));
        assert!(again.text().contains(id.as_str().unwrap()), "{}", again.text());
    }
    assert_eq!(admin.get("/api/tokens").await.json()["tokens"].as_array().unwrap().len(), 1);
    let kept: Vec<Vec<u8>> = ["redrive.db", "redrive.db-wal"]
        .iter()
        .filter_map(|name| std::fs::read(world.folder.path().join(name)).ok())
        .collect();
    let secret = token.as_str().unwrap().as_bytes();
    assert!(!kept.iter().any(|file| file.windows(secret.len()).any(|part| part == secret)));
}

/// Ten at the same moment: one acts; the others hear its answer, or that it is not there yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_with_one_key_are_one() {
    let (world, mut operator) = refused(1).await;
    let asked = json!({"filter": {"workload": "convert"}});
    let all = futures::future::join_all((0..10).map(|_| {
        let (mut one, asked) = (world.operator(), asked.clone());
        async move { keyed(&mut one, "/api/replays", &asked, "key").await }
    }));
    let all = all.await;
    for answer in all.iter().filter(|answer| answer.status != 201) {
        assert_eq!((answer.status, answer.code().as_str()), (409, "IDEMPOTENCY_IN_FLIGHT"));
    }
    let fresh = |answer: &&Answer| answer.status == 201 && answer.header("idempotent-replayed").is_none();
    assert_eq!(all.iter().filter(fresh).count(), 1);
    let later = keyed(&mut operator, "/api/replays", &asked, "key").await;
    let told = all.iter().find(fresh).unwrap();
    assert_eq!((later.status, later.json()), (201, told.json()));
    assert_eq!(times(&world, "replay.start").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_act_whose_answer_came_too_late_is_done_once() {
    let world = World::with(|setup| (setup.limits.deadline, setup.mappings) = (Duration::ZERO, None)).await;
    let hold = json!({"reason": "night"});
    let ask = async || {
        let mut operator = world.operator();
        let answer = keyed(&mut operator, "/api/breakers/gateway/hold", &hold, "night").await;
        // The very first millisecond may be enough.
        assert!(answer.status == 200 || answer.code() == "ANSWER_TIMEOUT", "{}", answer.text());
        (times(&world, "target.hold").await > 0).then_some(())
    };
    eventually(ask).await;
    for _ in 0..5 {
        ask().await;
    }
    assert_eq!(times(&world, "target.hold").await, 1);
}
