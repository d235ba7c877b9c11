//! The audit trail of the server: with what right, by which request, and what was changed from what to what.

use std::collections::BTreeSet;

use redrive_server::{Access, RouteInfo, page_routes, routes};
use redrive_store::{ActRow, PageRequest, Scope};
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::desk::refused;
use crate::pages::reader::{press, text, visit};
use crate::tokens::made;
use crate::world::{World, eventually, pdf};
use crate::{digest, fetch};

/// What operators send that changes nothing that is anybody's.
const CHANGES_NOTHING: &[(&str, &str)] = &[("POST", "/api/simulate")];

async fn trail(world: &World) -> Vec<ActRow> {
    let page = PageRequest { limit: 200, cursor: None };
    world.engine.store().acts(redrive_store::ActFilter::default(), page).await.unwrap().rows
}

/// The lines that an answer's request has left.
async fn left_by(world: &World, answer: &Answer) -> Vec<ActRow> {
    let id = answer.header("x-request-id").unwrap();
    trail(world).await.into_iter().filter(|row| row.act.request_id.as_deref() == Some(id)).collect()
}

async fn say(client: &mut Client, method: &str, path: &str, body: &Value) -> Answer {
    let request = client.request(method, path).header("content-type", "application/json");
    client.send(request.body(body.to_string())).await
}

/// The one line of an act, as `action: before → after`.
async fn change(world: &World, client: &mut Client, path: &str, body: Value) -> String {
    let method = if path.ends_with("settings") { "PUT" } else { "POST" };
    let answer = say(client, method, path, &body).await;
    assert!(answer.status < 300, "{path}: {}", answer.text());
    let rows = left_by(world, &answer).await;
    let [row] = rows.as_slice() else { panic!("{path}: {rows:?}") };
    let side = |words: &Option<String>| words.clone().unwrap_or_else(|| "–".to_owned());
    format!("{}: {} → {}", row.act.action, side(&row.before), side(&row.after))
}

