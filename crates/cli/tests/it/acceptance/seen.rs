//! What whoever looks for a fault finds: log lines, metrics and rows that use the same names.

use std::collections::BTreeSet;

use redrive_lab::gateway::Answer;
use redrive_model::Code;
use serde_json::Value;

use super::kit::{Browser, Server, World, eventually, pdf};

on_both!(logs_and_metrics_tell_what_became_of_each_attempt, names_are_the_same_in_the_database_and_the_api,);

/// One that is tried twice and completes, one that fails.
async fn two_jobs(world: &World, browser: &Browser) -> [String; 2] {
    world.gateway_says([Answer::status(502), Answer::Right]);
    let tried_twice = browser.hand_in(&pdf(1)).await;
    browser.until(&tried_twice, "complete").await;
    world.gateway_says([Answer::status(400)]);
    let failed = browser.hand_in(&pdf(2)).await;
    browser.until(&failed, "failed").await;
    [tried_twice, failed]
}

/// The lines of the log that tell of this.
fn lines(server: &Server, event: &str) -> Vec<Value> {
    let said = server.said();
    let all =
        said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("{line}")));
    all.filter(|line| line["event"] == event).collect()
}

/// Also covers: X5.
async fn logs_and_metrics_tell_what_became_of_each_attempt(mut world: World) {
    world.set("LOG_LEVEL", "debug");
    let server = world.serve().await;
    let browser = server.browser();
    let [tried_twice, failed] = two_jobs(&world, &browser).await;
    for (event, id, status, attempt, target_status, code) in [
        ("job.retry", &tried_twice, "retry", 1, Some(502), "GW_5XX"),
        ("job.complete", &tried_twice, "complete", 2, None, ""),
        ("job.failed", &failed, "failed", 1, Some(400), "GW_4XX"),
    ] {
        let lines: Vec<Value> =
            lines(&server, event).into_iter().filter(|line| line["job_id"] == **id).collect();
        let [line] = &lines[..] else { panic!("{event}: {lines:#?}") };
        assert_eq!(line["workload"], "convert", "{line:#}");
        assert_eq!((&line["status"], &line["attempt"]), (&status.into(), &attempt.into()), "{line:#}");
        assert_eq!(line["target_status"].as_u64(), target_status, "{line:#}");
        assert_eq!((&line["error_code"], &line["breaker"]), (&code.into(), &"closed".into()), "{line:#}");
        assert!(line["duration_ms"].is_u64() && line["timestamp"].is_string(), "{line:#}");
        // The events of the job say the same.
        let events = browser.get(&format!("/api/jobs/{id}/events")).await.json();
        let event = events.as_array().unwrap().iter().find(|event| event["type"] == status).unwrap();
        assert_eq!(
            (&event["attempt"], &event["gateway_http_status"].as_u64()),
            (&attempt.into(), &target_status)
        );
        assert_eq!(event["error_code"].as_str().unwrap_or_default(), code, "{event:#}");
        assert!(event["duration_ms"].is_u64(), "{event:#}");
    }
    // And so does what is counted.
    let metrics = server.metrics().await;
    for line in [
        "redrive_jobs_created_total{workload=\"convert\"} 2",
        "redrive_jobs_completed_total{workload=\"convert\"} 1",
        "redrive_jobs_failed_total{workload=\"convert\",code=\"GW_4XX\"} 1",
        "redrive_jobs_retries_total{workload=\"convert\",code=\"GW_5XX\"} 1",
        "redrive_queue_depth{workload=\"convert\",state=\"queued\"} 0",
        "redrive_gateway_latency_seconds_count 3",
    ] {
        assert!(metrics.lines().any(|there| there == line), "{line} is not in\n{metrics}");
    }
    // A gateway that is gone is said with its name, and is seen in what is counted.
    world.gateway.down();
    browser.hand_in(&pdf(3)).await;
    eventually("the breaker to be said", async || {
        (!lines(&server, "breaker.opened").is_empty()).then_some(())
    })
    .await;
    let opened = lines(&server, "breaker.opened");
    assert_eq!((opened[0]["target"].as_str(), opened[0]["level"].as_str()), (Some("gateway"), Some("ERROR")));
    eventually("the breaker to be counted", async || {
        let metrics = server.metrics().await;
        let state =
            metrics.lines().find_map(|line| line.strip_prefix("redrive_breaker_state{target=\"gateway\"} "));
        state.and_then(|state| state.parse::<f64>().ok()).filter(|state| *state >= 0.5)
    })
    .await;
    for line in server.said().lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let code = line["error_code"].as_str().unwrap_or_default();
        assert!(code.is_empty() || Code::parse(code).is_some(), "a code that nobody knows: {line:#}");
    }
}

