//! Every route with the owner, with another session, with none, with an operator. A route that is not in this list fails the test.

use redrive_server::{Access, page_routes, routes};

use crate::client::{Answer, Client};
use crate::gateway::Mood;
use crate::world::{World, pdf};

/// What the owner of a complete job gets.
pub(crate) const OWNER: &[(&str, &str, u16)] = &[
    ("GET", "/api/jobs/{id}", 200),
    ("GET", "/api/jobs/{id}/attempts", 200),
    ("GET", "/api/jobs/{id}/events", 200),
    ("GET", "/api/jobs/{id}/explain", 200),
    ("GET", "/api/jobs/{id}/download", 200),
    ("POST", "/api/jobs/{id}/retry", 409),
    ("POST", "/api/jobs/{id}/cancel", 409),
    ("GET", "/api/fetch/{id}", 200),
    ("GET", "/api/fetch/{id}/resources", 200),
    ("GET", "/api/fetch/{id}/missing", 200),
    ("POST", "/api/fetch/{id}/cancel", 409),
    ("POST", "/api/fetch/{id}/retry", 409),
    ("GET", "/jobs/{id}", 200),
    ("POST", "/jobs/{id}/retry", 409),
    ("POST", "/jobs/{id}/cancel", 409),
    ("GET", "/fetch/{id}", 200),
    ("POST", "/fetch/{id}/retry", 409),
    ("POST", "/fetch/{id}/cancel", 409),
];