#[tokio::test]
async fn the_trail_is_searched_by_who_what_to_what_since_when_and_by_which_request() {
    let world = World::start().await;
    let mut operator = world.operator();
    for (path, reason) in
        [("gateway/hold", "one"), ("gateway/release", "two"), ("host:a.example:443/hold", "three")]
    {
        let path = format!("/api/breakers/{path}");
        assert_eq!(say(&mut operator, "POST", &path, &json!({"reason": reason})).await.status, 200);
    }
    let all = trail(&world).await;
    let request = all[1].act.request_id.clone().unwrap();
    let long = "x".repeat(256);
    for (asked, expected) in [
        ("actor=OPERATOR&action=target.hold".to_owned(), vec!["three", "one"]),
        ("action=target.&subject=gateway".to_owned(), vec!["two", "one"]),
        (format!("request_id={request}"), vec!["two"]),
        ("actor=nobody".to_owned(), vec![]),
        ("since=2000-01-01&action=target.".to_owned(), vec!["three", "two", "one"]),
        ("since=2999-01-01T00:00:00Z".to_owned(), vec![]),
    ] {
        let found = operator.get(&format!("/api/audit?{asked}")).await.json();
        let reasons: Vec<&str> =
            found["acts"].as_array().unwrap().iter().map(|act| act["reason"].as_str().unwrap()).collect();
        assert_eq!(reasons, expected, "{asked}");
        let page = visit(&mut operator, &format!("/audit?{asked}")).await;
        assert_eq!(page.all("tbody tr").len(), expected.len(), "{asked}");
    }
    for asked in [
        "since=yesterday".to_owned(),
        "actor=a%00b".to_owned(),
        format!("subject={long}"),
        "actor=a&actor=b".to_owned(),
    ] {
        let answer = operator.get(&format!("/api/audit?{asked}")).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "VALIDATION_INVALID_FIELD"), "{asked}");
    }
    let older = visit(&mut operator, "/audit?action=target.hold&limit=1").await;
    assert_eq!(older.one("#action").attr("value"), Some("target.hold"));
    let next = older.one("nav.pages a[rel=next]").attr("href").unwrap().to_owned();
    let last = visit(&mut operator, &next).await;
    assert!(last.text("tbody").contains("one"), "{}", last.text("tbody"));
    assert_eq!(text(last.all("nav.pages a")[0]), "Newest");
    assert_eq!(last.all("nav.pages a")[0].attr("href"), Some("/audit?action=target.hold&limit=1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_act_says_what_it_changed_from_what_to_what() {
    let (world, mut admin) = refused(3).await;
    let operator = &mut admin;
    let letters = operator.get("/api/dead-letters").await.json()["dead_letters"].clone();
    let group = format!("/api/groups/{}", letters[0]["group"].as_str().unwrap());
    let retry = format!("/api/jobs/{}/retry", letters[0]["job_id"].as_str().unwrap());
    let hold = "/api/breakers/gateway/hold";
    let held = json!({"until": "2999-01-01T00:00:00Z"});
    assert_eq!(
        change(&world, operator, hold, held).await,
        "target.hold: closed → held until 2999-01-01T00:00:00Z"
    );
    assert_eq!(
        change(&world, operator, hold, json!({})).await,
        "target.hold: held until 2999-01-01T00:00:00Z → held"
    );
    assert_eq!(
        change(&world, operator, &format!("{group}/ack"), json!({})).await,
        "group.acknowledged: new → acknowledged"
    );
    assert_eq!(
        change(&world, operator, &format!("{group}/resolve"), json!({})).await,
        "group.resolved: acknowledged → resolved"
    );
    assert_eq!(change(&world, operator, &retry, json!({})).await, "jobs.retry: failed → queued");
    let cancel = retry.replace("retry", "cancel");
    eventually(async || {
        (operator.get(&cancel.replace("/cancel", "")).await.json()["status"] == "held").then_some(())
    })
    .await;
    assert_eq!(change(&world, operator, &cancel, json!({})).await, "jobs.cancel: held → cancelled");
    let discard = format!("/api/dead-letters/{}/discard", letters[1]["offset"]);
    assert_eq!(change(&world, operator, &discard, json!({})).await, "dead.discard: open → discarded");
    let settings = "/api/intake/settings";
    assert_eq!(
        change(&world, operator, settings, json!({"max_retries": 5})).await,
        "intake.max_retries: 3 → 5"
    );
    assert_eq!(
        change(&world, operator, settings, json!({"max_retries": 2})).await,
        "intake.max_retries: 5 → 2"
    );
    assert_eq!(
        change(&world, operator, settings, json!({"paused": true})).await,
        "workload.pause: running → paused"
    );
    assert_eq!(
        change(&world, operator, settings, json!({"paused": false})).await,
        "workload.resume: paused → running"
    );
    let token = json!({"name": "night", "scope": "act"});
    assert_eq!(change(&world, operator, "/api/tokens", token).await, "token.add: – → act, good");
    let id = operator.get("/api/tokens").await.json()["tokens"][0]["id"].as_str().unwrap().to_owned();
    let revoke = format!("/api/tokens/{id}/revoke");
    assert_eq!(change(&world, operator, &revoke, json!({})).await, "token.revoke: act, good → act, revoked");
    let asked = json!({"filter": {"workload": "convert"}, "rate_per_sec": 1});
    assert_eq!(
        change(&world, operator, "/api/replays", asked).await,
        "replay.start: – → running, 1 dead letter"
    );
    let id = operator.get("/api/replays").await.json()["replays"][0]["id"].as_str().unwrap().to_owned();
    for (act, line) in [
        ("pause", "replay.pause: running → paused"),
        ("resume", "replay.resume: paused → running"),
        ("cancel", "replay.cancel: running → cancelled"),
    ] {
        assert_eq!(change(&world, operator, &format!("/api/replays/{id}/{act}"), json!({})).await, line);
    }
    let jane = |enabled: bool| json!({"owner": "jane", "address": "jane@example.org", "enabled": enabled});
    let notifications = "/api/notifications";
    assert_eq!(change(&world, operator, notifications, jane(true)).await, "notifications.enable: – → on");
    assert_eq!(change(&world, operator, notifications, jane(false)).await, "notifications.disable: on → off");
    let release = "/api/breakers/gateway/release";
    assert_eq!(change(&world, operator, release, json!({})).await, "target.release: held → closed");

    let told = operator.get("/api/audit?limit=1").await.json()["acts"][0].clone();
    assert_eq!(
        (&told["scope"], &told["before"], &told["after"]),
        (&json!("admin"), &json!("held"), &json!("closed"))
    );
    let page = visit(operator, "/audit").await;
    let first = text(page.all("table.trail tbody tr")[0]);
    let id = told["request_id"].as_str().unwrap();
    for words in ["scope admin", "released", "held → closed", &format!("request {id}")] {
        assert!(first.contains(words), "{words:?}: {first}");
    }
    let rows: Vec<String> = page.all("table.trail tbody tr").into_iter().map(text).collect();
    assert!(rows.iter().any(|row| row.contains("nothing → on")), "{rows:?}");
}

/// A refused act has its request too, and a session acts without a scope.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_has_no_scope_and_a_refusal_leads_to_its_line() {
    let world = World::with(|setup| setup.works = false).await;
    let mut ann = world.client();
    let job = ann.upload("a.pdf", &pdf(1), None).await.job_id();
    let done = ann.post(&format!("/api/jobs/{job}/cancel")).await;
    let row = left_by(&world, &done).await.remove(0);
    assert_eq!((row.act.scope, row.act.actor.starts_with("s:")), (None, true));
    assert_eq!((row.before.as_deref(), row.after.as_deref()), (Some("queued"), Some("cancelled")));
    let again = ann.post(&format!("/api/jobs/{job}/cancel")).await;
    assert_eq!(again.code(), "CONFLICT_STATE");
    let id = again.json()["request_id"].as_str().unwrap().to_owned();
    let row = left_by(&world, &again).await.remove(0);
    assert_eq!((row.act.request_id, row.outcome.as_deref()), (Some(id), Some("0 of 1")));
    assert_eq!((row.before, row.after), (None, None), "nothing was changed");
}

