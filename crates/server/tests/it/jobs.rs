//! Looking at jobs, and acting on them.

use serde_json::Value;

use crate::gateway::Mood;
use crate::world::{World, pdf};

#[tokio::test]
async fn a_job_tells_everything_its_owner_needs() {
    let world = World::start().await;
    let mut client = world.client();
    let id = world.converted(&mut client, "Müller.pdf", &pdf(1)).await;
    let job = client.get(&format!("/api/jobs/{id}")).await.json();
    for (field, expected) in [
        ("id", Value::from(id.as_str())),
        ("workload", "convert".into()),
        ("status", "complete".into()),
        ("filename", "Müller.pdf".into()),
        ("bytes", pdf(1).len().into()),
        ("mapping", "text".into()),
        ("attempt", 1.into()),
        ("max_attempts", 3.into()),
        ("generation", 1.into()),
        ("retry_after", Value::Null),
        ("error", Value::Null),
        ("last_failure", Value::Null),
        ("can_download", true.into()),
        ("can_retry", false.into()),
    ] {
        assert_eq!(job[field], expected, "{field}");
    }
    for field in ["created_at", "queued_at", "started_at", "finished_at"] {
        assert!(job[field].as_str().unwrap().ends_with('Z'), "{field}: {}", job[field]);
    }
    assert!(job.get("owner").is_none());
    assert_eq!(job["links"]["self"], format!("/api/jobs/{id}"));
    assert_eq!(job["links"]["download"], format!("/api/jobs/{id}/download"));
    assert!(job["links"].get("retry").is_none() && job["links"].get("cancel").is_none());
    let attempts = client.get(&format!("/api/jobs/{id}/attempts")).await.json();
    assert_eq!(
        (attempts[0]["number"].as_u64(), attempts[0]["outcome"].as_str()),
        (Some(1), Some("complete"))
    );
    let events = client.get(&format!("/api/jobs/{id}/events")).await.json();
    let kinds: Vec<&str> = events.as_array().unwrap().iter().map(|e| e["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["queued", "processing", "complete"]);
    assert_eq!(client.get(&format!("/api/jobs/{id}/explain")).await.json()["now"], "Complete.");
}

#[tokio::test]
async fn a_failure_is_told_in_public_words_and_nothing_of_the_inside() {
    let world = World::start().await;
    world.gateway.mood(Mood::Refuses);
    let mut client = world.client();
    let id = world.converted(&mut client, "a.pdf", &pdf(1)).await;
    let job = client.get(&format!("/api/jobs/{id}")).await.json();
    assert_eq!((job["status"].as_str(), job["error"]["code"].as_str()), (Some("failed"), Some("GW_4XX")));
    assert_eq!(job["last_failure"]["code"], "GW_4XX");
    assert_eq!((&job["can_retry"], &job["can_download"]), (&true.into(), &false.into()));
    for path in ["", "/attempts", "/events", "/explain"] {
        let text = client.get(&format!("/api/jobs/{id}{path}")).await.text();
        assert!(!text.contains("/srv") && !text.contains("PARSE_ERROR"), "{path}: {text}");
    }
    let story = client.get(&format!("/api/jobs/{id}/explain")).await.json();
    assert!(story["now"].as_str().unwrap().starts_with("Failed with GW_4XX."), "{story}");
    assert!(story["past"][0]["rule"].as_str().is_some_and(|rule| !rule.is_empty()));
}

#[tokio::test]
async fn a_retry_is_a_new_generation_that_keeps_the_history() {
    let world = World::start().await;
    world.gateway.mood(Mood::Refuses);
    let mut client = world.client();
    let id = world.converted(&mut client, "a.pdf", &pdf(1)).await;
    world.gateway.mood(Mood::Silent);
    let answer = client.post(&format!("/api/jobs/{id}/retry")).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let job = &answer.json()["job"];
    assert_eq!((job["generation"].as_u64(), job["error"].is_null()), (Some(2), true));
    let again = client.post(&format!("/api/jobs/{id}/retry")).await;
    assert_eq!((again.status, again.code().as_str()), (409, "CONFLICT_STATE"), "it is not failed any more");
    assert_eq!(again.json()["job_id"], id);
    world.gateway.mood(Mood::Fine);
    world.ended(&id).await;
    let attempts = client.get(&format!("/api/jobs/{id}/attempts")).await.json();
    let story: Vec<_> = attempts
        .as_array()
        .unwrap()
        .iter()
        .map(|a| (a["generation"].as_u64(), a["outcome"].as_str()))
        .collect();
    assert_eq!(story, [(Some(1), Some("failed")), (Some(2), Some("complete"))]);
}

#[tokio::test]
async fn a_retry_without_its_source_or_beside_its_twin_is_refused() {
    let world = World::start().await;
    world.gateway.mood(Mood::Refuses);
    let mut client = world.client();
    let id = world.converted(&mut client, "a.pdf", &pdf(1)).await;
    let gone = world.converted(&mut client, "b.pdf", &pdf(2)).await;
    std::fs::remove_file(world.folder.path().join("uploads").join(format!("{gone}.pdf"))).unwrap();
    let answer = client.post(&format!("/api/jobs/{gone}/retry")).await;
    assert_eq!((answer.status, answer.code().as_str()), (404, "EXPIRED"), "{}", answer.text());
    // It says which job, and what its owner can do.
    let problem = answer.json();
    assert_eq!(problem["job_id"], gone, "{problem}");
    assert_eq!(problem["detail"], "The file was removed. Upload it again.");
    let job = client.get(&format!("/api/jobs/{gone}")).await.json();
    assert_eq!((&job["status"], &job["generation"]), (&"failed".into(), &1.into()), "{job}");
    world.gateway.mood(Mood::Silent);
    let twin = client.upload("a.pdf", &pdf(1), None).await.job_id();
    let answer = client.post(&format!("/api/jobs/{id}/retry")).await;
    assert_eq!((answer.status, answer.code().as_str()), (409, "CONFLICT_DUPLICATE"));
    assert_eq!(answer.json()["job_id"], twin);
    world.gateway.mood(Mood::Fine);
}

#[tokio::test]
async fn what_has_not_ended_can_be_cancelled_once() {
    let world = World::with(|setup| setup.works = false).await;
    let mut client = world.client();
    let id = client.upload("a.pdf", &pdf(1), None).await.job_id();
    let answer = client.post(&format!("/api/jobs/{id}/cancel")).await;
    assert_eq!((answer.status, answer.json()["job"]["status"].as_str()), (202, Some("cancelled")));
    let again = client.post(&format!("/api/jobs/{id}/cancel")).await;
    assert_eq!((again.status, again.code().as_str()), (409, "CONFLICT_STATE"));
    assert_eq!(client.get(&format!("/api/jobs/{id}/cancel")).await.code(), "METHOD_NOT_ALLOWED");
}

#[tokio::test]
async fn lists_are_filtered_paged_and_counted() {
    let world = World::start().await;
    let mut client = world.client();
    for n in 0..3 {
        world.converted(&mut client, &format!("good {n}.pdf"), &pdf(n)).await;
    }
    world.gateway.mood(Mood::Refuses);
    world.converted(&mut client, "bad.pdf", &pdf(9)).await;
    client.upload("no.pdf", b"no", None).await;
    let list = client.get("/api/jobs").await.json();
    assert_eq!((list["counts"]["complete"].as_u64(), list["counts"]["failed"].as_u64()), (Some(3), Some(2)));
    assert_eq!((list["active_count"].as_u64(), list["next_cursor"].is_null()), (Some(0), true));
    assert!(list["timestamp"].as_str().unwrap().ends_with('Z'));
    for (query, names) in [
        ("status=complete", vec!["good 2.pdf", "good 1.pdf", "good 0.pdf"]),
        ("code=GW_4XX", vec!["bad.pdf"]),
        ("code=not_pdf", vec!["no.pdf"]),
        ("q=GOOD%201", vec!["good 1.pdf"]),
        ("q=%25", vec![]),
        ("workload=fetch", vec![]),
        ("since=2999-01-01T00:00:00Z", vec![]),
        ("since=2000-01-01T00:00:00Z&status=failed&limit=1", vec!["no.pdf"]),
    ] {
        assert_eq!(names_of(&client.get(&format!("/api/jobs?{query}")).await.json()), names, "{query}");
    }
    let (mut seen, mut query) = (Vec::new(), "limit=2".to_owned());
    loop {
        let page = client.get(&format!("/api/jobs?{query}")).await.json();
        let names = names_of(&page);
        assert!(names.len() <= 2);
        seen.extend(names);
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen, ["no.pdf", "bad.pdf", "good 2.pdf", "good 1.pdf", "good 0.pdf"]);
    for (query, code) in [
        ("status=uploaded", "VALIDATION_INVALID_FIELD"),
        ("limit=0", "VALIDATION_INVALID_FIELD"),
        ("cursor=1", "VALIDATION_CURSOR"),
        ("page=2", "VALIDATION_UNKNOWN_FIELD"),
        ("limit=1&limit=2", "VALIDATION_INVALID_FIELD"),
    ] {
        let answer = client.get(&format!("/api/jobs?{query}")).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, code), "{query}");
    }
}

