//! Digests over HTTP: what would be told, telling it, and who is told.

use redrive_model::{Code, JobId, LeaseToken, Timestamp};
use redrive_store::intake::{DocumentChange, FailureRecord, NewDocument};
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::world::{ROOT, World, eventually};

/// A document of this owner that has failed.
pub(crate) async fn failed(world: &World, n: u8, owner: &str, path: &str) -> JobId {
    let at: Timestamp = "2026-03-01T08:00:00Z".parse().unwrap();
    let id = JobId::from_parts(at, [n; 10]);
    let document = NewDocument {
        id,
        root: ROOT.into(),
        path: path.into(),
        key: format!("queue/{n}"),
        version: "1".into(),
        bytes: 9,
        owner: owner.into(),
    };
    world.documents.take_in(vec![document]).await.unwrap();
    let failure = Some((Code::GwPasswordRequired, "said by the gateway".to_owned()));
    let change = DocumentChange { failure, ..DocumentChange::default() };
    world.documents.change_document(id, LeaseToken(1), change).await.unwrap();
    let record = FailureRecord {
        failure_id: id.as_uuid(),
        document: id,
        timestamp: at,
        owner: owner.into(),
        pdf_key: "pdf/x.pdf".into(),
        queue_key: None,
        failed_key: None,
        retry_count: 1,
        max_retries_exceeded: false,
        code: Code::GwPasswordRequired,
        failure_reason: "said by the gateway".into(),
        notified: false,
    };
    world.documents.note_failure(record).await.unwrap();
    id
}

async fn send(client: &mut Client, method: &str, path: &str, body: &Value) -> Answer {
    let request = client.request(method, path).header("content-type", "application/json");
    client.send(request.body(body.to_string())).await
}

async fn actions(world: &World) -> Vec<(String, String, Option<String>)> {
    let acts = world
        .engine
        .store()
        .acts(redrive_store::ActFilter::default(), redrive_store::PageRequest::default())
        .await
        .unwrap();
    acts.rows.into_iter().map(|row| (row.act.action, row.act.subject, row.outcome)).collect()
}

#[tokio::test]
async fn a_dry_run_tells_what_would_be_sent_and_sending_tells_it_once() {
    let world = World::start().await;
    let mut operator = world.operator();
    let nothing = send(&mut operator, "POST", "/api/digest", &json!({})).await;
    assert_eq!((nothing.status, nothing.json()["job_id"].is_null()), (200, true), "nothing changed");
    failed(&world, 1, "jane", "briefe/1871.pdf").await;
    let dry = send(&mut operator, "POST", "/api/digest", &json!({"dry_run": true})).await;
    let owner = &dry.json()["owners"][0];
    assert_eq!((dry.status, &dry.json()["dry_run"], &owner["owner"]), (200, &json!(true), &json!("jane")));
    assert_eq!((&owner["new"], &owner["dead"], &owner["goes_to"]), (&json!(1), &json!(0), &json!("file")));
    assert!(owner["text"].as_str().unwrap().contains("The PDF needs a password."), "{owner}");
    assert!(operator.get("/api/deliveries").await.json()["deliveries"].as_array().unwrap().is_empty());
    let sent = send(&mut operator, "POST", "/api/digest", &json!({"dry_run": false})).await;
    assert_eq!(sent.status, 202);
    world.ended(sent.json()["job_id"].as_str().unwrap()).await;
    eventually(async || {
        let page = world.documents.deliveries(redrive_store::PageRequest::default()).await.unwrap();
        page.rows.into_iter().next()
    })
    .await;
    let delivery = operator.get("/api/deliveries").await.json()["deliveries"][0].clone();
    assert_eq!((&delivery["state"], &delivery["owner"]), (&json!("written"), &json!("jane")));
    assert_eq!(world.files("intake/reports/digest").len(), 2);
    let again = send(&mut operator, "POST", "/api/digest", &json!({"dry_run": true})).await;
    assert!(again.json()["owners"].as_array().unwrap().is_empty());
    assert_eq!(actions(&world).await[0].0, "digest.send");
    let odd = send(&mut operator, "POST", "/api/digest", &json!({"dryrun": true})).await;
    assert_eq!((odd.status, odd.code().as_str()), (400, "VALIDATION_INVALID_FIELD"));
}

#[tokio::test]
async fn addresses_are_added_switched_replaced_and_removed_and_each_act_is_in_the_trail() {
    let world = World::start().await;
    let mut operator = world.operator();
    let path = "/api/notifications";
    let jane = json!({"owner": " jane ", "address": "jane@example.org"});
    let kept = send(&mut operator, "POST", path, &jane).await;
    assert_eq!(
        (kept.status, kept.json()),
        (200, json!({"owner": "jane", "address": "jane@example.org", "enabled": true}))
    );
    let off = json!({"owner": "jane", "address": "jane@example.org", "enabled": false});
    assert_eq!(send(&mut operator, "POST", path, &off).await.status, 200);
    assert_eq!(operator.get(path).await.json(), json!({"notifications": [off]}));
    for (bad, field) in [
        (json!({"owner": "jane", "address": "nobody"}), "address: "),
        (json!({"owner": "jane", "address": "Jane <j@example.org>"}), "address: "),
        (json!({"owner": "a\nb", "address": "j@example.org"}), "owner: "),
    ] {
        let refused = send(&mut operator, "POST", path, &bad).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "VALIDATION_INVALID_FIELD"));
        assert!(refused.json()["detail"].as_str().unwrap().starts_with(field), "{}", refused.text());
    }
    // One that cannot be kept, and none is changed.
    let list = json!({"notifications": [{"owner": "default", "address": "desk@example.org"}, {"owner": "x", "address": "y"}]});
    assert_eq!(send(&mut operator, "PUT", path, &list).await.status, 400);
    assert_eq!(operator.get(path).await.json(), json!({"notifications": [off]}));
    let list = json!({"notifications": [{"owner": "default", "address": "desk@example.org"}]});
    let set = send(&mut operator, "PUT", path, &list).await;
    let desk = json!({"owner": "default", "address": "desk@example.org", "enabled": true});
    assert_eq!((set.status, set.json()), (200, json!({"notifications": [desk]})));
    let one = "/api/notifications?owner=default&address=desk%40example.org";
    assert_eq!(operator.ask("DELETE", one, &[]).await.status, 204);
    let gone = operator.ask("DELETE", one, &[]).await;
    assert_eq!((gone.status, gone.code().as_str()), (404, "NOT_FOUND"));
    let acts: Vec<String> = actions(&world).await.into_iter().map(|act| act.0).collect();
    for action in ["notifications.enable", "notifications.disable", "notifications.remove"] {
        assert!(acts.iter().any(|known| known == action), "{action}: {acts:?}");
    }
}

#[tokio::test]
async fn a_server_without_intake_says_so() {
    let world = World::with(|setup| setup.has_intake = false).await;
    let mut operator = world.operator();
    for path in ["/api/notifications", "/api/deliveries"] {
        let answer = operator.get(path).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "NOT_FOUND"));
        assert!(answer.json()["detail"].as_str().unwrap().contains("INTAKE_URL"));
    }
}
