//! The folder of people, as operators see it.

use redrive_model::{Code, JobId, LeaseToken, instant};
use redrive_store::intake::{DocumentChange, FailureRecord, NewDocument, Stage};
use serde_json::{Value, json};

use crate::client::Answer;
use crate::world::{ROOT, World};

pub(crate) fn id(n: u8) -> JobId {
    JobId::from_parts(instant::from_millis(1_750_000_000_000 + i64::from(n)), [n; 10])
}

pub(crate) fn document(n: u8) -> NewDocument {
    NewDocument {
        id: id(n),
        root: ROOT.to_owned(),
        path: format!("{n}.pdf"),
        key: format!("queue/{n}.pdf"),
        version: "1".to_owned(),
        bytes: 1,
        owner: "jane.doe".to_owned(),
    }
}

fn record(n: u8) -> FailureRecord {
    FailureRecord {
        failure_id: id(n).as_uuid(),
        document: id(n % 2),
        timestamp: instant::from_millis(1_750_000_000_000 + i64::from(n) * 1_000),
        owner: if n.is_multiple_of(2) { "jane.doe" } else { "default" }.to_owned(),
        pdf_key: format!("pdf/{n}.pdf"),
        queue_key: Some(format!("queue/{n}.pdf")),
        failed_key: None,
        retry_count: u32::from(n),
        max_retries_exceeded: false,
        code: Code::ParseError,
        failure_reason: "it cannot be opened".to_owned(),
        notified: n > 3,
    }
}

async fn put(world: &World, body: &str) -> Answer {
    let mut operator = world.operator();
    let request = operator.request("PUT", "/api/intake/settings");
    operator.send(request.header("content-type", "application/json").body(body.to_owned())).await
}

#[tokio::test]
async fn operators_see_how_intake_is_and_change_what_can_be_changed() {
    let world = World::start().await;
    world.documents.take_in(vec![document(1), document(2)]).await.unwrap();
    let done = DocumentChange::stage(Stage::Done);
    world.documents.change_document(id(2), LeaseToken(1), done).await.unwrap();
    let status = world.operator().get("/api/intake").await.json();
    assert_eq!(status["root"], ROOT);
    assert_eq!(status["documents"], json!({"waiting": 1, "done": 1}));
    assert_eq!((&status["in_flight"], &status["max_in_flight"]), (&json!(1), &json!(10)));
    assert_eq!((&status["max_retries"], &status["max_retries_from"]), (&json!(3), &json!("settings")));
    assert_eq!((&status["paused"], &status["last_look"]), (&json!(false), &Value::Null));
    let status = put(&world, r#"{"max_retries": 5, "paused": true}"#).await.json();
    assert_eq!((&status["max_retries"], &status["max_retries_from"]), (&json!(5), &json!("store")));
    assert_eq!(status["paused"], true);
    let status = put(&world, r#"{"paused": false}"#).await.json();
    assert_eq!((&status["max_retries"], &status["paused"]), (&json!(5), &json!(false)));
}

#[tokio::test]
async fn settings_that_cannot_be_are_refused_by_their_names() {
    let world = World::start().await;
    for (body, code, word) in [
        ("", "VALIDATION_MISSING_FIELD", "max_retries"),
        ("{}", "VALIDATION_MISSING_FIELD", "paused"),
        (r#"{"max_retries": 1001}"#, "VALIDATION_INVALID_FIELD", "1000"),
        (r#"{"max_retries": -1}"#, "VALIDATION_INVALID_FIELD", "-1"),
        (r#"{"retries": 1}"#, "VALIDATION_INVALID_FIELD", "retries"),
    ] {
        let answer = put(&world, body).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, code), "{body}");
        assert!(answer.json()["detail"].as_str().unwrap().contains(word), "{body}");
    }
    assert_eq!(world.operator().get("/api/intake").await.json()["max_retries"], 3);
}

#[tokio::test]
async fn documents_whose_job_is_gone_give_their_places_back() {
    let world = World::start().await;
    world.documents.take_in(vec![document(1), document(2)]).await.unwrap();
    let mut operator = world.operator();
    for _ in 0..2 {
        let request = operator.request("POST", "/api/intake/clear-in-flight").body(r#"{"dry_run": true}"#);
        let counted = operator.send(request.header("content-type", "application/json")).await.json();
        assert_eq!(counted, json!({"cleared": 2, "in_flight": 2}), "counting changes nothing");
    }
    let cleared = operator.post("/api/intake/clear-in-flight").await.json();
    assert_eq!(cleared, json!({"cleared": 2, "in_flight": 0}));
}

#[tokio::test]
async fn failure_records_come_in_pages_and_by_what_is_asked() {
    let world = World::start().await;
    for n in 1..=5 {
        world.documents.note_failure(record(n)).await.unwrap();
    }
    let mut operator = world.operator();
    let page = operator.get("/api/failure-records?limit=3").await.json();
    let counts = |page: &Value| -> Vec<u64> {
        let rows = page["failure_records"].as_array().unwrap();
        rows.iter().map(|row| row["retry_count"].as_u64().unwrap()).collect()
    };
    assert_eq!(counts(&page), [5, 4, 3]);
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = operator.get(&format!("/api/failure-records?limit=3&cursor={cursor}")).await.json();
    assert_eq!((counts(&rest), &rest["next_cursor"]), (vec![2, 1], &Value::Null));
    let row = &rest["failure_records"][0];
    assert_eq!(
        *row,
        json!({
            "failure_id": id(2).to_string(), "failure_date": "2025-06-15", "timestamp": "2025-06-15T15:06:42Z",
            "iam_username": "jane.doe", "pdf_key": "pdf/2.pdf", "queue_key": "queue/2.pdf", "failed_key": null,
            "retry_count": 2, "max_retries_exceeded": false, "failure_reason": "it cannot be opened",
            "notified": false, "code": "PARSE_ERROR", "job_id": id(0).to_string(),
        })
    );
    for (query, expected) in [
        ("owner=jane.doe", vec![4, 2]),
        ("notified=true", vec![5, 4]),
        ("q=pdf/3", vec![3]),
        ("code=PARSE_ERROR&since=2025-06-15T15:06:44Z", vec![5, 4]),
        (&format!("job_id={}", id(1)), vec![5, 3, 1]),
    ] {
        let page = operator.get(&format!("/api/failure-records?{query}")).await.json();
        assert_eq!(counts(&page), expected, "{query}");
    }
    for (query, code) in [
        ("x=1", "VALIDATION_UNKNOWN_FIELD"),
        ("notified=perhaps", "VALIDATION_INVALID_FIELD"),
        ("cursor=odd", "VALIDATION_CURSOR"),
    ] {
        assert_eq!(operator.get(&format!("/api/failure-records?{query}")).await.code(), code);
    }
}

#[tokio::test]
async fn a_server_without_such_a_place_says_so() {
    let world = World::with(|setup| setup.has_intake = false).await;
    for path in ["/api/intake", "/api/failure-records"] {
        let answer = world.operator().get(path).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "NOT_FOUND"));
        assert!(answer.json()["detail"].as_str().unwrap().contains("INTAKE_URL"));
    }
}
