//! Tokens of the list: made once, used, expired, taken back, guessed at.

use std::time::Duration;

use futures::StreamExt;
use redrive_store::{NewToken, PageRequest, Scope, TokenId};

use crate::client::{Answer, Client};
use crate::operators::{cookies, sign_in};
use crate::pages::reader::{Page, press};
use crate::world::{World, eventually, pdf};

/// A token that was made.
pub(crate) struct Made {
    pub(crate) id: String,
    pub(crate) secret: String,
}

/// Makes one.
pub(crate) async fn made(admin: &mut Client, name: &str, scope: &str) -> Made {
    let answer = wish(admin, &format!(r#"{{"name":"{name}","scope":"{scope}"}}"#)).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let json = answer.json();
    let text = |field: &str| json[field].as_str().unwrap().to_owned();
    Made { id: text("id"), secret: text("token") }
}

async fn wish(client: &mut Client, body: &str) -> Answer {
    let request = client.request("POST", "/api/tokens").header("content-type", "application/json");
    client.send(request.body(body.to_owned())).await
}

async fn revoke(admin: &mut Client, id: &str) {
    let answer = admin.post(&format!("/api/tokens/{id}/revoke")).await;
    assert_eq!((answer.status, &answer.json()["state"]), (200, &"revoked".into()), "{}", answer.text());
}

/// All that could tell one refusal from another.
fn shape(answer: &Answer) -> (u16, String) {
    let mut json = answer.json();
    json["request_id"] = "".into();
    json["retry_after_ms"] = "".into();
    (answer.status, json.to_string())
}

#[tokio::test]
async fn a_token_is_told_once_kept_as_a_hash_and_named_in_the_trail() {
    let world = World::start().await;
    let mut admin = world.operator();
    let token = made(&mut admin, "nightly replay", "act").await;
    assert!(token.secret.starts_with("rdo_") && token.secret.len() == 76, "{}", token.secret);
    let list = admin.get("/api/tokens").await;
    assert!(!list.text().contains(&token.secret[4..68]), "{}", list.text());
    let row = list.json()["tokens"][0].clone();
    assert_eq!(
        (&row["id"], &row["state"], &row["used_at"]),
        (&token.id.clone().into(), &"good".into(), &().into())
    );
    assert_eq!((&row["made_by"], &row["scope"]), (&"operator (token)".into(), &"act".into()));
    let mut ann = world.client();
    world.gateway.mood(crate::gateway::Mood::Refuses);
    let job = world.converted(&mut ann, "a.pdf", &pdf(1)).await;
    let mut robot = world.client().with_token(&token.secret);
    assert_eq!(robot.post(&format!("/api/jobs/{job}/retry")).await.status, 202);
    let row = admin.get("/api/tokens").await.json()["tokens"][0].clone();
    assert!(row["used_at"].is_string(), "{row}");
    revoke(&mut admin, &token.id).await;
    let acts = world
        .engine
        .store()
        .acts(redrive_store::ActFilter::default(), PageRequest::default())
        .await
        .unwrap()
        .rows;
    let trail: Vec<_> =
        acts.iter().rev().map(|row| (row.act.action.as_str(), row.act.actor.as_str())).collect();
    let robot = format!("token nightly replay ({})", token.id);
    let operator = "operator (token)";
    assert_eq!(trail, [("token.add", operator), ("jobs.retry", &robot), ("token.revoke", operator)]);
    assert_eq!(acts[0].act.subject, format!("token nightly replay ({}), act", token.id));
    assert!(!format!("{acts:?}").contains(&token.secret[4..68]));
    let id: TokenId = token.id.parse().unwrap();
    let kept = world.engine.store().token(id).await.unwrap().unwrap();
    let hash: String = kept.hash.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        world.client().with_token(&hash).get("/api/audit").await.status,
        401,
        "what is kept opens nothing"
    );
}

#[tokio::test]
async fn when_a_token_was_used_is_not_written_for_every_request() {
    let world = World::start().await;
    let token = made(&mut world.operator(), "busy", "read").await;
    let mut robot = world.client().with_token(&token.secret);
    let used = async || world.engine.store().tokens().await.unwrap()[0].used_at;
    robot.get("/api/audit").await;
    let first = used().await;
    assert!(first.is_some());
    for _ in 0..5 {
        // A use that was noted would be noted with another time.
        while world.engine.store().now().await.unwrap() <= first.unwrap() {
            tokio::task::yield_now().await;
        }
        robot.get("/api/audit").await;
    }
    assert_eq!(used().await, first);
}

#[tokio::test]
async fn a_revoked_token_opens_nothing_from_that_moment_on() {
    let world = World::start().await;
    let mut admin = world.operator();
    let (kept, gone) = (made(&mut admin, "kept", "admin").await, made(&mut admin, "gone", "admin").await);
    let mut program = world.client().with_token(&gone.secret);
    let mut browsers = [world.client(), world.client()];
    for (browser, token) in browsers.iter_mut().zip([&gone, &kept]) {
        let answer = sign_in(browser, &token.secret).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        let cookie = cookies(&answer).into_iter().find(|c| c.starts_with("redrive-operator=")).unwrap();
        browser.cookie = Some(cookie.split(';').next().unwrap().to_owned());
        assert_eq!(browser.get("/api/audit").await.status, 200);
    }
    assert_eq!(program.get("/api/audit").await.status, 200);
    let mut streams = Vec::new();
    for path in ["/api/events/stream", "/live"] {
        for client in [&program, &browsers[0]] {
            let stream = client.request("GET", path).send().await.unwrap();
            assert_eq!(stream.status(), 200);
            streams.push(stream.bytes_stream());
        }
    }
    revoke(&mut admin, &gone.id).await;
    assert_eq!(program.get("/api/audit").await.code(), "AUTH_REQUIRED");
    assert_eq!(program.get("/api/jobs").await.code(), "AUTH_REQUIRED", "also where anybody may ask");
    assert_eq!(browsers[0].get("/api/audit").await.code(), "AUTH_REQUIRED");
    assert_eq!(sign_in(&mut world.client(), &gone.secret).await.status, 401);
    assert_eq!(browsers[1].get("/api/audit").await.status, 200, "who signed in with another stays");
    for mut stream in streams {
        let end = async { while stream.next().await.is_some_and(|piece| piece.is_ok()) {} };
        tokio::time::timeout(Duration::from_secs(10), end).await.expect("it still hears");
    }
    assert_eq!(
        browsers[1].post(&format!("/api/tokens/{}/revoke", kept.id)).await.status,
        200,
        "also its own"
    );
    assert_eq!(browsers[1].get("/api/audit").await.status, 401);
}

#[tokio::test]
async fn an_expired_token_opens_nothing() {
    let world = World::start().await;
    let mut admin = world.operator();
    let store = world.engine.store();
    let now = store.now().await.unwrap();
    let past = now.checked_sub(Duration::from_secs(1)).unwrap();
    let refused = wish(&mut admin, &format!(r#"{{"name":"a","scope":"read","expires_at":"{past}"}}"#)).await;
    assert_eq!(refused.code(), "VALIDATION_INVALID_FIELD");
    let soon = now.checked_add(Duration::from_millis(700)).unwrap();
    let answer = wish(&mut admin, &format!(r#"{{"name":"a","scope":"read","expires_at":"{soon}"}}"#)).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let mut robot = world.client().with_token(answer.json()["token"].as_str().unwrap());
    // It is good until its last instant; then it is not, for programs and for the list.
    eventually(async || (robot.get("/api/audit").await.status == 401).then_some(())).await;
    assert!(store.now().await.unwrap() >= soon, "not before");
    assert_eq!(robot.get("/api/audit").await.code(), "AUTH_REQUIRED");
    assert_eq!(admin.get("/api/tokens").await.json()["tokens"][0]["state"], "expired");
}

/// A thousand guesses, of every kind that is wrong: first one answer for all, then one that looks at nothing.
#[tokio::test]
async fn a_thousand_guesses_learn_nothing() {
    let world = World::with(|setup| {
        setup.limits.rates.address_factor = 1_000.0;
        // However slow the machine is, no try comes back while it guesses.
        setup.limits.rates.wrong_keys.per_second = 1e-4;
    })
    .await;
    let mut admin = world.operator();
    let (good, gone) = (made(&mut admin, "good", "read").await, made(&mut admin, "gone", "read").await);
    revoke(&mut admin, &gone.id).await;
    let hash = [9; 32];
    let new = NewToken {
        name: "x".parse().unwrap(),
        scope: Scope::Read,
        hash,
        expires_at: None,
        by: "test".into(),
    };
    world.engine.store().add_token(new).await.unwrap();
    let (whole, last) = good.secret.split_at(75);
    let mistyped = format!("{whole}{}", if last == "0" { '1' } else { '0' });
    let guesses = [gone.secret.as_str(), &mistyped, "rdo_", "x", whole, &"0".repeat(76)];
    let (mut wrong, mut often) = (Vec::new(), Vec::new());
    for n in 0..1_000 {
        let guess = guesses[n % guesses.len()];
        let answer = world.client().with_token(guess).get("/api/audit").await;
        match answer.status {
            401 => wrong.push(shape(&answer)),
            429 => often.push(shape(&answer)),
            other => panic!("{guess}: {other}"),
        }
    }
    assert_eq!(wrong.len(), 10, "so many of 1000 were looked at");
    for shapes in [&mut wrong, &mut often] {
        shapes.dedup();
        assert_eq!(shapes.len(), 1, "{shapes:?}");
    }
    let right = world.client().with_token(&good.secret).get("/api/audit").await;
    assert_eq!(shape(&right), often[0], "nor does a right one tell anything then");
}

/// Guesses at one token from many addresses are counted together; its holder is never shut out by them.
#[tokio::test]
async fn guesses_from_many_addresses_are_counted_by_how_they_begin() {
    let world =
        World::with(|setup| setup.limits.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()]).await;
    let good = made(&mut world.operator(), "good", "read").await;
    let start = &good.secret[..12];
    let mut statuses = Vec::new();
    for n in 0..40 {
        let guess = format!("{start}{n:064}");
        let from = format!("203.0.113.{n}");
        let mut client = world.client().with_token(&guess);
        statuses.push(client.ask("GET", "/api/audit", &[("x-forwarded-for", &from)]).await.status);
    }
    assert_eq!(statuses[0], 401);
    assert!(statuses.iter().filter(|status| **status == 429).count() >= 25, "{statuses:?}");
    let mut holder = world.client().with_token(&good.secret);
    let from = [("x-forwarded-for", "198.51.100.1")];
    assert_eq!(holder.ask("GET", "/api/audit", &from).await.status, 200);
    let mut other = world.client().with_token("rdo_another-beginning");
    assert_eq!(other.ask("GET", "/api/audit", &from).await.status, 401, "other guesses are other guesses");
}

#[tokio::test]
async fn a_token_that_cannot_be_is_refused_in_words() {
    let world = World::start().await;
    let mut admin = world.operator();
    for (body, code) in [
        ("{}", "VALIDATION_INVALID_FIELD"),
        (r#"{"name":"a","scope":"root"}"#, "VALIDATION_INVALID_FIELD"),
        (r#"{"name":"<b>","scope":"read"}"#, "VALIDATION_INVALID_FIELD"),
        (r#"{"name":" ","scope":"read"}"#, "VALIDATION_INVALID_FIELD"),
        (r#"{"name":"a","scope":"read","token":"mine"}"#, "VALIDATION_INVALID_FIELD"),
        ("{", "VALIDATION_MALFORMED"),
    ] {
        let answer = wish(&mut admin, body).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, code), "{body}: {}", answer.text());
    }
    for id in ["000000000000", "x", "%ff"] {
        assert_eq!(admin.post(&format!("/api/tokens/{id}/revoke")).await.code(), "NOT_FOUND", "{id}");
    }
    assert!(world.engine.store().tokens().await.unwrap().is_empty());
}

#[tokio::test]
async fn tokens_are_made_and_taken_back_by_plain_forms() {
    let world = World::start().await;
    let mut admin = world.operator();
    let empty = admin.get("/tokens").await.text();
    assert!(empty.contains("No token was made yet") && !empty.contains("id=\"token\""), "{empty}");
    let flawed = press(&mut admin, "/tokens", "name=a%0Ab&scope=act&days=3").await;
    assert_eq!(flawed.status, 400);
    assert!(flawed.text().contains("No token was made:"), "{}", flawed.text());
    for days in ["0", "x", "99999"] {
        assert_eq!(press(&mut admin, "/tokens", &format!("name=a&scope=act&days={days}")).await.status, 400);
    }
    let answer = press(&mut admin, "/tokens", "name=night+shift&scope=act&days=30").await;
    assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")));
    let secret = Page::read(answer).text("#token");
    let mut robot = world.client().with_token(&secret);
    assert_eq!(robot.get("/api/audit").await.status, 200);
    assert_eq!(robot.get("/api/tokens").await.code(), "AUTH_SCOPE");
    let again = admin.get("/tokens").await.text();
    assert!(!again.contains(&secret) && again.contains("night shift"), "{again}");
    let id = world.engine.store().tokens().await.unwrap()[0].id;
    let odd = press(&mut admin, &format!("/tokens/{id}"), "act=keep").await;
    assert_eq!(odd.status, 400);
    let gone = press(&mut admin, &format!("/tokens/{id}"), "act=revoke").await;
    assert_eq!((gone.status, gone.header("location")), (303, Some("/tokens")));
    assert_eq!(robot.get("/api/audit").await.status, 401);
    let after = admin.get("/tokens").await.text();
    assert!(after.contains("Taken back") && !after.contains("value=\"revoke\""), "{after}");
}

/// Somebody signed in with a token that only reads keeps what anybody may do with their own, and is told what they lack for the rest.
#[tokio::test]
async fn a_browser_that_may_only_read_keeps_its_own_jobs() {
    let world = World::with(|setup| setup.works = false).await;
    let token = made(&mut world.operator(), "reader", "read").await;
    let (mut ann, mut browser) = (world.client(), world.client());
    let others = ann.upload("a.pdf", &pdf(1), None).await.job_id();
    let own = browser.upload("b.pdf", &pdf(2), None).await.job_id();
    let session = browser.cookie.clone().unwrap();
    let answer = sign_in(&mut browser, &token.secret).await;
    let cookie = cookies(&answer).remove(0);
    browser.cookie = Some(format!("{session}; {}", cookie.split(';').next().unwrap()));
    assert_eq!(browser.get(&format!("/api/jobs/{others}")).await.status, 200, "it reads");
    assert_eq!(browser.post(&format!("/api/jobs/{others}/cancel")).await.code(), "FORBIDDEN");
    assert_eq!(browser.post(&format!("/api/jobs/{own}/cancel")).await.status, 202);
    assert_eq!(browser.post("/api/breakers/gateway/hold").await.code(), "AUTH_SCOPE");
    let page =
        browser.ask("POST", "/breakers", &[("accept", "text/html"), ("sec-fetch-site", "same-origin")]).await;
    assert!(page.status == 403 && page.text().contains("/sign-out"), "still signed in: {}", page.text());
}