/// What is a session's own, or nobody's.
const OTHERS: &[(&str, &str, Access)] = &[
    ("GET", "/healthz", Access::Everybody),
    ("GET", "/readyz", Access::Everybody),
    ("GET", "/api/failures", Access::Everybody),
    ("GET", "/api/failures/{code}", Access::Everybody),
    ("GET", "/api/openapi.json", Access::Everybody),
    ("GET", "/api/mappings", Access::Everybody),
    ("GET", "/api/status", Access::Everybody),
    ("POST", "/api/upload", Access::Session),
    ("GET", "/api/jobs", Access::Session),
    ("POST", "/api/fetch", Access::Session),
    ("GET", "/api/fetch", Access::Session),
    ("GET", "/api/download.zip", Access::Session),
    ("GET", "/api/events/stream", Access::Session),
    ("DELETE", "/api/session", Access::Session),
    ("GET", "/sign-in", Access::Everybody),
    ("POST", "/sign-in", Access::Everybody),
    ("POST", "/sign-out", Access::Everybody),
    ("GET", "/api/intake", Access::Operator),
    ("PUT", "/api/intake/settings", Access::Operator),
    ("POST", "/api/intake/clear-in-flight", Access::Operator),
    ("GET", "/api/failure-records", Access::Operator),
    ("GET", "/api/intake/documents", Access::Operator),
    ("GET", "/api/intake/documents/{id}", Access::Operator),
    ("POST", "/api/intake/documents/{id}/report", Access::Operator),
    ("GET", "/api/intake/documents/{id}/report", Access::Operator),
    ("GET", "/intake", Access::Operator),
    ("POST", "/intake/settings", Access::Operator),
    ("GET", "/intake/documents/{id}", Access::Operator),
    ("POST", "/intake/documents/{id}/report", Access::Operator),
    ("GET", "/failure-records", Access::Operator),
    ("GET", "/api/audit", Access::Operator),
    ("POST", "/api/digest", Access::Operator),
    ("GET", "/api/deliveries", Access::Operator),
    ("GET", "/api/notifications", Access::Operator),
    ("PUT", "/api/notifications", Access::Operator),
    ("POST", "/api/notifications", Access::Operator),
    ("DELETE", "/api/notifications", Access::Operator),
    ("GET", "/api/tokens", Access::Operator),
    ("POST", "/api/tokens", Access::Operator),
    ("POST", "/api/tokens/{id}/revoke", Access::Operator),
    ("GET", "/tokens", Access::Operator),
    ("POST", "/tokens", Access::Operator),
    ("POST", "/tokens/{id}", Access::Operator),
    ("GET", "/dead", Access::Operator),
    ("GET", "/dead/{fingerprint}", Access::Operator),
    ("POST", "/dead/{fingerprint}", Access::Operator),
    ("POST", "/dead/{fingerprint}/replay", Access::Operator),
    ("POST", "/dead/{fingerprint}/discard", Access::Operator),
    ("POST", "/letters/{offset}", Access::Operator),
    ("GET", "/replays", Access::Operator),
    ("GET", "/replays/{id}", Access::Operator),
    ("POST", "/replays/{id}", Access::Operator),
    ("GET", "/overview", Access::Operator),
    ("GET", "/jobs/replay", Access::Operator),
    ("POST", "/jobs/replay", Access::Operator),
    ("GET", "/jobs/cancel", Access::Operator),
    ("POST", "/jobs/cancel", Access::Operator),
    ("POST", "/api/jobs/cancel", Access::Operator),
    ("GET", "/breakers", Access::Operator),
    ("POST", "/breakers", Access::Operator),
    ("GET", "/workers", Access::Operator),
    ("POST", "/workers", Access::Operator),
    ("POST", "/workers/{id}", Access::Operator),
    ("GET", "/audit", Access::Operator),
    ("GET", "/settings", Access::Operator),
    ("POST", "/settings", Access::Operator),
    ("GET", "/api/settings", Access::Operator),
    ("GET", "/api/doctor", Access::Operator),
    ("POST", "/api/doctor", Access::Operator),
    ("GET", "/digest", Access::Operator),
    ("POST", "/digest", Access::Operator),
    ("GET", "/digest/mail", Access::Operator),
    ("GET", "/notifications", Access::Operator),
    ("POST", "/notifications", Access::Operator),
    ("GET", "/api/dead-letters", Access::Operator),
    ("GET", "/api/dead-letters/{offset}", Access::Operator),
    ("POST", "/api/dead-letters/discard", Access::Operator),
    ("POST", "/api/dead-letters/{offset}/replay", Access::Operator),
    ("POST", "/api/dead-letters/{offset}/discard", Access::Operator),
    ("POST", "/api/replays", Access::Operator),
    ("GET", "/api/replays", Access::Operator),
    ("GET", "/api/replays/{id}", Access::Operator),
    ("POST", "/api/replays/{id}/pause", Access::Operator),
    ("POST", "/api/replays/{id}/resume", Access::Operator),
    ("POST", "/api/replays/{id}/cancel", Access::Operator),
    ("GET", "/api/groups", Access::Operator),
    ("GET", "/api/groups/{fingerprint}", Access::Operator),
    ("POST", "/api/groups/{fingerprint}/ack", Access::Operator),
    ("POST", "/api/groups/{fingerprint}/resolve", Access::Operator),
    ("GET", "/api/overview", Access::Operator),
    ("GET", "/api/breakers/history", Access::Operator),
    ("GET", "/api/breakers", Access::Operator),
    ("POST", "/api/breakers/{target}/hold", Access::Operator),
    ("POST", "/api/breakers/{target}/release", Access::Operator),
    ("GET", "/api/workers", Access::Operator),
    ("POST", "/api/workers/{id}/drain", Access::Operator),
    ("POST", "/api/simulate", Access::Operator),
    ("GET", "/api/auditor", Access::Operator),
    ("GET", "/", Access::Session),
    ("POST", "/upload", Access::Session),
    ("POST", "/upload/unsent", Access::Session),
    ("GET", "/jobs", Access::Session),
    ("GET", "/jobs/zip", Access::Session),
    ("GET", "/fetch", Access::Session),
    ("POST", "/fetch", Access::Session),
    ("GET", "/live", Access::Session),
    ("GET", "/banner", Access::Everybody),
    ("GET", "/forget", Access::Everybody),
    ("POST", "/forget", Access::Session),
    ("GET", "/failures", Access::Everybody),
    ("GET", "/failures/{code}", Access::Everybody),
    ("GET", "/docs", Access::Everybody),
    ("GET", "/assets/{name}", Access::Everybody),
    ("GET", "/favicon.ico", Access::Everybody),
];

