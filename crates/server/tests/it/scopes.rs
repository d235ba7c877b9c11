//! Each scope on each route. What a route needs follows from its method, unless it is named here.

use redrive_server::{Access, page_routes, routes};

use crate::client::{Answer, Client};
use crate::tokens::made;
use crate::world::{World, pdf};

/// What needs the scope `admin`: settings, tokens, and who is told.
const ADMIN: &[(&str, &str)] = &[
    ("PUT", "/api/notifications"),
    ("POST", "/api/notifications"),
    ("DELETE", "/api/notifications"),
    ("POST", "/notifications"),
    ("PUT", "/api/intake/settings"),
    ("POST", "/intake/settings"),
    ("GET", "/api/tokens"),
    ("POST", "/api/tokens"),
    ("POST", "/api/tokens/{id}/revoke"),
    ("GET", "/tokens"),
    ("POST", "/tokens"),
    ("POST", "/tokens/{id}"),
];

fn needed(method: &str, path: &str, access: Access) -> &'static str {
    if ADMIN.contains(&(method, path)) {
        return "admin";
    }
    if method == "GET" || access == Access::Everybody { "read" } else { "act" }
}

/// A path at which there is nothing, so that whoever may act changes nothing by it.
pub(crate) fn nowhere(path: &str) -> String {
    path.replace("{id}", "01890000-0000-7000-8000-000000000000")
        .replace("{offset}", "99999999")
        .replace("{fingerprint}", "0123456789abcdef")
        .replace("{target}", "nobody")
        .replace("{code}", "FORBIDDEN")
        .replace("{name}", "style.css")
}

async fn ask(client: &Client, method: &str, path: &str) -> Answer {
    let mut client = client.clone();
    let request = client.request(method, path).header("accept", "application/json");
    client.send(request).await
}

/// Every route is asked with every scope: one that is too small is told so before anything is looked at, one that suffices never is.
#[tokio::test]
async fn a_token_may_do_what_its_scope_says_and_nothing_more() {
    let world = World::with(|setup| setup.limits.rates.address_factor = 1_000.0).await;
    let mut admin = world.operator();
    let mut tokens = Vec::new();
    for scope in ["read", "act", "admin"] {
        let token = made(&mut admin, scope, scope).await;
        tokens.push((scope, world.client().with_token(&token.secret)));
    }
    let mut asked = 0;
    for route in routes().into_iter().chain(page_routes()) {
        let (method, path) = (route.method.as_str(), route.path);
        // These answer without end.
        if path == "/live" || path == "/api/events/stream" {
            continue;
        }
        let needs = needed(method, path, route.access);
        assert_eq!(route.scope.as_str(), needs, "{method} {path}");
        let rank = |scope: &str| tokens.iter().position(|(known, _)| *known == scope).unwrap();
        for (scope, client) in &tokens {
            let answer = ask(client, method, &nowhere(path)).await;
            asked += 1;
            let who = format!("{method} {path} with {scope}: {}", answer.text());
            if rank(scope) < rank(needs) {
                assert_eq!((answer.status, answer.code().as_str()), (403, "AUTH_SCOPE"), "{who}");
                assert!(answer.text().contains(&format!("needs the scope {needs}")), "{who}");
            } else {
                // Signing in without a key is refused, whoever asks.
                assert!(answer.status != 401 || (method, path) == ("POST", "/sign-in"), "{who}");
                assert!(answer.status != 403 || answer.code() != "AUTH_SCOPE", "{who}");
            }
        }
    }
    assert!(asked > 250, "{asked}");
}

/// What a token with the scope `read` is refused, it has not done.
#[tokio::test]
async fn who_may_only_read_changes_nobodys_job() {
    let world = World::with(|setup| setup.works = false).await;
    let (mut ann, mut admin) = (world.client(), world.operator());
    let job = ann.upload("a.pdf", &pdf(1), None).await.job_id();
    let mut reader = world.client().with_token(&made(&mut admin, "reader", "read").await.secret);
    assert_eq!(reader.get(&format!("/api/jobs/{job}")).await.status, 200);
    assert_eq!(reader.post(&format!("/api/jobs/{job}/cancel")).await.code(), "AUTH_SCOPE");
    assert_eq!(reader.upload("b.pdf", &pdf(2), None).await.code(), "AUTH_SCOPE");
    assert_eq!(reader.ask("DELETE", "/api/session", &[]).await.code(), "AUTH_SCOPE");
    assert_eq!(ann.get(&format!("/api/jobs/{job}")).await.json()["status"], "queued");
    assert_eq!(ann.get("/api/jobs").await.json()["jobs"].as_array().unwrap().len(), 1);
}
