//! The pages of fetch: addresses handed in by a form, how far a batch is, what failed, and the buttons.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::reader::{BROWSER, Page, SCRIPT, text, visit};
use crate::client::Client;
use crate::fetch::{accepted, ended};
use crate::world::World;

async fn hand_in(client: &mut Client, urls: &str) -> crate::client::Answer {
    let body: String =
        url::form_urlencoded::Serializer::new(String::new()).append_pair("urls", urls).finish();
    let mut request = client.request("POST", "/fetch").body(body);
    request = request.header("content-type", "application/x-www-form-urlencoded");
    for (name, value) in BROWSER {
        request = request.header(*name, *value);
    }
    client.send(request).await
}

/// Asks until it is so.
async fn until(mut is: impl AsyncFnMut() -> bool) {
    let asking = async {
        while !is().await {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), asking).await.expect("it never was");
}

#[tokio::test]
async fn addresses_from_a_form_become_a_batch_and_what_is_wrong_is_said_beside_them() {
    let world = World::start().await;
    let mut client = world.client();
    let empty = visit(&mut client, "/fetch").await;
    assert_eq!(empty.text("nav[aria-label=Pages] [aria-current]"), "Fetch");
    assert!(empty.text("#batches").contains("Nothing was fetched yet."));
    let answer =
        hand_in(&mut client, "https://a.example/1\n\n https://a.example/2 \nhttps://a.example/1").await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    let address = answer.header("location").unwrap().to_owned();
    ended(&mut client, address.rsplit('/').next().unwrap()).await;
    let page = visit(&mut client, &address).await;
    assert_eq!(page.text("h1"), "2 resources");
    assert_eq!((page.text(".head .state").as_str(), page.all("tbody tr").len()), ("Complete", 2));
    assert!(page.all("#batch[hx-trigger]").is_empty(), "what has ended is not asked for again");
    let list = visit(&mut client, "/fetch").await;
    assert_eq!(list.one("#batches a.name").attr("href"), Some(address.as_str()));

    let flawed = Page::read(hand_in(&mut client, "https://a.example/3\nftp://a.example/<4>").await);
    assert_eq!(flawed.answer.status, 400);
    assert!(flawed.text("#flaw").contains("line 2"), "{}", flawed.text("#flaw"));
    assert!(flawed.text("#urls").contains("ftp://a.example/<4>"), "what was typed is still there");
    assert_eq!(
        visit(&mut client, "/fetch").await.all("#batches tbody tr").len(),
        1,
        "nothing was half taken"
    );
}

#[tokio::test]
async fn a_signed_address_is_taken_whatever_its_length_and_shown_nowhere() {
    let world = World::start().await;
    let mut client = world.client();
    let signed = format!("https://a.example/k.pdf?X-Amz-Signature=CANARY{}", "7".repeat(700));
    let answer = hand_in(&mut client, &signed).await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    let form = answer.header("location").unwrap().rsplit('/').next().unwrap().to_owned();
    // People who write a manifest call their resources by URLs too.
    let ids = ["https://u:CANARY@a.example/x?sig=CANARY#CANARY", "token=CANARY"];
    let line = |id: &&str| serde_json::json!({"id": id, "url": "https://a.example/y"}).to_string() + "\n";
    let request = client.request("POST", "/api/fetch").header("content-type", "application/x-ndjson");
    let given = client.send(request.body(ids.iter().map(line).collect::<String>())).await;
    let given = given.json()["job_id"].as_str().unwrap().to_owned();
    for id in [form, given] {
        ended(&mut client, &id).await;
        let resources = client.get(&format!("/api/fetch/{id}/resources")).await;
        let mut seen =
            vec![resources.text(), visit(&mut client, &format!("/fetch/{id}")).await.answer.text()];
        for resource in resources.json()["resources"].as_array().unwrap() {
            let job = resource["job_id"].as_str().unwrap();
            for path in ["/api/jobs", "/jobs"] {
                seen.push(client.get(&format!("{path}/{job}")).await.text());
            }
        }
        seen.push(client.get(&format!("/api/jobs?batch={id}")).await.text());
        for text in seen {
            assert!(!text.contains("CANARY"), "{text}");
        }
    }
}

