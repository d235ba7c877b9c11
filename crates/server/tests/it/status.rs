//! How everything is, and what is the same on every answer.

use redrive_engine::{By, Target};

use crate::world::{World, eventually, pdf};

#[tokio::test]
async fn the_status_tells_queue_breakers_and_whether_more_is_taken() {
    let world = World::with(|setup| (setup.works, setup.has_gateway) = (false, false)).await;
    let mut client = world.client();
    let gateway = Target::new("gateway").unwrap();
    world.engine.hold(&gateway, None, &By::new("ann").because("they move house")).await.unwrap();
    client.upload("a.pdf", &pdf(1), None).await;
    // A look is believed for a moment.
    let status = eventually(async || {
        let status = client.get("/api/status").await.json();
        (status["queue"]["held"] != 0).then_some(status)
    })
    .await;
    assert_eq!(
        (status["accepting"].as_bool(), status["gateway"].as_str()),
        (Some(true), Some("not_configured"))
    );
    let breaker = &status["breakers"][0];
    assert_eq!((breaker["target"].as_str(), breaker["state"].as_str()), (Some("gateway"), Some("held")));
    assert_eq!((breaker["mode"].as_str(), breaker["held_jobs"].as_u64()), (Some("hold"), Some(1)));
    assert_eq!((status["queue"]["held"].as_u64(), status["queue"]["queued"].as_u64()), (Some(1), Some(0)));
    assert!(!status.to_string().contains("move house"), "who holds it and why is for operators");
    let list = client.get("/api/jobs?status=held").await.json();
    assert_eq!((list["jobs"].as_array().unwrap().len(), list["active_count"].as_u64()), (1, Some(1)));
}

/// A host of one is nothing to another.
#[tokio::test]
async fn which_hosts_are_asked_is_told_to_operators_alone() {
    let world = World::start().await;
    let host = Target::new("host:canary.example:443").unwrap();
    world.engine.hold(&host, None, &By::new("ann")).await.unwrap();
    let gateway = Target::new("gateway").unwrap();
    world.engine.hold(&gateway, None, &By::new("ann")).await.unwrap();
    let (mut client, mut operator) = (world.client(), world.operator());
    let told = async |client: &mut crate::client::Client| client.get("/api/status").await.text().to_owned();
    while !told(&mut operator).await.contains("canary.example") {}
    let status = told(&mut client).await;
    assert!(status.contains("gateway") && !status.contains("canary"), "{status}");
    let page = client.get("/").await.text().to_owned();
    assert!(
        page.contains("The converter was stopped by an operator. Jobs wait and are not lost.")
            && !page.contains("canary"),
        "{page}"
    );
}

#[tokio::test]
async fn every_answer_has_an_id_and_no_problem_tells_of_the_inside() {
    let world = World::start().await;
    let mut client = world.client();
    let mut ids = Vec::new();
    for (method, path, status) in [
        ("GET", "/healthz", 200),
        ("GET", "/api/nothing", 404),
        ("PUT", "/api/jobs", 405),
        ("GET", "/api/failures/NOPE", 404),
        ("GET", "/api/failures/%ff", 404),
        ("GET", "/api/jobs/%ff", 403),
        ("POST", "/api/upload", 415),
    ] {
        let answer = client.ask(method, path, &[("x-request-id", "evil\u{9}id")]).await;
        assert_eq!(answer.status, status, "{method} {path}");
        if status >= 400 {
            answer.code();
            for inside in ["/tmp", "/home", "SELECT", "sqlite", "axum", "panicked", ".rs"] {
                assert!(!answer.text().contains(inside), "{path}: {}", answer.text());
            }
        }
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        ids.push(answer.header("x-request-id").unwrap().to_owned());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 7);
}

#[tokio::test]
async fn a_stop_ends_streams_and_takes_nothing_new() {
    let mut world = World::start().await;
    let mut client = world.client();
    client.get("/api/jobs").await;
    let stream = client.request("GET", "/api/events/stream").send().await.unwrap();
    assert_eq!(stream.status(), 200);
    world.app.stop();
    assert_eq!(client.upload("a.pdf", &pdf(1), None).await.code(), "OVERLOADED");
    assert_eq!(client.get("/api/status").await.json()["accepting"], false);
    stream.bytes().await.unwrap();
    world.stop().await;
}

#[tokio::test]
async fn the_engines_own_jobs_are_nobodys_queue() {
    let world = World::start().await;
    let mut client = world.client();
    world.converted(&mut client, "a.pdf", &pdf(1)).await;
    let chores = async || world.engine.store().queue().await.unwrap();
    let waiting = |queue: redrive_store::QueueStats| queue.scheduled + queue.waiting_retry + queue.ready;
    while waiting(chores().await) == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let nothing = serde_json::json!({"queued": 0, "processing": 0, "waiting_retry": 0, "waiting_batch": 0, "held": 0, "oldest_age_ms": 0});
    let seen = async {
        while client.get("/api/status").await.json()["queue"] != nothing {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), seen).await.unwrap();
    let mut operator = world.operator();
    assert_eq!(operator.get("/api/jobs").await.json()["active_count"], 0);
}