fn names_of(list: &Value) -> Vec<String> {
    let jobs = list["jobs"].as_array().unwrap_or_else(|| panic!("{list}"));
    jobs.iter().map(|job| job["filename"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_list_finds_several_states_and_tells_the_last_failure_of_each_row() {
    let world = World::start().await;
    let mut client = world.client();
    let fine = world.converted(&mut client, "fine.pdf", &pdf(1)).await;
    world.gateway.mood(Mood::Refuses);
    let again = world.converted(&mut client, "again.pdf", &pdf(2)).await;
    let failed = world.converted(&mut client, "failed.pdf", &pdf(3)).await;
    world.gateway.mood(Mood::Silent);
    client.post(&format!("/api/jobs/{again}/retry")).await;
    while client.get(&format!("/api/jobs/{again}")).await.json()["status"] != "processing" {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let mut ids = async |query: &str| {
        let list = client.get(&format!("/api/jobs?{query}")).await.json();
        let jobs = list["jobs"].as_array().unwrap_or_else(|| panic!("{list}")).clone();
        let pair =
            |job: &Value| (job["id"].as_str().unwrap().to_owned(), job["last_failure"]["code"].clone());
        jobs.iter().map(pair).collect::<Vec<_>>()
    };
    let [fine, again, failed] =
        [(fine, Value::Null), (again, Value::from("GW_4XX")), (failed, Value::from("GW_4XX"))];
    assert_eq!(ids("").await, [failed.clone(), again.clone(), fine.clone()]);
    assert_eq!(ids("status=complete,processing").await, [again.clone(), fine.clone()]);
    assert_eq!(ids("status=complete&status=failed").await, [failed.clone(), fine]);
    assert_eq!(ids("status=failed,held&status=processing").await, [failed, again]);
    assert_eq!(client.get("/api/jobs?status=failed,uploaded").await.code(), "VALIDATION_INVALID_FIELD");
    assert_eq!(client.get("/api/jobs?q=a&q=b").await.code(), "VALIDATION_INVALID_FIELD");
    world.gateway.mood(Mood::Fine);
}
