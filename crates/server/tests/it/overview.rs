//! Everything at a glance, over the API.

use serde_json::Value;

use crate::client::Client;
use crate::desk::refused;
use crate::world::{World, eventually, pdf};

/// Counts what has happened, as a permanent job does elsewhere.
pub(crate) async fn counted(world: &World) {
    while world.engine.store().roll_up(1_000).await.unwrap() > 0 {}
}

/// The overview, once the worker has said that it lives.
async fn overview(operator: &mut Client) -> Value {
    eventually(async || {
        let answer = operator.get("/api/overview").await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let all = answer.json();
        (all["workers"]["alive"] == 1).then_some(all)
    })
    .await
}

fn sum(all: &Value, field: &str) -> u64 {
    all["slots"].as_array().unwrap().iter().map(|slot| slot[field].as_u64().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happened_and_what_is_wrong_is_told_with_the_page_that_shows_it() {
    let (world, mut operator) = refused(3).await;
    world.converted(&mut world.client(), "good.pdf", &pdf(9)).await;
    counted(&world).await;
    let all = overview(&mut operator).await;
    assert_eq!((all["window"].as_str(), all["slot_seconds"].as_u64()), (Some("1h"), Some(60)));
    assert_eq!(all["slots"].as_array().unwrap().len(), 60);
    assert_eq!((sum(&all, "arrived"), sum(&all, "complete"), sum(&all, "failed")), (4, 1, 3), "{all}");
    let failure = &all["failures"][0];
    assert_eq!(
        (&failure["code"], &failure["failed"], &failure["waiting"]),
        (&"GW_4XX".into(), &3.into(), &3.into())
    );
    assert_eq!(all["dead_letters"], 3);
    assert_eq!(
        (&all["latencies"][0]["workload"], &all["latencies"][0]["attempts"]),
        (&"convert".into(), &1.into())
    );
    let group = operator.get("/api/groups?code=GW_4XX").await.json()["groups"][0]["fingerprint"].clone();
    let told = &all["troubles"][0];
    assert_eq!((&told["kind"], &told["urgent"]), (&"group".into(), &true.into()), "{all}");
    assert_eq!(told["href"], format!("/dead/{}", group.as_str().unwrap()));
    assert_eq!(operator.get("/api/groups?code=NOT_PDF").await.json()["groups"], Value::Array(vec![]));
    assert_eq!(operator.get("/api/groups?code=NO_CODE").await.code(), "VALIDATION_INVALID_FIELD");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quiet_server_is_well_and_a_window_is_one_of_three() {
    let world = World::start().await;
    let mut operator = world.operator();
    let all = overview(&mut operator).await;
    assert_eq!(all["troubles"], Value::Array(vec![]), "{all}");
    assert_eq!((sum(&all, "arrived"), &all["dead_letters"]), (0, &0.into()), "its own jobs are not told");
    for (window, seconds) in [("6h", 360), ("24h", 1_440)] {
        let all = operator.get(&format!("/api/overview?window={window}")).await.json();
        assert_eq!((all["window"].as_str(), all["slot_seconds"].as_u64()), (Some(window), Some(seconds)));
    }
    assert_eq!(operator.get("/api/overview?window=2h").await.code(), "VALIDATION_INVALID_FIELD");
    assert_eq!(operator.get("/api/overview?since=1").await.code(), "VALIDATION_UNKNOWN_FIELD");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_without_workers_is_told_first() {
    let world = World::with(|setup| setup.works = false).await;
    let all = world.operator().get("/api/overview").await.json();
    assert_eq!(
        (&all["troubles"][0]["kind"], &all["troubles"][0]["href"]),
        (&"no_worker".into(), &"/workers".into())
    );
}