#[tokio::test]
async fn a_batch_tells_what_failed_and_has_buttons_that_say_how_many() {
    let world = World::start().await;
    let mut client = world.client();
    let id = accepted(&mut client, &["a", "b", "no-c", "no-<d>"]).await;
    ended(&mut client, &id).await;
    let address = format!("/fetch/{id}");
    let page = visit(&mut client, &address).await;
    assert!(
        page.text(".head .how").contains("2 of 4 stored") && page.text(".head .how").contains("2 failed")
    );
    assert_eq!(page.text(".head .acts form button"), "Retry 2 failed");
    assert!(page.text(".head .acts a").contains("2 missing"));
    let codes = page.text(".plain-table tbody");
    assert!(codes.contains("DOWNLOAD_HTTP_4XX") && codes.ends_with('2'), "{codes}");
    assert!(!page.answer.text().contains("SECRET"), "addresses are shown without their secrets");
    let failed = visit(&mut client, &format!("{address}?status=failed&code=DOWNLOAD_HTTP_4XX")).await;
    assert_eq!(failed.all("table.jobs tbody tr").len(), 2);
    assert_eq!(failed.text(".tabs [aria-current]"), "Failed");
    assert_eq!(
        visit(&mut client, &format!("{address}?status=complete")).await.all("table.jobs tbody tr").len(),
        2
    );

    let answer = client.ask("POST", &format!("{address}/retry"), BROWSER).await;
    let shown = answer.header("location").unwrap().to_owned();
    assert!(answer.status == 303 && shown.starts_with(&format!("{address}?ended=")), "{shown}");
    until(async || {
        let list = client.get(&format!("/api/fetch/{id}/resources?status=failed")).await.json();
        let Some(job) = list["resources"][0]["job_id"].as_str() else { return false };
        let attempts = client.get(&format!("/api/jobs/{job}/attempts")).await.json();
        attempts.as_array().map(Vec::len) == Some(2)
    })
    .await;
    ended(&mut client, &id).await;
    let page = visit(&mut client, &shown).await;
    assert!(page.all("#batch[hx-trigger]").is_empty(), "it is not as it was, and has ended again");
    assert_eq!(client.ask("POST", &format!("{address}/cancel"), BROWSER).await.status, 409, "it has ended");
}

#[tokio::test]
async fn a_batch_that_runs_is_kept_fresh_and_can_be_stopped() {
    let world = World::start().await;
    let mut client = world.client();
    let id = accepted(&mut client, &["slow-1", "slow-2", "a"]).await;
    let address = format!("/fetch/{id}");
    until(async || client.get(&format!("/api/fetch/{id}")).await.json()["resources_completed"] == 1).await;
    let piece = Page::piece(client.ask("GET", &address, SCRIPT).await);
    assert_eq!(piece.one("#batch").attr("hx-trigger"), Some("every 2s"));
    assert_eq!(piece.text(".head .acts button"), "Cancel 2 that are not done");
    assert!(piece.text(".plain-table").contains("a.example:443"), "whom it waits for");
    assert_eq!(client.ask("POST", &format!("{address}/cancel"), BROWSER).await.status, 303);
    let snapshot = ended(&mut client, &id).await;
    assert_eq!(
        (snapshot["status"].as_str(), snapshot["resources_cancelled"].as_u64()),
        (Some("partial"), Some(2))
    );
}

#[tokio::test]
async fn a_batch_tells_how_its_proxies_are_and_not_where_they_are() {
    let pool = |url: &str, fallbacks: &[&str]| redrive_fetch::PoolOptions {
        proxies: vec![url.to_owned()],
        fallbacks: fallbacks.iter().map(ToString::to_string).collect(),
    };
    let pools = BTreeMap::from([
        ("eu".to_owned(), pool("http://me:SECRET@proxy-one.example:3128", &["us"])),
        ("us".to_owned(), pool("http://me:SECRET@proxy-two.example:3128", &[])),
        ("asia".to_owned(), pool("http://me:SECRET@proxy-three.example:3128", &[])),
    ]);
    let pools = Arc::new(redrive_fetch::Pools::new(&pools).unwrap());
    // Nobody works, so that the batch does not end.
    let world = World::with(|setup| (setup.pools, setup.works) = (pools, false)).await;
    let mut client = world.client();
    let body = serde_json::json!({
        "manifest_version": 1, "resources": [{"id": "a", "url": "https://a.example/1"}], "proxy_pool": "eu",
    });
    let answer = crate::fetch::post(&mut client, "application/json", body.to_string(), &[]).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let id = answer.json()["job_id"].as_str().unwrap().to_owned();
    let page = visit(&mut client, &format!("/fetch/{id}")).await;
    let rows: Vec<String> = page.all("#proxies tbody tr").into_iter().map(text).collect();
    assert_eq!(rows, ["eu#1 works", "us#1 works"]);
    let told = client.get(&format!("/api/fetch/{id}")).await;
    assert_eq!(
        told.json()["proxies"],
        serde_json::json!([{"proxy": "eu#1", "state": "working"}, {"proxy": "us#1", "state": "working"}])
    );
    for said in [page.answer.text(), told.text()] {
        assert!(!said.contains("SECRET") && !said.contains("proxy-one") && !said.contains("asia"), "{said}");
    }
}
