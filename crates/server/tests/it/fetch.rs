//! Manifests over HTTP: what is accepted, what is refused, who may see what, and what is missing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redrive_api::client::{ManifestShape, WantedResources};
use redrive_blob::{Blobs, BlobsExt, Point, Seam};
use redrive_engine::{Code, Context, Done, Failure, Workload};
use redrive_fetch::{Made, ManifestLimits, Resource};
use redrive_server::Rate;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::world::{TOKEN, World, eventually, pdf};

/// A workload that stores the id of each resource instead of asking its origin; `no` fails, `slow` waits to be stopped.
pub(crate) struct Pretends {
    pub(crate) to: Arc<dyn Blobs>,
}

impl Workload for Pretends {
    type Input = Resource;

    async fn run(&self, ctx: Context, resource: Resource) -> Result<Done, Failure> {
        if resource.id.starts_with("no") {
            let failure = Failure::new(Code::DownloadHttp4xx, format!("GET {}: 404", resource.url));
            return Err(failure.with("attempt", 1).with("proxy", Value::Null).with("status", 404));
        }
        if resource.id.starts_with("slow") {
            ctx.cancelled().await;
        }
        let key = resource.key().unwrap();
        let stored = self.to.put_bytes(&key, format!("<b>{}</b>", resource.id).into()).await.unwrap();
        let made = Made {
            place: None,
            key: key.as_str().to_owned(),
            bytes: stored.bytes,
            sha256: stored.sha256,
            content_type: Some("text/html".into()),
            content_encoding: None,
            status: 200,
            tags: Default::default(),
        };
        ctx.set_result(made.reference());
        ctx.set_result_bytes(made.bytes);
        Ok(Done::Complete)
    }
}

fn manifest(ids: &[&str]) -> String {
    let resource = |id: &&str| json!({"id": id, "url": format!("https://a.example/{id}.html?token=SECRET")});
    let resources: Vec<Value> = ids.iter().map(resource).collect();
    json!({"manifest_version": 1, "resources": resources}).to_string()
}

