//! Who is who: cookies, forgeries, lifetimes, other sites.

use std::time::Duration;

use redrive_store::SessionLife;

use crate::world::{World, large_pdf, pdf};

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
