//! Who is who: cookies, forgeries, lifetimes, other sites.

use std::time::Duration;

use redrive_store::SessionLife;

use crate::client::Client;
use crate::fetch::{accepted, ended};
use crate::gateway::Mood;
use crate::operators::{cookies, sign_in};
use crate::pages::reader::{press, visit};
use crate::world::{TOKEN, World, eventually, large_pdf, pdf};

#[tokio::test]
async fn a_first_visit_makes_a_session_and_the_next_one_keeps_it() {
    let world = World::start().await;
    let mut client = world.client();
    let first = client.get("/api/jobs").await;
    let cookie = first.header("set-cookie").unwrap().to_owned();
    let (pair, marks) = cookie.split_once(';').unwrap();
    assert!(pair.starts_with("redrive=") && pair.len() == "redrive=".len() + 64, "{pair}");
    assert_eq!(marks, " Path=/; HttpOnly; SameSite=Lax; Max-Age=31536000");
    assert_eq!(client.get("/api/jobs").await.header("set-cookie"), None);
    // What tells nothing about jobs makes no session.
    for path in ["/healthz", "/readyz", "/api/failures", "/api/mappings", "/api/status", "/api/openapi.json"]
    {
        let answer = world.client().get(path).await;
        assert_eq!((answer.status, answer.header("set-cookie")), (200, None), "{path}");
    }
}

/// Also covers: M46.
#[tokio::test]
async fn a_stranger_whose_upload_does_not_come_costs_the_store_nothing() {
    let world = World::start().await;
    let sessions = async || {
        let none = SessionLife { idle: Duration::ZERO, absolute: Duration::ZERO };
        world.engine.store().forget_sessions(none, 1_000).await.unwrap()
    };
    let whole = crate::client::form(&[("file", Some("a.pdf"), &large_pdf())]);
    for path in ["/api/upload", "/upload"] {
        let (body, pieces) = futures::channel::mpsc::unbounded::<Result<Vec<u8>, std::io::Error>>();
        let request = world
            .client()
            .request("POST", path)
            .header("content-type", "multipart/form-data; boundary=XX")
            .body(reqwest::Body::wrap_stream(pieces));
        let asking = tokio::spawn(request.send());
        body.unbounded_send(Ok(whole[..whole.len() - 30].to_vec())).unwrap();
        // It is being received: its temp is there.
        let begun = async {
            while world.files("uploads").is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), begun).await.unwrap();
        assert_eq!(sessions().await, 0, "{path}: nobody is written down before there is something to own");
        drop(body);
        let answer = asking.await.unwrap().unwrap();
        assert_eq!(answer.status(), 400, "{path}");
        assert!(
            !answer.headers().contains_key("set-cookie"),
            "{path}: a session that is not there has no cookie"
        );
        assert_eq!(sessions().await, 0, "{path}");
    }
    // What is taken, and what is refused and shown, has an owner.
    for (bytes, status) in [(pdf(1), 201), (b"no pdf".to_vec(), 400)] {
        let mut client = world.client();
        let answer = client.upload("a.pdf", &bytes, None).await;
        assert_eq!(answer.status, status);
        assert!(answer.header("set-cookie").is_some());
        let jobs = client.get("/api/jobs").await.json();
        assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1, "{jobs}");
    }
    assert_eq!(sessions().await, 2);
}

#[tokio::test]
async fn behind_https_the_cookie_is_ours_alone() {
    let world = World::with(|setup| setup.public_url = Some("https://convert.example.org")).await;
    let mut client = world.client();
    let cookie = client.get("/api/jobs").await.header("set-cookie").unwrap().to_owned();
    assert!(cookie.starts_with("__Host-redrive="), "{cookie}");
    assert!(cookie.contains("; Secure") && cookie.contains("; Path=/") && !cookie.contains("Domain"));
    assert_eq!(client.get("/api/jobs").await.header("set-cookie"), None);
}

#[tokio::test]
async fn an_id_that_we_did_not_make_is_never_adopted() {
    let world = World::start().await;
    let forged = format!("redrive={}", "ab".repeat(32));
    for cookie in [forged.as_str(), "redrive=", "redrive=x", "redrive=../../etc"] {
        let mut client = world.client();
        client.cookie = Some(cookie.to_owned());
        client.get("/api/jobs").await;
        let given = client.cookie.clone().unwrap();
        assert_ne!(given, cookie);
        assert_eq!(client.get("/api/jobs").await.header("set-cookie"), None, "the fresh one holds");
    }
}