/// What an operator gets who says nothing more, where that is not 200.
const SAID_NOTHING: &[(&str, &str, u16)] = &[
    ("POST", "/api/tokens", 400),
    ("POST", "/api/tokens/{id}/revoke", 404),
    ("POST", "/tokens", 400),
    ("POST", "/tokens/{id}", 404),
    ("PUT", "/api/notifications", 400),
    ("POST", "/api/notifications", 400),
    ("DELETE", "/api/notifications", 400),
    ("GET", "/dead/{fingerprint}", 404),
    ("POST", "/dead/{fingerprint}", 404),
    ("POST", "/dead/{fingerprint}/replay", 404),
    ("POST", "/dead/{fingerprint}/discard", 404),
    ("POST", "/api/dead-letters/discard", 400),
    ("POST", "/letters/{offset}", 400),
    ("GET", "/replays/{id}", 404),
    ("POST", "/replays/{id}", 404),
    ("POST", "/jobs/replay", 400),
    ("POST", "/jobs/cancel", 400),
    ("POST", "/api/jobs/cancel", 400),
    ("POST", "/breakers", 400),
    ("POST", "/workers", 400),
    ("POST", "/workers/{id}", 404),
    ("POST", "/settings", 303),
    ("POST", "/api/doctor", 202),
    ("POST", "/digest", 303),
    ("GET", "/digest/mail", 404),
    ("POST", "/notifications", 400),
    ("PUT", "/api/intake/settings", 400),
    ("GET", "/api/intake/documents/{id}", 404),
    ("POST", "/api/intake/documents/{id}/report", 404),
    ("GET", "/api/intake/documents/{id}/report", 404),
    ("POST", "/intake/settings", 400),
    ("GET", "/intake/documents/{id}", 404),
    ("POST", "/intake/documents/{id}/report", 404),
    ("POST", "/api/dead-letters/{offset}/replay", 202),
    ("POST", "/api/dead-letters/{offset}/discard", 409),
    ("POST", "/api/replays", 400),
    ("GET", "/api/replays/{id}", 404),
    ("POST", "/api/replays/{id}/pause", 404),
    ("POST", "/api/replays/{id}/resume", 404),
    ("POST", "/api/replays/{id}/cancel", 404),
    ("GET", "/api/groups/{fingerprint}", 404),
    ("POST", "/api/groups/{fingerprint}/ack", 404),
    ("POST", "/api/groups/{fingerprint}/resolve", 404),
    ("POST", "/api/breakers/{target}/hold", 200),
    ("POST", "/api/breakers/{target}/release", 200),
    ("POST", "/api/workers/{id}/drain", 404),
    ("POST", "/api/simulate", 400),
];

/// What could tell one refusal from another.
fn shape(answer: &Answer) -> (u16, String, Vec<String>) {
    let mut json = answer.json();
    json["request_id"] = "".into();
    let mut names: Vec<String> = answer.headers.keys().map(ToString::to_string).collect();
    names.sort();
    (answer.status, json.to_string(), names)
}

