//! Every answer is one that the OpenAPI document has: each route asked well and badly, by everybody, on a server that has everything
//! and on one that lacks what it may lack.

use redrive_server::routes;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::scopes::nowhere;
use crate::there::{There, patient};
use crate::world::{World, pdf};

/// Questions, of which most cannot be meant.
const QUESTIONS: &[&str] = &[
    "",
    "?limit=0",
    "?limit=1&limit=2",
    "?cursor=x",
    "?nothing=1",
    "?status=x",
    "?code=x",
    "?ids=x",
    "?batch=0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
    "?owner=ann&address=ann",
];
/// Bodies, of which most cannot be meant.
const BODIES: &[&str] = &[
    "",
    "{",
    "[]",
    "{\"nothing\": 1}",
    "{\"dry_run\": true, \"filter\": {\"group\": \"0123456789abcdef\"}}",
    "{\"max_retries\": 3}",
    "{\"owner\": \"ann\", \"address\": \"ann@a.example\", \"enabled\": true}",
    "{\"notifications\": []}",
];
/// Headers that say something about an answer, beside those that each has.
const TOLD: &[&str] = &[
    "accept-ranges",
    "content-disposition",
    "content-range",
    "etag",
    "idempotent-replayed",
    "location",
    "retry-after",
    "set-cookie",
    "www-authenticate",
];

/// The document.
struct Document(Value);

impl Document {
    async fn of(world: &World) -> Self {
        Self(world.client().get("/api/openapi.json").await.json())
    }

    /// Fails on an answer whose status, type, code or header the document does not have.
    fn has(&self, method: &str, path: &str, answer: &Answer) {
        let told = &self.0["paths"][path][method.to_lowercase()]["responses"][answer.status.to_string()];
        let who = format!("{method} {path} {}: {}", answer.status, answer.text());
        assert!(told.is_object(), "{who} is not in the document");
        for name in TOLD.iter().filter(|name| answer.header(name).is_some()) {
            let mut names = told["headers"].as_object().unwrap().keys();
            assert!(names.any(|known| known.eq_ignore_ascii_case(name)), "{who} has a header {name}");
        }
        let Some(media) = answer.header("content-type").and_then(|said| said.split(';').next()) else {
            assert!(told.get("content").is_none(), "{who} has no body");
            return;
        };
        let told = &told["content"][media];
        assert!(told.is_object(), "{who} is {media}");
        if media == "application/problem+json" {
            let code = answer.code();
            assert!(told["examples"][&code].is_object(), "{who} has the code {code}");
        }
    }
}

async fn ask(client: &Client, method: &str, path: &str, body: &str, key: Option<&str>) -> Answer {
    let mut client = client.clone();
    let mut request = client.request(method, path).header("content-type", "application/json");
    // Where a body was not read the connection ends with the answer.
    if body.len() > 1_000 {
        request = request.header("connection", "close");
    }
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    client.send(request.body(body.to_owned())).await
}

/// Asks every route everything.
async fn walk(document: &Document, clients: &[&Client], places: impl Fn(&str) -> Vec<String>) {
    let large = " ".repeat(70_000);
    let bodies: Vec<&str> = BODIES.iter().copied().chain([large.as_str()]).collect();
    let mut asked = 0;
    for route in routes() {
        let (method, path) = (route.method.as_str(), route.path);
        // It has no end.
        if path == "/api/events/stream" {
            continue;
        }
        for place in places(path) {
            for client in clients {
                for question in QUESTIONS {
                    document.has(
                        method,
                        path,
                        &ask(client, method, &format!("{place}{question}"), "", None).await,
                    );
                }
                for body in bodies.iter().filter(|_| method != "GET") {
                    // Twice under one key is once; and another body, or another address, is another request.
                    for key in [None, Some("one"), Some("one")] {
                        document.has(method, path, &ask(client, method, &place, body, key).await);
                        asked += 1;
                    }
                }
                asked += QUESTIONS.len();
            }
        }
    }
    assert!(asked > 1_000, "{asked}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_of_a_server_that_has_everything_is_in_the_document() {
    let there = There::start().await;
    let document = Document::of(&there.world).await;
    let wrong = there.world.client().with_token("a-wrong-token-of-nobody");
    let nobody = there.world.client();
    walk(&document, &[&there.ann, &there.operator, &nobody, &wrong], |path| {
        vec![nowhere(path), there.at(path)]
    })
    .await;
}

/// No folder of people, no place for downloads, no gateway, no doctor.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_of_a_server_that_lacks_everything_is_in_the_document() {
    let world = World::with(|setup| {
        patient(&mut setup.limits);
        (setup.has_intake, setup.fetches, setup.has_gateway) = (false, false, false);
        setup.settings.examine = None;
    })
    .await;
    let document = Document::of(&world).await;
    let (mut ann, operator) = (world.client(), world.operator());
    ann.get("/api/jobs").await;
    walk(&document, &[&ann, &operator, &world.client()], |path| vec![nowhere(path)]).await;
    for path in ["/api/intake", "/api/deliveries", "/api/notifications", "/api/fetch", "/api/doctor"] {
        assert_eq!(operator.clone().get(path).await.code(), "NOT_FOUND", "{path}");
    }
}