#[tokio::test]
async fn what_the_store_keeps_opens_nothing() {
    let world = World::start().await;
    let mut client = world.client();
    let id = client.upload("a.pdf", &pdf(1), None).await.job_id();
    let secret = client.cookie.clone().unwrap().split_once('=').unwrap().1.to_owned();
    let owner = world.engine.job(id.parse().unwrap()).await.unwrap().unwrap().owner.unwrap();
    assert!(!owner.as_str().contains(&secret[..16]));
    let database = std::fs::read(world.folder.path().join("redrive.db")).unwrap();
    let log = std::fs::read(world.folder.path().join("redrive.db-wal")).unwrap_or_default();
    for file in [database, log] {
        assert!(!file.windows(64).any(|bytes| bytes == secret.as_bytes()));
    }
    let mut thief = world.client();
    thief.cookie = Some(format!("redrive={}{}", &owner.as_str()[2..], &owner.as_str()[2..]));
    assert_eq!(thief.get(&format!("/api/jobs/{id}")).await.code(), "FORBIDDEN");
}

#[tokio::test]
async fn a_session_whose_time_is_over_is_a_stranger() {
    let world = World::with(|setup| {
        setup.limits.session = SessionLife { idle: Duration::ZERO, absolute: Duration::from_secs(3600) };
    })
    .await;
    let mut client = world.client();
    let id = client.upload("a.pdf", &pdf(1), None).await.job_id();
    assert_eq!(client.get(&format!("/api/jobs/{id}")).await.code(), "FORBIDDEN");
    let before = client.cookie.clone();
    client.get("/api/jobs").await;
    assert_ne!(client.cookie, before);
}

#[tokio::test]
async fn a_session_that_wants_to_be_forgotten_leaves_no_file() {
    let world = World::start().await;
    let mut client = world.client();
    let id = world.converted(&mut client, "a.pdf", &pdf(1)).await;
    assert_eq!((world.files("uploads").len(), world.files("results").len()), (1, 1));
    let cookie = client.cookie.clone();
    let answer = client.ask("DELETE", "/api/session", &[]).await;
    assert_eq!(answer.status, 204, "{}", answer.text());
    assert!(answer.header("set-cookie").unwrap().ends_with("Max-Age=0"));
    assert_eq!((world.files("uploads").len(), world.files("results").len()), (0, 0));
    client.cookie = cookie;
    assert_eq!(client.get(&format!("/api/jobs/{id}")).await.code(), "FORBIDDEN", "the session has ended");
}

/// What waits is stopped, what failed is nobody's to start again, whoever listens is let go; others lose nothing.
#[tokio::test]
async fn to_be_forgotten_ends_everything_that_a_session_has() {
    let world = World::start().await;
    let (mut ann, mut bob) = (world.client(), world.client());
    let his = world.converted(&mut bob, "b.pdf", &pdf(9)).await;
    world.gateway.mood(Mood::Refuses);
    let failed = world.converted(&mut ann, "bad.pdf", &pdf(1)).await;
    world.gateway.mood(Mood::Silent);
    let running = ann.upload("slow.pdf", &pdf(2), None).await.job_id();
    let batch = accepted(&mut ann, &["a", "no-b"]).await;
    ended(&mut ann, &batch).await;
    let mut operator = world.operator();
    let letters =
        async |operator: &mut Client| operator.get("/api/dead-letters").await.json()["dead_letters"].clone();
    assert_eq!(letters(&mut operator).await.as_array().unwrap().len(), 2);
    let mut stream = ann.request("GET", "/api/events/stream").send().await.unwrap();
    let page = visit(&mut ann, "/forget").await;
    page.one("form[method=post][action=\"/forget\"]");
    let cookie = ann.cookie.clone();
    let answer = press(&mut ann, "/forget", "").await;
    assert!(answer.status == 200 && answer.text().contains("is removed"), "{}", answer.text());
    assert!(answer.header("set-cookie").unwrap().ends_with("Max-Age=0"));
    let end = async { while stream.chunk().await.is_ok_and(|piece| piece.is_some()) {} };
    tokio::time::timeout(Duration::from_secs(10), end).await.expect("it still hears");
    for (id, status) in [(&failed, "failed"), (&running, "cancelled")] {
        assert_eq!(operator.get(&format!("/api/jobs/{id}")).await.json()["status"], status);
    }
    assert_eq!(letters(&mut operator).await.as_array().unwrap().len(), 0, "nobody starts them again");
    assert_eq!(world.files("uploads").len(), 1, "but his");
    assert_eq!(bob.get(&format!("/api/jobs/{his}/download")).await.status, 200);
    ann.cookie = cookie;
    assert_eq!(ann.get(&format!("/api/fetch/{batch}")).await.code(), "FORBIDDEN");
    world.gateway.mood(Mood::Fine);
}