/// Operators with each scope, and the routes by which they have acted.
struct Walk<'a> {
    world: &'a World,
    act: Client,
    admin: Client,
    known: Vec<RouteInfo>,
    walked: BTreeSet<(String, &'static str)>,
}

impl Walk<'_> {
    /// Acts by a route, with the smallest scope that does. `what` is the body, or the fields of a page's form; `which` stands for the name
    /// in the path.
    async fn by(&mut self, method: &str, route: &str, which: &str, what: impl Into<Sends>) -> Answer {
        let info = self.known.iter().find(|info| info.method == method && info.path == route);
        let info = info.unwrap_or_else(|| panic!("there is no {method} {route}")).clone();
        let client = match info.scope {
            Scope::Admin => &mut self.admin,
            Scope::Read | Scope::Act => &mut self.act,
        };
        let path = match route.split_once('{') {
            Some((head, tail)) => format!("{head}{which}{}", tail.split_once('}').unwrap().1),
            None => format!("{route}{which}"),
        };
        let answer = match what.into() {
            Sends::Json(body) => say(client, method, &path, &body).await,
            Sends::Form(fields) => press(client, &path, &fields).await,
        };
        assert!(answer.status < 400, "{method} {path}: {}", answer.text());
        let rows = left_by(self.world, &answer).await;
        assert!(!rows.is_empty(), "{method} {path} left nothing in the trail: {}", answer.text());
        for row in rows {
            assert_eq!(row.act.scope, Some(info.scope), "{method} {path}: {row:?}");
            let named = if info.scope == Scope::Admin { "token the admin (" } else { "token the hand (" };
            assert!(row.act.actor.starts_with(named), "{row:?}");
        }
        self.walked.insert((method.to_owned(), info.path));
        answer
    }
}