pub(crate) async fn post(
    client: &mut Client,
    media: &str,
    body: impl Into<reqwest::Body>,
    headers: &[(&str, &str)],
) -> Answer {
    let mut request = client.request("POST", "/api/fetch").header("content-type", media).body(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    client.send(request).await
}

pub(crate) async fn accepted(client: &mut Client, ids: &[&str]) -> String {
    let answer = post(client, "application/json", manifest(ids), &[]).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let json = answer.json();
    assert_eq!(json["resource_count"], ids.len());
    let id = json["job_id"].as_str().unwrap().to_owned();
    assert_eq!(json["manifest_key"], format!("manifests/{id}.ndjson"));
    assert_eq!(answer.header("location"), Some(format!("/api/fetch/{id}").as_str()));
    id
}

/// Waits until a batch has ended.
pub(crate) async fn ended(client: &mut Client, id: &str) -> Value {
    let waiting = async {
        loop {
            let snapshot = client.get(&format!("/api/fetch/{id}")).await.json();
            if snapshot["status"] != "processing" {
                return snapshot;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waiting).await.expect("it never ended")
}

/// A batch of one complete resource.
pub(crate) async fn fetched(client: &mut Client) -> String {
    let id = accepted(client, &["one"]).await;
    ended(client, &id).await;
    id
}

#[tokio::test]
async fn a_strangers_manifest_is_fetched_and_exactly_what_is_missing_is_told() {
    let world = World::start().await;
    let mut ann = world.client();
    let id = accepted(&mut ann, &["a", "b", "no-c"]).await;
    let snapshot = ended(&mut ann, &id).await;
    assert!(ann.cookie.is_some(), "a session was begun");
    assert_eq!(snapshot["status"], "failed");
    let counts =
        ["resources_total", "resources_completed", "resources_failed", "resources_cancelled", "bytes"];
    assert_eq!(counts.map(|name| snapshot[name].as_u64().unwrap()), [3, 2, 1, 0, 16]);
    assert_eq!(snapshot["failures_by_code"], json!({"DOWNLOAD_HTTP_4XX": 1}));
    assert_eq!(snapshot["last_error"]["context"], json!({"attempt": 1, "proxy": null, "status": 404}));
    assert!(snapshot["dlq_offset"].is_i64() && snapshot.get("owner").is_none(), "{snapshot}");

    let failed = ann.get(&format!("/api/fetch/{id}/resources?status=failed,cancelled")).await.json();
    assert_eq!(failed["resources"].as_array().unwrap().len(), 1);
    assert_eq!(failed["resources"][0]["failure"]["code"], "DOWNLOAD_HTTP_4XX");
    let all = ann.get(&format!("/api/fetch/{id}/resources")).await;
    assert!(!all.text().contains("SECRET") && all.json()["resources"].as_array().unwrap().len() == 3);

    let missing = ann.get(&format!("/api/fetch/{id}/missing")).await;
    assert_eq!(missing.header("content-type"), Some("application/json"));
    assert_eq!(missing.header("cache-control"), Some("private, no-store"));
    assert!(missing.header("content-disposition").unwrap().contains(".json"));
    assert_eq!(missing.text().trim(), manifest(&["no-c"]));
    let again = post(&mut ann, "application/json", missing.body, &[]).await;
    assert_eq!((again.status, again.json()["resource_count"].as_u64()), (202, Some(1)));
    let lines =
        ann.ask("GET", &format!("/api/fetch/{id}/missing"), &[("accept", "application/x-ndjson")]).await;
    assert_eq!(
        (lines.header("content-type"), lines.text().lines().count()),
        (Some("application/x-ndjson"), 2)
    );

    let list = ann.get("/api/fetch?limit=1").await.json();
    assert_eq!(list["batches"].as_array().unwrap().len(), 1);
    let cursor = list["next_cursor"].as_str().unwrap();
    let rest = ann.get(&format!("/api/fetch?cursor={cursor}")).await.json();
    assert_eq!(rest["batches"][0]["job_id"], id);
    assert_eq!(world.client().get("/api/fetch").await.json()["batches"], json!([]));
    let operators = world.operator().get("/api/fetch").await.json();
    assert!(
        operators["batches"].as_array().unwrap().len() == 2 && operators["batches"][0]["owner"].is_string()
    );
}

#[tokio::test]
async fn members_belong_to_their_batch_and_spoil_nobodys_lists() {
    let world = World::start().await;
    let (mut ann, mut bob) = (world.client(), world.client());
    let pdf = world.converted(&mut ann, "a.pdf", &pdf(1)).await;
    let id = accepted(&mut ann, &["a", "no-b"]).await;
    ended(&mut ann, &id).await;
    bob.get("/api/jobs").await;
    let list = ann.get("/api/jobs").await.json();
    assert_eq!((list["jobs"].as_array().unwrap().len(), &list["counts"]), (1, &json!({"complete": 1})));
    assert_eq!(list["jobs"][0]["id"], pdf);
    let members = ann.get(&format!("/api/jobs?batch={id}&status=complete")).await.json();
    let job = &members["jobs"][0];
    assert_eq!(
        (&job["workload"], &job["filename"], &job["bytes"]),
        (&json!("fetch"), &json!("a"), &json!(8))
    );
    assert_eq!((&job["mapping"], &job["can_download"]), (&Value::Null, &json!(true)));
    assert_eq!(bob.get(&format!("/api/jobs?batch={id}")).await.code(), "FORBIDDEN");
    for stranger in [&mut ann, &mut bob] {
        let list = stranger.get("/api/jobs?members=true&workload=fetch").await.json();
        assert_eq!(list["jobs"], json!([]), "to ask for members opens nothing");
    }
    let mut operator = world.operator();
    for (asked, jobs, counts) in [
        ("", 1, json!({"complete": 1})),
        ("?status=complete,failed", 1, json!({"complete": 1})),
        ("?members=true", 3, json!({"complete": 2, "failed": 1})),
        ("?workload=fetch", 2, json!({"complete": 2, "failed": 1})),
        (&format!("?batch={id}"), 2, json!({"complete": 2, "failed": 1})),
    ] {
        let list = operator.get(&format!("/api/jobs{asked}")).await.json();
        assert_eq!((list["jobs"].as_array().unwrap().len(), &list["counts"]), (jobs, &counts), "{asked}");
    }
    let page = operator.get("/jobs").await.text();
    assert!(page.contains("1 job: 1 complete") && !page.contains("no-b"), "{page}");

    let member = job["id"].as_str().unwrap();
    assert_eq!(ann.get(&format!("/api/jobs/{member}")).await.json()["id"], member);
    assert_eq!(bob.get(&format!("/api/jobs/{member}")).await.code(), "FORBIDDEN");
    assert_eq!(bob.get(&format!("/api/jobs/{member}/download")).await.code(), "FORBIDDEN");
    let object = ann.get(&format!("/api/jobs/{member}/download")).await;
    assert_eq!((object.status, object.text().as_str()), (200, "<b>a</b>"));
    assert_eq!(object.header("content-type"), Some("application/octet-stream"));
    assert_eq!(object.header("x-content-type-options"), Some("nosniff"));
    assert!(object.header("content-disposition").unwrap().contains("filename=\"a.html\""));
    let failed = ann.get(&format!("/api/jobs?batch={id}&status=failed")).await.json();
    let failed = failed["jobs"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(ann.get(&format!("/api/jobs/{failed}/download")).await.code(), "NOT_READY");
    assert_eq!(ann.post(&format!("/api/jobs/{failed}/retry")).await.status, 202);
    assert_eq!(bob.post(&format!("/api/jobs/{failed}/retry")).await.code(), "FORBIDDEN");
}

#[tokio::test]
async fn what_is_wrong_is_refused_with_its_place_and_leaves_nothing() {
    let limits = ManifestLimits { json_resources: 2, encoded_bytes: 5_000, ..ManifestLimits::default() };
    let world = World::with(|setup| setup.manifest_limits = limits).await;
    let mut ann = world.client();
    let (json, ndjson) = ("application/json", "application/x-ndjson");
    let bad = "{\"id\":\"a\",\"url\":\"https://a.example/\"}\n{\"id\":\"b\"}\n{\"id\":\"a\",\"url\":\"https://a.example/\"}\n";
    let answer = post(&mut ann, ndjson, bad, &[]).await;
    assert_eq!((answer.status, answer.code().as_str()), (400, "VALIDATION_MISSING_FIELD"));
    assert_eq!(answer.json()["detail"], "line 2: url: is missing (and 1 more).");
    let errors = json!([
        {"code": "VALIDATION_MISSING_FIELD", "line": 2, "field": "url", "detail": "is missing"},
        {"code": "VALIDATION_DUPLICATE_ID", "line": 3, "field": "id", "detail": "another resource before it has the same"},
    ]);
    assert_eq!(answer.json()["errors"], errors);
    for (media, body, headers, status, code) in [
        (json, manifest(&["a", "b", "c"]), &[][..], 413, "VALIDATION_TOO_MANY"),
        (json, " ".repeat(6_000), &[], 413, "VALIDATION_TOO_LARGE"),
        (json, "{".into(), &[], 400, "VALIDATION_MALFORMED"),
        (
            json,
            manifest(&["a"]).replace("https://a.example", "http://127.0.0.1"),
            &[],
            400,
            "VALIDATION_INVALID_FIELD",
        ),
        (
            json,
            manifest(&["a"]).replace("\"manifest_version\":1", "\"manifest_version\":2"),
            &[],
            400,
            "VALIDATION_UNSUPPORTED_VERSION",
        ),
        ("text/plain", manifest(&["a"]), &[], 415, "UNSUPPORTED_MEDIA_TYPE"),
        (json, manifest(&["a"]), &[("content-encoding", "br")], 415, "UNSUPPORTED_MEDIA_TYPE"),
        (json, manifest(&["a"]), &[("content-encoding", "gzip")], 400, "VALIDATION_MALFORMED"),
        (json, manifest(&["a"]), &[("idempotency-key", " ")], 400, "VALIDATION_INVALID_FIELD"),
        (json, manifest(&["a"]), &[("origin", "https://evil.example")], 403, "AUTH_CROSS_SITE"),
    ] {
        let answer = post(&mut ann, media, body, headers).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{}", answer.text());
    }
    let endless = futures::stream::iter((0..1_000).map(|_| Ok::<_, std::io::Error>(vec![b'\n'; 100])));
    let answer = post(&mut ann, ndjson, reqwest::Body::wrap_stream(endless), &[]).await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "VALIDATION_TOO_LARGE"));
    for path in ["/api/fetch?status=failed", "/api/fetch?cursor=x", "/api/fetch?limit=0"] {
        assert_eq!(ann.get(path).await.status, 400, "{path}");
    }
    let id = accepted(&mut ann, &["a"]).await;
    for query in ["q=a", "status=lost", "cursor=x"] {
        assert_eq!(ann.get(&format!("/api/fetch/{id}/resources?{query}")).await.status, 400, "{query}");
    }
    assert_eq!(world.files("manifests").len(), 1, "only the one that was taken");
}

#[tokio::test]
async fn the_same_key_answers_the_same_batch_and_another_manifest_is_refused() {
    let world = World::start().await;
    let mut ann = world.client();
    ann.get("/api/jobs").await;
    let key = [("idempotency-key", "monday")];
    let first = post(&mut ann, "application/json", manifest(&["a"]), &key).await;
    let again = post(&mut ann, "application/json; charset=utf-8", manifest(&["a"]), &key).await;
    let mut expected = first.json();
    assert_eq!(std::mem::replace(&mut expected["replayed"], json!(true)), json!(false));
    assert_eq!((again.status, again.json()), (202, expected));
    let other = post(&mut ann, "application/json", manifest(&["b"]), &key).await;
    assert_eq!((other.status, other.code().as_str()), (422, "IDEMPOTENCY_MISMATCH"));
    let mut bob = world.client();
    bob.get("/api/jobs").await;
    let of_bob = post(&mut bob, "application/json", manifest(&["b"]), &key).await;
    assert_eq!(of_bob.status, 202);
    assert_ne!(of_bob.json()["job_id"], first.json()["job_id"]);
}

#[tokio::test]
async fn a_batch_is_cancelled_once_by_its_owner() {
    let world = World::start().await;
    let (mut ann, mut bob) = (world.client(), world.client());
    bob.get("/api/jobs").await;
    let id = accepted(&mut ann, &["slow-a", "slow-b"]).await;
    assert_eq!(bob.post(&format!("/api/fetch/{id}/cancel")).await.code(), "FORBIDDEN");
    let answer = ann.post(&format!("/api/fetch/{id}/cancel")).await;
    assert_eq!((answer.status, &answer.json()["job_id"]), (202, &json!(id)));
    let snapshot = ended(&mut ann, &id).await;
    assert_eq!((&snapshot["status"], &snapshot["resources_cancelled"]), (&json!("cancelled"), &json!(2)));
    assert_eq!(ann.post(&format!("/api/fetch/{id}/cancel")).await.code(), "CONFLICT_STATE");
    let request = answer.header("x-request-id").map(str::to_owned);
    eventually(async || {
        let acts = world
            .engine
            .store()
            .acts(redrive_store::ActFilter::default(), redrive_store::PageRequest::default())
            .await
            .unwrap();
        let row = acts.rows.into_iter().find(|row| row.act.action == "batch.cancel").unwrap();
        assert!(row.act.actor.starts_with("s:") && row.act.request_id == request, "{row:?}");
        let change = (row.before.as_deref(), row.after.as_deref());
        row.outcome.map(|_| assert_eq!(change, (Some("processing"), Some("cancelled"))))
    })
    .await;
}

#[tokio::test]
async fn whoever_leaves_has_their_batches_stopped() {
    let world = World::start().await;
    let mut ann = world.client();
    let id = accepted(&mut ann, &["slow-a"]).await;
    assert_eq!(ann.ask("DELETE", "/api/session", &[]).await.status, 204);
    let mut operator = world.operator();
    assert_eq!(ended(&mut operator, &id).await["status"], "cancelled");
}

#[tokio::test]
async fn too_many_batches_and_too_long_a_queue_are_turned_away_but_uploads_are_not() {
    let world = World::with(|setup| {
        setup.works = false;
        setup.limits.batches_per_session = 2;
        setup.limits.fetch_depth = 5;
        setup.limits.queue_depth = 3;
        setup.limits.active_per_session = 2;
    })
    .await;
    let (mut ann, mut bob) = (world.client(), world.client());
    accepted(&mut ann, &["a", "b"]).await;
    accepted(&mut ann, &["a", "b"]).await;
    let third = post(&mut ann, "application/json", manifest(&["a"]), &[]).await;
    assert_eq!((third.status, third.code().as_str()), (429, "RATE_LIMITED"));
    accepted(&mut bob, &["a"]).await;
    // The door looks at the queue a few times a second; what the status says is its look.
    eventually(async || (ann.get("/api/status").await.json()["queue"]["queued"] == 5).then_some(())).await;
    let full = post(&mut bob, "application/json", manifest(&["a"]), &[]).await;
    assert_eq!((full.status, full.code().as_str()), (503, "OVERLOADED"));
    assert_eq!(
        ann.upload("a.pdf", &pdf(1), None).await.status,
        201,
        "downloads that wait keep nobody else out"
    );
}

#[tokio::test]
async fn of_manifests_that_are_sent_at_once_no_more_are_taken_than_may_be() {
    let limits = ManifestLimits { held_resources: 10, ..ManifestLimits::default() };
    let world = World::with(|setup| {
        setup.works = false;
        setup.manifest_limits = limits;
        setup.limits.batches_per_session = 2;
    })
    .await;
    let mut ann = world.client();
    ann.get("/api/jobs").await;
    let line = |n| format!("{{\"id\":\"{n}\",\"url\":\"https://a.example/{}\"}}\n", "x".repeat(6_000));
    // So much is no longer held in memory: a temp says that the manifest is being read.
    let first: String = (0..40).map(line).collect();
    let mut bodies = Vec::new();
    let sending: Vec<_> = (0..6)
        .map(|_| {
            let (body, pieces) = futures::channel::mpsc::unbounded::<std::io::Result<String>>();
            body.unbounded_send(Ok(first.clone())).unwrap();
            bodies.push(body);
            let mut client = ann.clone();
            tokio::spawn(async move {
                let body = reqwest::Body::wrap_stream(pieces);
                post(&mut client, "application/x-ndjson", body, &[]).await
            })
        })
        .collect();
    let temps = world.folder.path().join("manifests/.redrive-temp");
    let all = tokio::time::timeout(Duration::from_secs(30), async {
        while std::fs::read_dir(&temps).map_or(0, Iterator::count) < 6 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    all.await.expect("they never came");
    // Only then do they end.
    for body in bodies {
        body.unbounded_send(Ok(line(40))).unwrap();
    }
    let mut statuses = Vec::new();
    for sent in sending {
        let answer = sent.await.unwrap();
        if answer.status != 202 {
            assert_eq!(answer.code(), "RATE_LIMITED");
        }
        statuses.push(answer.status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 202, 429, 429, 429, 429]);
    assert_eq!(ann.get("/api/fetch").await.json()["batches"].as_array().unwrap().len(), 2);
    assert_eq!(world.files("manifests").len(), 2);
}

#[tokio::test]
async fn a_manifest_without_a_length_is_charged_when_it_is_read() {
    let world = World::with(|setup| {
        setup.works = false;
        setup.limits.bytes_per_session = Rate { burst: 1_500.0, per_second: 0.001 };
    })
    .await;
    let mut ann = world.client();
    ann.get("/api/jobs").await;
    let line = format!("{{\"id\":\"a\",\"url\":\"https://a.example/{}\"}}\n", "x".repeat(1_000));
    let chunked = || reqwest::Body::wrap_stream(futures::stream::iter([std::io::Result::Ok(line.clone())]));
    assert_eq!(post(&mut ann, "application/x-ndjson", chunked(), &[]).await.status, 202);
    let second = post(&mut ann, "application/x-ndjson", chunked(), &[]).await;
    assert_eq!((second.status, second.code().as_str()), (429, "RATE_LIMITED"));
    assert_eq!(world.files("manifests").len(), 1, "nothing is left of it");
    assert_eq!(post(&mut world.operator(), "application/x-ndjson", chunked(), &[]).await.status, 202);
}

#[tokio::test]
async fn what_is_accepted_and_not_unpacked_waits_too() {
    let limits = ManifestLimits { held_resources: 10, ..ManifestLimits::default() };
    let world = World::with(|setup| {
        setup.works = false;
        setup.manifest_limits = limits;
        setup.limits.fetch_depth = 40;
    })
    .await;
    let mut ann = world.client();
    let ids: Vec<String> = (0..39).map(|n| n.to_string()).collect();
    accepted(&mut ann, &ids.iter().map(String::as_str).collect::<Vec<_>>()).await;
    eventually(async || (ann.get("/api/status").await.json()["queue"]["queued"] == 1).then_some(())).await;
    accepted(&mut ann, &["one more"]).await;
    eventually(async || (ann.get("/api/status").await.json()["queue"]["queued"] == 2).then_some(())).await;
    let full = post(&mut ann, "application/json", manifest(&["a"]), &[]).await;
    assert_eq!((full.status, full.code().as_str()), (503, "OVERLOADED"));
}

/// A place whose disk fails the first so many times.
struct Fails(AtomicUsize);

impl Seam for Fails {
    fn before(&self, point: Point) -> std::io::Result<()> {
        let left = |n: usize| n.checked_sub(1);
        let fails =
            point == Point::Rename && self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left).is_ok();
        if fails { Err(std::io::Error::other("sector 7 of /srv/secret")) } else { Ok(()) }
    }
}

#[tokio::test]
async fn storage_is_tried_three_times_and_then_it_is_said_when_to_come_back() {
    // Two failures are nobody's business; with three the manifest is refused, and the next one is taken.
    for (failures, status) in [(2, 202), (3, 503)] {
        let seam = Arc::new(Fails(AtomicUsize::new(failures)));
        let world = World::with(|setup| setup.manifest_seam = seam).await;
        let mut ann = world.client();
        let answer = post(&mut ann, "application/json", manifest(&["a"]), &[]).await;
        assert_eq!(answer.status, status, "{}", answer.text());
        if status == 503 {
            assert_eq!(answer.code(), "STORAGE_UNAVAILABLE");
            assert!(!answer.text().contains("secret"), "{}", answer.text());
            assert_eq!(world.files("manifests").len(), 0);
            assert_eq!(world.operator().get("/api/fetch").await.json()["batches"], json!([]));
            accepted(&mut ann, &["a"]).await;
        }
    }
}

#[tokio::test]
async fn a_manifest_that_comes_too_slowly_or_breaks_off_leaves_nothing() {
    let world = World::with(|setup| {
        setup.door.body_grace = Duration::from_millis(100);
        setup.door.body_rate = 1 << 20;
    })
    .await;
    let mut ann = world.client();
    let line = "{\"id\":\"a\",\"url\":\"https://a.example/\"}\n";
    let first = futures::stream::iter([Ok::<_, std::io::Error>(line.to_owned())]);
    let slow = futures::StreamExt::chain(first, futures::stream::pending());
    let answer = post(&mut ann, "application/x-ndjson", reqwest::Body::wrap_stream(slow), &[]).await;
    assert_eq!((answer.status, answer.code().as_str()), (408, "REQUEST_TIMEOUT"));
    assert_eq!(world.files("manifests").len(), 0);
    assert_eq!(world.operator().get("/api/fetch").await.json()["batches"], json!([]));
}

#[tokio::test]
async fn a_server_that_does_not_fetch_says_so() {
    let world = World::with(|setup| setup.fetches = false).await;
    let mut ann = world.client();
    let answer = post(&mut ann, "application/json", manifest(&["a"]), &[]).await;
    assert_eq!((answer.status, answer.code().as_str()), (404, "NOT_FOUND"));
    assert!(answer.text().contains("does not fetch"), "{}", answer.text());
    assert_eq!(ann.get("/api/fetch").await.status, 404);
}

#[tokio::test]
async fn the_typed_client_sends_a_file_and_reads_what_is_told() {
    let limits = ManifestLimits { held_resources: 10, ..ManifestLimits::default() };
    let world = World::with(|setup| setup.manifest_limits = limits).await;
    let client = redrive_api::client::Client::new(url::Url::parse(&world.url).unwrap(), Some(TOKEN)).unwrap();
    let line = |n: usize| {
        let name = if n % 10 == 9 { "no" } else { "yes" };
        format!("{{\"id\":\"{name}-{n}\",\"url\":\"https://a.example/{n}\"}}\n")
    };
    let file = world.folder.path().join("list.ndjson");
    std::fs::write(&file, (0..50).map(line).collect::<String>()).unwrap();
    let shape = ManifestShape { ndjson: true, gzip: false };
    let reply = client.fetch_file(&file, shape, Some("k")).await.unwrap();
    let again = client.fetch_file(&file, shape, Some("k")).await.unwrap();
    assert!(again.replayed && !reply.replayed && again.job_id == reply.job_id, "{again:?}");
    assert_eq!(reply.resource_count, 50);
    let mut snapshot = client.batch(&reply.job_id).await.unwrap();
    assert_eq!(snapshot.resources_total, 50, "known while it is being unpacked");
    while snapshot.status == "processing" {
        tokio::time::sleep(Duration::from_millis(5)).await;
        snapshot = client.batch(&reply.job_id).await.unwrap();
    }
    assert_eq!((snapshot.resources_completed, snapshot.resources_failed), (45, 5));
    let wanted = WantedResources { status: Some("failed".into()), limit: Some(3), cursor: None };
    let page = client.resources(&reply.job_id, &wanted).await.unwrap();
    assert_eq!(page.resources.len(), 3);
    let rest = WantedResources { cursor: page.next_cursor, ..wanted };
    assert_eq!(client.resources(&reply.job_id, &rest).await.unwrap().resources.len(), 2);
    let mut missing = client.missing(&reply.job_id, Some(true)).await.unwrap();
    let mut text = Vec::new();
    while let Some(chunk) = missing.chunk().await.unwrap() {
        text.extend_from_slice(&chunk);
    }
    assert_eq!(String::from_utf8(text.clone()).unwrap().lines().count(), 6);
    let body = futures::stream::iter([Ok::<_, std::io::Error>(text.into())]);
    let again = client.fetch(body, shape, None).await.unwrap();
    assert_eq!(again.resource_count, 5);
    assert_eq!(client.batches(None, None).await.unwrap().batches.len(), 2);
    let refused = client.cancel_batch(&reply.job_id).await.unwrap_err();
    assert!(refused.to_string().contains("CONFLICT_STATE"), "{refused}");
}

/// Whoever lost the answer asks again with the same key and is told it, before any quota is looked at.
#[tokio::test]
async fn a_repeat_has_its_answer_also_when_no_quota_is_left() {
    let body = manifest(&["a"]);
    let world = World::with(|setup| {
        (setup.works, setup.limits.batches_per_session) = (false, 1);
        setup.limits.bytes_per_session = Rate { burst: body.len() as f64, per_second: 1e-6 };
    })
    .await;
    let mut ann = world.client();
    let key = [("idempotency-key", "one")];
    let first = post(&mut ann, "application/json", body.clone(), &key).await;
    assert_eq!(first.status, 202, "{}", first.text());
    let piece = async { Ok::<_, std::io::Error>(manifest(&["a"])) };
    let unannounced = reqwest::Body::wrap_stream(futures::stream::once(piece));
    for body in [reqwest::Body::from(body.clone()), unannounced] {
        let again = post(&mut ann, "application/json", body, &key).await;
        assert_eq!(again.status, 202, "{}", again.text());
        let (first, again) = (first.json(), again.json());
        assert_eq!((&again["job_id"], &again["replayed"]), (&first["job_id"], &true.into()), "{again}");
    }
    let other = post(&mut ann, "application/json", manifest(&["b"]), &key).await;
    assert_eq!(other.code(), "IDEMPOTENCY_MISMATCH");
    for headers in [&[][..], &[("idempotency-key", "two")]] {
        assert_eq!(post(&mut ann, "application/json", body.clone(), headers).await.code(), "RATE_LIMITED");
    }
    let mut bob = world.client();
    let his = post(&mut bob, "application/json", body, &key).await;
    assert_eq!((his.status, &his.json()["replayed"]), (202, &false.into()), "a key is its owner's");
}