#[tokio::test]
async fn what_uploads_and_downloads_are_answered_is_in_the_document() {
    let there = There::start().await;
    let document = Document::of(&there.world).await;
    let mut ann = there.ann.clone();
    let key = [("idempotency-key", "one")];
    for (name, bytes, mapping, headers, status) in [
        ("b.pdf", pdf(10), None, &key[..], 201),
        ("b.pdf", pdf(10), None, &key, 201),
        ("b.pdf", pdf(11), None, &key, 422),
        ("b.pdf", pdf(10), None, &[], 200),
        ("b.pdf", pdf(12), Some("nobodys"), &[], 400),
        ("b.pdf", b"none".to_vec(), None, &[], 400),
    ] {
        let answer = ann.upload_with(name, &bytes, mapping, headers).await;
        assert_eq!(answer.status, status, "{}", answer.text());
        document.has("POST", "/api/upload", &answer);
    }
    let pdf = pdf(13);
    let many: Vec<_> = (0..100).map(|_| ("mapping", None, &b"text"[..])).collect();
    for (fields, code) in [
        (vec![("mapping", None, &b"text"[..])], "VALIDATION_MISSING_FIELD"),
        (vec![("other", None, &b"x"[..])], "VALIDATION_UNKNOWN_FIELD"),
        (vec![("file", Some("a.pdf"), &pdf[..]), ("file", Some("a.pdf"), &pdf)], "VALIDATION_INVALID_FIELD"),
        (many, "VALIDATION_INVALID_FIELD"),
    ] {
        let answer = ann.form(&fields, &[]).await;
        assert_eq!(answer.code(), code, "{}", answer.text());
        document.has("POST", "/api/upload", &answer);
    }
    let path = there.at("/api/jobs/{id}/download");
    let tag = ann.get(&path).await.header("etag").unwrap().to_owned();
    for (headers, status) in [
        (("range", "bytes=0-1"), 206),
        (("range", "bytes=100000000-"), 416),
        (("if-none-match", tag.as_str()), 304),
    ] {
        let answer = ann.ask("GET", &path, &[headers]).await;
        assert_eq!(answer.status, status, "{}", answer.text());
        document.has("GET", "/api/jobs/{id}/download", &answer);
    }
    let batch = there.at("/api/fetch/{id}").rsplit('/').next().unwrap().to_owned();
    let member = ann.get(&format!("/api/jobs?batch={batch}")).await.json()["jobs"][0]["id"].clone();
    let fetched = ann.get(&format!("/api/jobs/{}/download", member.as_str().unwrap())).await;
    assert_eq!(fetched.header("content-type"), Some("application/octet-stream"));
    document.has("GET", "/api/jobs/{id}/download", &fetched);
    for id in [member.as_str().unwrap(), "x"] {
        let path = format!("/api/download.zip?ids={id}");
        for client in [&mut ann, &mut there.operator.clone()] {
            document.has("GET", "/api/download.zip", &client.get(&path).await);
        }
    }
    for accept in ["application/x-ndjson", "application/x-protobuf"] {
        for path in ["/api/dead-letters", "/api/dead-letters/{offset}", "/api/fetch/{id}/missing"] {
            let answer = there.operator.clone().ask("GET", &there.at(path), &[("accept", accept)]).await;
            document.has("GET", path, &answer);
        }
    }
    let manifest = json!({"manifest_version": 1, "resources": [{"id": "one", "url": "https://a.example/"}]});
    for (media, body) in [
        ("application/json", manifest.to_string()),
        ("application/json", manifest.to_string().replace("one", "two")),
        ("application/json", r#"{"manifest_version": 2, "resources": []}"#.to_owned()),
        (
            "application/json",
            r#"{"manifest_version": 1, "to": "s3://nobodys", "resources": [{"id": "a"}, {"id": "a"}]}"#
                .to_owned(),
        ),
        ("application/x-ndjson", "{}\n{}".to_owned()),
        ("text/plain", String::new()),
    ] {
        let answer = crate::fetch::post(&mut ann, media, body, &key).await;
        document.has("POST", "/api/fetch", &answer);
    }
}