/// What the API says of a job that is no column of its row, and what it is made of.
const MADE: &[(&str, &str)] = &[
    ("workload", "its lane"),
    ("status", "state, due_at and the breakers: what is shown"),
    ("filename", "the payload"),
    ("bytes", "the payload"),
    ("mapping", "the payload"),
    ("retry_after", "due_at"),
    ("error", "failure_code, failure_message"),
    ("last_failure", "the newest attempt"),
    ("can_download", "state, expired_at"),
    ("can_retry", "state, the source"),
    ("links", "id"),
];

fn names(of: &Value) -> BTreeSet<String> {
    of.as_object().unwrap().keys().cloned().collect()
}

/// Also covers: X6.
async fn names_are_the_same_in_the_database_and_the_api(world: World) {
    let server = world.serve().await;
    let browser = server.browser();
    let ids = two_jobs(&world, &browser).await;
    // Whatever the API names is a column of that name, or is made of some.
    let jobs = world.columns("jobs").await;
    let job = browser.job(&ids[0]).await;
    for name in names(&job) {
        let is_made = MADE.iter().any(|(made, _)| *made == name);
        assert_ne!(jobs.contains(&name), is_made, "{name} of {jobs:?}");
    }
    let (attempts, columns) = (browser.attempts(&ids[0]).await, world.columns("attempts").await);
    let unknown: Vec<String> = names(&attempts[0]).difference(&columns).cloned().collect();
    assert_eq!(unknown, ["duration_ms"], "made of started_at and ended_at");
    // And the words in them are the same.
    let rows = world.rows(
        "SELECT state, coalesce(failure_code, ''), CAST(attempt AS text), CAST(generation AS text) FROM jobs \
         WHERE owner LIKE 's:%' ORDER BY created_at",
    );
    let rows = rows.await;
    assert_eq!(rows.len(), ids.len());
    for (row, id) in rows.iter().zip(&ids) {
        let job = browser.job(id).await;
        let code = job["error"]["code"].as_str().unwrap_or_default();
        let said = [
            job["status"].as_str().unwrap(),
            code,
            &job["attempt"].to_string(),
            &job["generation"].to_string(),
        ];
        assert_eq!(*row, said, "{job:#}");
    }
    for word in ["outcome", "code"] {
        let sql = format!(
            "SELECT DISTINCT a.{word} FROM attempts a JOIN jobs j ON j.id = a.job \
             WHERE j.owner LIKE 's:%' AND a.{word} IS NOT NULL"
        );
        let stored: BTreeSet<String> = world.rows(&sql).await.into_iter().flatten().collect();
        let mut said = BTreeSet::new();
        for id in &ids {
            let attempts = browser.attempts(id).await;
            said.extend(attempts.iter().filter_map(|attempt| attempt[word].as_str()).map(str::to_owned));
        }
        // The attempt that completed a job is told by the job's own row.
        said.remove("complete");
        assert_eq!(stored, said, "{word}");
    }
    // Nothing of the API is spelled otherwise.
    let document = browser.get("/api/openapi.json").await.json();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        for field in schema["properties"].as_object().into_iter().flat_map(|fields| fields.keys()) {
            let snake = field.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
            assert!(snake, "{name}.{field}");
        }
    }
}

/// Also covers: X6.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_databases_have_the_same_tables_and_columns() {
    let Some(postgres) = World::postgres().await else { return };
    let sqlite = World::sqlite().await;
    drop((sqlite.serve().await, postgres.serve().await));
    for table in [
        "jobs",
        "payloads",
        "attempts",
        "events",
        "dead_letters",
        "failure_groups",
        "batches",
        "breakers",
        "workers",
        "idempotency",
        "settings",
        "sessions",
        "audit",
        "lanes",
        "lane_targets",
    ] {
        assert_eq!(sqlite.columns(table).await, postgres.columns(table).await, "{table}");
    }
}
