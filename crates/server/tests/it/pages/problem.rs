//! Refusals: pages for people, documents for programs and scripts.

use super::reader::{BROWSER, Page, SCRIPT, visit};
use crate::world::{World, pdf};

#[tokio::test]
async fn what_is_not_yours_and_what_is_not_there_is_the_same_page() {
    let world = World::start().await;
    let (mut ann, mut bob) = (world.client(), world.client());
    let id = world.converted(&mut ann, "secret.pdf", &pdf(1)).await;
    let missing = "01890000-0000-7000-8000-000000000000";
    visit(&mut bob, "/jobs").await;
    let shape = |page: &Page| {
        let request = page.answer.header("x-request-id").unwrap();
        page.answer.text().replace(request, "")
    };
    let other = visit(&mut bob, &format!("/jobs/{id}")).await;
    assert_eq!((other.answer.status, other.text("h1").as_str()), (403, "This file isn’t yours."));
    assert!(!other.answer.text().contains("secret"));
    for (client, path) in [
        (&bob, format!("/jobs/{missing}")),
        (&ann, format!("/jobs/{missing}")),
        (&ann, "/jobs/none".to_owned()),
        (&world.client(), format!("/jobs/{id}")),
    ] {
        let page = visit(&mut client.clone(), &path).await;
        assert_eq!((page.answer.status, shape(&page)), (403, shape(&other)), "{path}");
    }
}

#[tokio::test]
async fn a_page_that_fails_says_what_happened_what_we_do_and_what_to_do() {
    let world = World::start().await;
    let mut client = world.client();
    for (path, status, code) in [
        ("/nothing", 404, "NOT_FOUND"),
        ("/jobs?status=nope", 400, "VALIDATION_INVALID_FIELD"),
        ("/jobs?page=2", 400, "VALIDATION_UNKNOWN_FIELD"),
        ("/jobs?cursor=x", 400, "VALIDATION_CURSOR"),
        ("/jobs/zip", 400, "VALIDATION_MISSING_FIELD"),
        ("/upload", 405, "METHOD_NOT_ALLOWED"),
        // A browser that goes to a download that is none.
        ("/api/jobs/none/download", 403, "FORBIDDEN"),
        ("/api/download.zip", 404, "EXPIRED"),
    ] {
        let page = visit(&mut client, path).await;
        assert_eq!(page.answer.status, status, "{path}");
        assert_eq!(page.text(".fine a"), code, "{path}");
        let terms: Vec<String> = page.all(".sentences dt").into_iter().map(super::reader::text).collect();
        assert_eq!(terms, ["What we do", "What you can do"], "{path}");
        assert!(page.answer.text().contains(page.answer.header("x-request-id").unwrap()), "{path}");
    }
}

#[tokio::test]
async fn programs_and_scripts_get_documents() {
    let world = World::start().await;
    let mut client = world.client();
    client.get("/jobs").await;
    assert_eq!(client.get("/jobs/none").await.code(), "FORBIDDEN");
    assert_eq!(client.ask("GET", "/jobs/none", SCRIPT).await.code(), "FORBIDDEN");
    assert_eq!(client.ask("GET", "/api/jobs/none", &[("accept", "text/html")]).await.code(), "FORBIDDEN");
}

#[tokio::test]
async fn one_who_asks_too_often_gets_a_page_that_says_when() {
    let world = World::with(|setup| {
        setup.limits.rates.look = redrive_server::Rate { burst: 40.0, per_second: 0.001 };
        setup.limits.rates.address_factor = 1_000.0;
    })
    .await;
    let mut client = world.client();
    client.ask("GET", "/jobs", BROWSER).await;
    let refused = loop {
        let answer = client.ask("GET", "/jobs", BROWSER).await;
        if answer.status != 200 {
            break Page::read(answer);
        }
    };
    assert_eq!(refused.answer.status, 429);
    assert!(refused.answer.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
}
