//! What every page has, and what pages load.

use super::reader::{BROWSER, visit};
use crate::world::{World, pdf};

#[tokio::test]
async fn every_page_is_proper_html_that_loads_nothing_from_elsewhere() {
    let world = World::start().await;
    let mut client = world.client();
    let id = world.converted(&mut client, "a.pdf", &pdf(1)).await;
    client.upload("no.pdf", b"no", None).await;
    for path in [
        "/",
        "/jobs",
        "/jobs?status=failed&q=no",
        &format!("/jobs/{id}"),
        "/failures",
        "/failures/GW_TIMEOUT",
        "/forget",
        "/docs",
    ] {
        let page = visit(&mut client, path).await;
        assert_eq!(page.answer.status, 200, "{path}");
        // One page holds the whole API.
        let most = if path == "/docs" { 270_000 } else { 60_000 };
        let bytes = page.answer.text().len();
        assert!(bytes < most, "{path} is large: {bytes}");
    }
}

#[tokio::test]
async fn assets_are_kept_for_ever_under_the_hash_of_what_they_hold() {
    let world = World::start().await;
    let mut client = world.client();
    let page = visit(&mut client, "/").await;
    let urls: Vec<String> = page
        .all("script[src], link[href]")
        .iter()
        .map(|element| element.attr("src").or_else(|| element.attr("href")).unwrap().to_owned())
        .collect();
    assert_eq!(urls.len(), 6, "{urls:?}");
    for url in urls {
        let answer = client.get(&url).await;
        assert_eq!(answer.status, 200, "{url}");
        assert!(!answer.body.is_empty(), "{url}");
        assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"));
        let tag = answer.header("etag").unwrap().to_owned();
        assert!(url.contains(tag.trim_matches('"')), "{url} {tag}");
        assert_eq!(client.ask("GET", &url, &[("if-none-match", &tag)]).await.status, 304);
        assert_eq!(world.client().get(&url).await.header("set-cookie"), None, "an asset begins no session");
    }
    for path in [
        "/assets/",
        "/assets/x",
        "/assets/style-0000000000000000.css",
        "/assets/..%2fCargo.toml",
        "/assets/%ff",
    ] {
        assert_eq!(client.get(path).await.code(), "NOT_FOUND", "{path}");
    }
    let icon = client.get("/favicon.ico").await;
    assert_eq!((icon.status, icon.header("content-type")), (200, Some("image/svg+xml")));
}

#[tokio::test]
async fn a_page_begins_the_session_that_its_files_will_belong_to() {
    let world = World::start().await;
    for path in ["/", "/jobs"] {
        let mut client = world.client();
        assert!(client.ask("GET", path, BROWSER).await.header("set-cookie").is_some(), "{path}");
        assert_eq!(client.ask("GET", path, BROWSER).await.header("set-cookie"), None, "{path}");
    }
    for path in ["/failures", "/docs", "/banner"] {
        assert_eq!(world.client().ask("GET", path, BROWSER).await.header("set-cookie"), None, "{path}");
    }
}

#[tokio::test]
async fn the_api_s_page_holds_every_route_of_the_document() {
    let world = World::start().await;
    let page = visit(&mut world.client(), "/docs").await;
    let headings: Vec<String> = page.all("h2 code").into_iter().map(super::reader::text).collect();
    for route in redrive_server::routes() {
        let name = format!("{} {}", route.method, route.path);
        assert!(headings.contains(&name), "{name}");
    }
    assert_eq!(page.all("[id=schema-Job]").len(), 1);
    // Each has a command to copy, and every code leads to its page.
    let commands: Vec<String> =
        page.all("section pre[aria-label^=Command]").into_iter().map(super::reader::text).collect();
    assert_eq!(commands.len(), redrive_server::routes().len());
    assert!(commands.iter().all(|command| command.starts_with("curl ")), "{commands:#?}");
    for link in page.all("a[href^='/failures/']") {
        let code = link.attr("href").unwrap().trim_start_matches("/failures/");
        assert!(redrive_model::Code::parse(code).is_some(), "{code}");
    }
    for anchor in page.all("nav[aria-label=Operations] a") {
        let id = anchor.attr("href").unwrap().trim_start_matches('#');
        assert_eq!(page.all(&format!("[id='{id}']")).len(), 1, "{id}");
    }
}

#[tokio::test]
async fn every_code_has_a_page() {
    let world = World::start().await;
    let mut client = world.client();
    let all = visit(&mut client, "/failures").await;
    for entry in redrive_model::failure::REGISTRY {
        let url = format!("/failures/{}", entry.name);
        assert!(all.all("dt a").iter().any(|a| a.attr("href") == Some(&url)), "{url}");
    }
    let page = visit(&mut client, "/failures/not_pdf").await;
    assert_eq!(page.text("h1"), "Only PDF files are supported.");
    assert_eq!(page.all(".sentences dt").len(), 2);
    assert_eq!(visit(&mut client, "/failures/NOPE").await.answer.status, 404);
}
