//! A pool of which every proxy is dead: its resources wait and lose nothing, nobody else waits, and a kill changes none of it.

use std::collections::BTreeSet;

use redrive_lab::origin::{Origin, body_of};
use redrive_lab::tunnel::{Does, Tunnel};
use serde_json::{Value, json};

use super::bucket::Place;
use crate::acceptance::kit::{Browser, World, eventually};

on_both!(while_all_proxies_are_dead_their_resources_wait_and_come_when_one_lives);

/// Also covers: M48.
async fn while_all_proxies_are_dead_their_resources_wait_and_come_when_one_lives(mut world: World) {
    let origin = Origin::start().await.unwrap();
    let proxies = [Tunnel::start().await.unwrap(), Tunnel::start().await.unwrap()];
    for proxy in &proxies {
        proxy.does(Does::Close);
    }
    let config = world.path("redrive.toml");
    let [one, two] = proxies.each_ref().map(Tunnel::url);
    std::fs::write(&config, format!("[proxy_pools]\neu = [{one:?}, {two:?}]\n")).unwrap();
    world.set("REDRIVE_CONFIG", config.display());
    world.set("FETCH_ALLOW_PRIVATE", true);

    let server = world.serve().await;
    let browser = server.browser();
    let dead = hand_in(&browser, &origin, "pool", Some("eu")).await;
    let direct = hand_in(&browser, &origin, "direct", None).await;
    ended(&browser, &direct, "complete").await;
    eventually("every proxy to be found dead", async || {
        proxies.iter().all(|proxy| !proxy.asked().is_empty()).then_some(())
    })
    .await;
    let snapshot = batch(&browser, &dead).await;
    assert_eq!((&snapshot["status"], &snapshot["resources_failed"]), (&"processing".into(), &0.into()));
    server.kill();

    let server = world.serve().await;
    let browser = browser.at(&server.address);
    let before = proxies[0].asked().len() + proxies[1].asked().len();
    eventually("the next one to find them dead too", async || {
        (proxies[0].asked().len() + proxies[1].asked().len() > before).then_some(())
    })
    .await;
    proxies[1].does(Does::Through);
    let snapshot = ended(&browser, &dead, "complete").await;
    assert_eq!((&snapshot["resources_completed"], &snapshot["resources_failed"]), (&6.into(), &0.into()));
    for n in 0..6 {
        let path = format!("/pool/{n}");
        assert_eq!(origin.count(&path), 1, "asked once, when a proxy lived");
    }
    let listed = browser.get(&format!("/api/fetch/{dead}/resources")).await.json();
    for resource in listed["resources"].as_array().unwrap() {
        let bytes = Place::Folder.read(&world, resource["key"].as_str().unwrap()).await;
        assert_eq!(bytes, body_of(&format!("/pool/{}", resource["id"].as_str().unwrap())));
    }
    is_told_apart(&world).await;
    assert!(!server.said().contains("CANARY"), "no password is logged");
    server.stop().await;
}

/// Every attempt says whose turn it was, and it was everybody's.
async fn is_told_apart(world: &World) {
    let sql = "SELECT code, coalesce(context, '') FROM attempts WHERE code LIKE 'DOWNLOAD_PROXY_%'";
    let mut turns = BTreeSet::new();
    for row in world.rows(sql).await {
        assert!(!row[1].contains("CANARY"), "{row:?}");
        let context: Value = serde_json::from_str(&row[1]).unwrap();
        turns.extend(
            context["proxy"].as_str().filter(|_| row[0] == "DOWNLOAD_PROXY_FAILED").map(str::to_owned),
        );
    }
    assert_eq!(turns, ["proxies/eu#1", "proxies/eu#2"].map(str::to_owned).into());
}

async fn hand_in(browser: &Browser, origin: &Origin, name: &str, pool: Option<&str>) -> String {
    let resource = |n: u32| json!({"id": n.to_string(), "url": origin.url(&format!("/{name}/{n}"))});
    let mut manifest = json!({"manifest_version": 1, "resources": (0..6).map(resource).collect::<Vec<_>>()});
    if let Some(pool) = pool {
        manifest["proxy_pool"] = pool.into();
    }
    let request = browser.request("POST", "/api/fetch").header("content-type", "application/json");
    let answer = browser.send(request.body(manifest.to_string())).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    answer.json()["job_id"].as_str().unwrap().to_owned()
}

async fn batch(browser: &Browser, id: &str) -> Value {
    browser.get(&format!("/api/fetch/{id}")).await.json()
}

async fn ended(browser: &Browser, id: &str, status: &str) -> Value {
    eventually(format!("{id} to be {status}"), async || {
        let snapshot = batch(browser, id).await;
        let over = snapshot["status"] != "processing";
        assert!(!over || snapshot["status"] == status, "{snapshot:#}");
        over.then_some(snapshot)
    })
    .await
}