#[tokio::test]
async fn every_route_asks_whose_it_is() {
    let world = World::with(|setup| setup.limits.rates.wrong_keys.burst = 1_000.0).await;
    let (mut owner, mut other, nobody) = (world.client(), world.client(), world.client());
    let operator = world.operator();
    let job = world.converted(&mut owner, "a.pdf", &pdf(1)).await;
    let batch = crate::fetch::fetched(&mut owner).await;
    world.gateway.mood(Mood::Refuses);
    world.converted(&mut owner, "refused.pdf", &pdf(2)).await;
    let dead =
        operator.clone().get("/api/dead-letters").await.json()["dead_letters"][0]["offset"].to_string();
    other.get("/api/jobs").await;
    let missing = "01890000-0000-7000-8000-000000000000";
    for route in routes().into_iter().chain(page_routes()) {
        let (method, path) = (route.method.as_str(), route.path);
        let entry = OWNER.iter().find(|entry| (entry.0, entry.1) == (method, path));
        let Some(entry) = entry else {
            let known = OTHERS.iter().find(|entry| (entry.0, entry.1) == (method, path));
            let known = known.unwrap_or_else(|| panic!("{method} {path} has no entry: say who may use it"));
            assert_eq!(known.2, route.access, "{method} {path}");
            if route.access == Access::Operator {
                let path = &path.replace("{offset}", &dead);
                for client in [&owner, &nobody] {
                    let answer = ask(client, method, path).await;
                    assert_eq!(
                        (answer.status, answer.code().as_str()),
                        (401, "AUTH_REQUIRED"),
                        "{method} {path}"
                    );
                }
                let other = SAID_NOTHING.iter().find(|entry| (entry.0, entry.1) == (method, route.path));
                let expected = other.map_or(200, |entry| entry.2);
                assert_eq!(ask(&operator, method, path).await.status, expected, "{method} {path}");
            }
            continue;
        };
        assert_eq!(route.access, Access::Owner, "{method} {path}");
        let id = if path.contains("/fetch/") { batch.clone() } else { job.clone() };
        let at = |id: &str| path.replace("{id}", id);
        let refused = ask(&other, method, &at(missing)).await;
        assert_eq!((refused.status, refused.code().as_str()), (403, "FORBIDDEN"), "{method} {path}");
        for (who, client, id) in [
            ("another session", &other, id.as_str()),
            ("no session", &nobody, id.as_str()),
            ("the owner, another id", &owner, missing),
            ("the owner, no id", &owner, "not-an-id"),
            ("the owner, an id that is no text", &owner, "%ff"),
        ] {
            let answer = ask(client, method, &at(id)).await;
            assert_eq!(shape(&answer), shape(&refused), "{method} {path} by {who}");
        }
        assert_eq!(ask(&owner, method, &at(&id)).await.status, entry.2, "{method} {path}");
        assert_eq!(ask(&operator, method, &at(&id)).await.status, entry.2, "{method} {path} by an operator");
        for id in [missing, "not-an-id", "%ff"] {
            let answer = ask(&operator, method, &at(id)).await;
            assert_eq!((answer.status, answer.code().as_str()), (404, "NOT_FOUND"), "{method} {path} {id}");
        }
        let wrong = ask(&world.client().with_token("a-wrong-token-of-nobody"), method, &at(&id)).await;
        assert_eq!((wrong.status, wrong.code().as_str()), (401, "AUTH_REQUIRED"), "{method} {path}");
    }
}

async fn ask(client: &Client, method: &str, path: &str) -> Answer {
    client.clone().ask(method, path, &[]).await
}

#[tokio::test]
async fn lists_and_archives_hold_only_what_is_ones_own() {
    let world = World::start().await;
    let (mut ann, mut bob) = (world.client(), world.client());
    let id = world.converted(&mut ann, "a.pdf", &pdf(1)).await;
    let list = bob.get("/api/jobs").await.json();
    assert_eq!((list["jobs"].as_array().unwrap().len(), list["counts"].as_object().unwrap().len()), (0, 0));
    assert_eq!(bob.get(&format!("/api/download.zip?ids={id}")).await.code(), "FORBIDDEN");
    assert_eq!(bob.get("/api/download.zip").await.code(), "EXPIRED");
    // The same bytes of two people are two jobs.
    let twin = world.converted(&mut bob, "a.pdf", &pdf(1)).await;
    assert_ne!(twin, id);
    assert_eq!(bob.get("/api/jobs").await.json()["jobs"][0]["id"], twin);
}
