//! One job's page.

use super::reader::{Page, SCRIPT, text, visit};
use crate::gateway::Mood;
use crate::world::{World, pdf};

#[tokio::test]
async fn a_complete_job_shows_its_xml_and_does_not_run_it() {
    let world = World::start().await;
    let evil = "<a><script xmlns=\"http://www.w3.org/1999/xhtml\">alert(1)</script>&lt;b&gt; ü</a>";
    world.gateway.makes(evil.to_owned());
    let mut client = world.client();
    let id = world.converted(&mut client, "a.pdf", &pdf(1)).await;
    let page = visit(&mut client, &format!("/jobs/{id}")).await;
    assert_eq!(page.text("pre.xml"), evil);
    assert_eq!(page.text("title"), "Complete: a.pdf · Redrive");
    assert_eq!(page.all(&format!("a[href='/api/jobs/{id}/download'][download]")).len(), 1);
    assert_eq!(page.all("form").len(), 0, "nothing to retry, nothing to cancel");
    assert_eq!(page.all(".timeline li").len(), 1);
    assert_eq!(page.all(".timeline rect.good").len(), 1);
    let events: Vec<String> = page.all(".events strong").into_iter().map(text).collect();
    assert_eq!(events, ["queued", "processing", "complete"]);
    let curl = page.text("pre[aria-label='Commands with curl']");
    assert!(curl.contains(&format!("{}/api/jobs/{id}/download", world.url)), "{curl}");
}

#[tokio::test]
async fn of_a_large_result_the_beginning_is_shown_and_of_a_damaged_one_nothing() {
    let world = World::start().await;
    world.gateway.makes(format!("<a>{}</a>", "é".repeat(5_000)));
    let mut client = world.client();
    let id = world.converted(&mut client, "a.pdf", &pdf(1)).await;
    let page = visit(&mut client, &format!("/jobs/{id}")).await;
    let shown = page.one("pre.xml").text().collect::<String>();
    assert!(shown.starts_with("<a>ééé") && shown.ends_with("é\n…"), "{}", shown.len());
    assert!(shown.len() <= 4_096 + 4 && !shown.contains('\u{fffd}'));
    let file =
        world.files("results").into_iter().find(|path| path.extension().is_some_and(|e| e == "xml")).unwrap();
    std::fs::write(&file, "<a>something else</a>").unwrap();
    let page = visit(&mut client, &format!("/jobs/{id}")).await;
    assert!(page.all("pre.xml").is_empty());
    assert!(page.answer.text().contains("cannot be read"));
}

#[tokio::test]
async fn a_failure_is_three_sentences_and_nothing_of_the_inside() {
    let world = World::start().await;
    world.gateway.mood(Mood::Refuses);
    let mut client = world.client();
    let id = world.converted(&mut client, "a.pdf", &pdf(1)).await;
    let page = visit(&mut client, &format!("/jobs/{id}")).await;
    let terms: Vec<String> = page.all(".explain dt").into_iter().map(text).collect();
    assert_eq!(terms, ["What happened", "What we do", "What you can do"]);
    assert_eq!(page.text("title"), "Failed: a.pdf · Redrive");
    assert!(!page.answer.text().contains("/srv") && !page.answer.text().contains("PARSE_ERROR"));
    assert_eq!(page.all(".explain a[href='/failures/GW_4XX']").len(), 1);
    assert_eq!(page.all(&format!("form[action='/jobs/{id}/retry'] button")).len(), 1);
    assert!(page.text("pre[aria-label='Commands with redrive']").contains("redrive explain GW_4XX"));
    assert!(page.text("pre[aria-label='Commands with curl']").contains("/retry"));
    let piece = Page::piece(client.ask("GET", &format!("/jobs/{id}"), SCRIPT).await);
    assert_eq!(piece.one("#job").attr("data-title"), Some("Failed: a.pdf"));
    // What cannot be done is not advised either.
    client.upload("no.pdf", b"no", None).await;
    let refused = client.get("/api/jobs?q=no.pdf").await.json()["jobs"][0]["id"].as_str().unwrap().to_owned();
    let page = visit(&mut client, &format!("/jobs/{refused}")).await;
    assert!(!page.text("pre[aria-label='Commands with curl']").contains("/retry"));
}

#[tokio::test]
async fn a_job_that_has_not_run_can_be_cancelled_and_says_what_comes() {
    let world = World::with(|setup| setup.works = false).await;
    let mut client = world.client();
    let id = client.upload("a.pdf", &pdf(1), None).await.job_id();
    let page = visit(&mut client, &format!("/jobs/{id}")).await;
    assert_eq!(page.text(".explain p"), "Ready: it runs as soon as a worker has room.");
    assert_eq!(page.all(&format!("form[action='/jobs/{id}/cancel'][method=post]")).len(), 1);
    assert!(page.all("pre.xml").is_empty() && page.all(".timeline").is_empty());
}