#[tokio::test]
async fn who_has_no_session_is_forgotten_already_and_begins_none() {
    let world = World::start().await;
    let answer = world.client().ask("DELETE", "/api/session", &[]).await;
    assert_eq!(answer.status, 204);
    let none = SessionLife { idle: Duration::ZERO, absolute: Duration::ZERO };
    assert_eq!(world.engine.store().forget_sessions(none, 10).await.unwrap(), 0);
}

/// A browser that is signed in is signed out too, and its own jobs go.
#[tokio::test]
async fn to_be_forgotten_is_to_be_signed_out() {
    let world = World::start().await;
    let mut browser = world.client();
    let id = world.converted(&mut browser, "a.pdf", &pdf(1)).await;
    let own = browser.cookie.clone().unwrap();
    let signed_in = cookies(&sign_in(&mut browser, TOKEN).await).remove(0);
    browser.cookie = Some(format!("{own}; {}", signed_in.split(';').next().unwrap()));
    let cookie = browser.cookie.clone();
    let answer = browser.ask("DELETE", "/api/session", &[]).await;
    assert_eq!((answer.status, cookies(&answer).len()), (204, 2), "{:?}", answer.headers);
    browser.cookie = cookie;
    assert_eq!(browser.get("/api/audit").await.code(), "AUTH_REQUIRED");
    assert!(world.files("results").is_empty());
    let mut operator = world.operator();
    assert_eq!(operator.get(&format!("/api/jobs/{id}/download")).await.code(), "EXPIRED");
}

/// A file that is on its way while its session ends is not taken: nobody could ever see it.
#[tokio::test]
async fn what_comes_for_a_session_that_has_ended_is_not_taken() {
    let world = World::start().await;
    let mut client = world.client();
    client.get("/api/jobs").await;
    let (body, pieces) = futures::channel::mpsc::unbounded::<Result<Vec<u8>, std::io::Error>>();
    let request = client
        .request("POST", "/api/upload")
        .header("content-type", "multipart/form-data; boundary=XX")
        .body(reqwest::Body::wrap_stream(pieces));
    let asking = tokio::spawn(request.send());
    let whole = crate::client::form(&[("file", Some("a.pdf"), &large_pdf())]);
    body.unbounded_send(Ok(whole[..whole.len() - 30].to_vec())).unwrap();
    eventually(async || (!world.files("uploads").is_empty()).then_some(())).await;
    assert_eq!(client.ask("DELETE", "/api/session", &[]).await.status, 204);
    body.unbounded_send(Ok(whole[whole.len() - 30..].to_vec())).unwrap();
    drop(body);
    assert_eq!(asking.await.unwrap().unwrap().status(), 401);
    eventually(async || world.files("uploads").is_empty().then_some(())).await;
    let jobs = world.operator().get("/api/jobs").await.json();
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 0, "{jobs}");
}

#[tokio::test]
async fn another_site_changes_nothing() {
    let world = World::start().await;
    let mut client = world.client();
    let id = client.upload("a.pdf", &pdf(1), None).await.job_id();
    let path = format!("/api/jobs/{id}/cancel");
    let host = world.url.strip_prefix("http://").unwrap().to_owned();
    for headers in [
        [("sec-fetch-site", "cross-site")],
        [("sec-fetch-site", "same-site")],
        [("origin", "null")],
        [("origin", "http://evil.example")],
    ] {
        let answer = client.ask("POST", &path, &headers).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "AUTH_CROSS_SITE"), "{headers:?}");
        assert_eq!(client.upload_with("a.pdf", &pdf(2), None, &headers).await.code(), "AUTH_CROSS_SITE");
    }
    let own = format!("http://{host}");
    assert_ne!(client.ask("POST", &path, &[("origin", &own)]).await.status, 403);
    // Nobody is told that other sites may read.
    let preflight = client
        .ask(
            "OPTIONS",
            &path,
            &[("origin", "http://evil.example"), ("access-control-request-method", "POST")],
        )
        .await;
    assert!(
        preflight.headers.keys().all(|name| !name.as_str().starts_with("access-control")),
        "{preflight:?}"
    );
    let read = client.ask("GET", "/api/jobs", &[("origin", "http://evil.example")]).await;
    assert_eq!(read.header("access-control-allow-origin"), None);
}