enum Sends {
    Json(Value),
    Form(String),
}

impl From<Value> for Sends {
    fn from(body: Value) -> Self {
        Self::Json(body)
    }
}

impl From<&str> for Sends {
    fn from(fields: &str) -> Self {
        Self::Form(fields.to_owned())
    }
}

/// Whatever route an operator acts by, the trail has it with the scope and the id that the answer has. A new route fails this test until it is
/// walked here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_by_which_operators_act_leaves_its_request_in_the_trail() {
    let (world, mut operator) = refused(9).await;
    let act = world.client().with_token(&made(&mut operator, "the hand", "act").await.secret);
    let admin = world.client().with_token(&made(&mut operator, "the admin", "admin").await.secret);
    let known = routes().into_iter().chain(page_routes()).collect();
    let mut walk = Walk { world: &world, act, admin, known, walked: BTreeSet::new() };
    let none = || json!({});

    // Whatever is started from now on waits.
    walk.by("POST", "/api/breakers/{target}/hold", "gateway", none()).await;
    walk.by("POST", "/breakers", "", "act=hold&target=host%3Aa.example%3A443&reason=x").await;
    walk.by("POST", "/api/breakers/{target}/release", "host:a.example:443", none()).await;

    let letters = operator.get("/api/dead-letters").await.json()["dead_letters"].as_array().unwrap().clone();
    let offset = |n: usize| letters[n]["offset"].to_string();
    let job = |n: usize| letters[n]["job_id"].as_str().unwrap().to_owned();
    let group = letters[0]["group"].as_str().unwrap();
    walk.by("POST", "/api/dead-letters/{offset}/replay", &offset(0), none()).await;
    walk.by("POST", "/api/dead-letters/{offset}/discard", &offset(1), none()).await;
    walk.by("POST", "/letters/{offset}", &offset(2), "act=discard").await;
    walk.by("POST", "/api/jobs/{id}/retry", &job(3), none()).await;
    walk.by("POST", "/jobs/{id}/retry", &job(4), "").await;
    walk.by("POST", "/api/jobs/{id}/cancel", &job(3), none()).await;
    walk.by("POST", "/jobs/{id}/cancel", &job(4), "").await;
    walk.by("POST", "/api/groups/{fingerprint}/ack", group, none()).await;
    walk.by("POST", "/api/groups/{fingerprint}/resolve", group, none()).await;
    let mut ann = world.client();
    let batch = fetch::accepted(&mut ann, &["no-a"]).await;
    fetch::ended(&mut ann, &batch).await;
    let groups = operator.get("/api/groups?state=new").await.json();
    walk.by("POST", "/dead/{fingerprint}", groups["groups"][0]["fingerprint"].as_str().unwrap(), "act=ack")
        .await;

    let asked = json!({"filter": {"group": group}, "rate_per_sec": 1});
    let replay = walk.by("POST", "/api/replays", "", asked).await.json();
    let replay = replay["id"].as_str().unwrap();
    for turn in ["pause", "resume", "cancel"] {
        walk.by("POST", &format!("/api/replays/{{id}}/{turn}"), replay, none()).await;
    }
    let started = walk.by("POST", "/dead/{fingerprint}/replay", group, "canary=1&rate=1&stop=50").await;
    let replay = started.header("location").unwrap().rsplit('/').next().unwrap().to_owned();
    walk.by("POST", "/replays/{id}", &replay, "act=cancel").await;
    let fields = "workload=convert&status=failed&canary=1&rate=1&stop=50";
    walk.by("POST", "/jobs/replay", "", fields).await;
    let filter = json!({"filter": {"workload": "convert"}, "limit": 1});
    walk.by("POST", "/api/jobs/cancel", "", filter.clone()).await;
    walk.by("POST", "/api/dead-letters/discard", "", filter).await;
    walk.by("POST", "/dead/{fingerprint}/discard", group, "upto=1").await;
    walk.by("POST", "/jobs/cancel", "", "workload=convert&status=held&most=1").await;

    let workers = operator.get("/api/workers").await.json();
    let worker = workers["workers"][0]["id"].as_str().unwrap();
    walk.by("POST", "/api/workers/{id}/drain", worker, none()).await;
    walk.by("POST", "/workers/{id}", worker, "act=back").await;
    walk.by("POST", "/workers", "", "act=resume&workload=convert").await;
    walk.by("POST", "/api/doctor", "", none()).await;
    walk.by("POST", "/settings", "", "").await;

    for (retry, cancel, sends) in [
        ("/api/fetch/{id}/retry", "/api/fetch/{id}/cancel", None),
        ("/fetch/{id}/retry", "/fetch/{id}/cancel", Some("")),
    ] {
        let sends = || sends.map_or_else(|| Sends::from(none()), Sends::from);
        let batch = fetch::accepted(&mut ann, &["no-a", "b"]).await;
        fetch::ended(&mut ann, &batch).await;
        walk.by("POST", retry, &batch, sends()).await;
        let batch = fetch::accepted(&mut ann, &["slow-a"]).await;
        walk.by("POST", cancel, &batch, sends()).await;
        fetch::ended(&mut ann, &batch).await;
    }

    let document = digest::failed(&world, 1, "jane", "jane/a.pdf").await.to_string();
    walk.by("POST", "/api/intake/documents/{id}/report", &document, none()).await;
    walk.by("POST", "/intake/documents/{id}/report", &document, "").await;
    walk.by("POST", "/api/intake/clear-in-flight", "", none()).await;
    walk.by("PUT", "/api/intake/settings", "", json!({"max_retries": 4, "paused": true})).await;
    walk.by("POST", "/intake/settings", "", "paused=false").await;
    let jane = || json!({"owner": "jane", "address": "jane@example.org", "enabled": true});
    walk.by("POST", "/api/notifications", "", jane()).await;
    walk.by("PUT", "/api/notifications", "", json!({"notifications": [jane()]})).await;
    walk.by("POST", "/notifications", "", "owner=jane&address=jane%40example.org&act=disable").await;
    let which = "?owner=jane&address=jane%40example.org";
    walk.by("DELETE", "/api/notifications", which, none()).await;
    walk.by("POST", "/api/digest", "", none()).await;
    walk.by("POST", "/digest", "", "").await;

    let token = walk.by("POST", "/api/tokens", "", json!({"name": "a", "scope": "read"})).await.json();
    walk.by("POST", "/api/tokens/{id}/revoke", token["id"].as_str().unwrap(), none()).await;
    walk.by("POST", "/tokens", "", "name=b&scope=read&days=3").await;
    let tokens = operator.get("/api/tokens").await.json();
    walk.by("POST", "/tokens/{id}", tokens["tokens"][0]["id"].as_str().unwrap(), "act=revoke").await;

    let all = routes().into_iter().chain(page_routes());
    let acts =
        all.filter(|route| route.method != "GET" && matches!(route.access, Access::Operator | Access::Owner));
    let missing: Vec<_> = acts
        .map(|route| (route.method.as_str().to_owned(), route.path))
        .filter(|(method, path)| !CHANGES_NOTHING.contains(&(method.as_str(), path)))
        .filter(|route| !walk.walked.contains(route))
        .collect();
    assert_eq!(missing, [], "these are not walked");
    let secrets = [token["token"].as_str().unwrap(), crate::world::TOKEN];
    let told = format!("{:?}", trail(&world).await);
    for secret in secrets {
        assert!(!told.contains(&secret[4..]), "a secret in the trail");
    }
}
