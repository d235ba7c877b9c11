//! Buttons: by a plain form they lead to the job, by script they answer what changes.

use super::reader::{BROWSER, Page, SCRIPT, visit};
use crate::gateway::Mood;
use crate::world::{World, pdf};

#[tokio::test]
async fn a_plain_retry_leads_to_the_job_and_a_scripted_one_answers_the_row() {
    let world = World::start().await;
    world.gateway.mood(Mood::Refuses);
    let mut client = world.client();
    let id = world.converted(&mut client, "a.pdf", &pdf(1)).await;
    world.gateway.mood(Mood::Silent);
    let answer = client.ask("POST", &format!("/jobs/{id}/retry"), BROWSER).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some(format!("/jobs/{id}").as_str())));
    // It runs now: a second press is told so, in a page or in a document.
    let again = Page::read(client.ask("POST", &format!("/jobs/{id}/retry"), BROWSER).await);
    assert_eq!(again.answer.status, 409);
    let again = client.ask("POST", &format!("/jobs/{id}/retry?row=1"), SCRIPT).await;
    assert_eq!(again.code(), "CONFLICT_STATE");
    world.gateway.mood(Mood::Refuses);
    world.ended(&id).await;
    world.gateway.mood(Mood::Silent);
    // A row is parsed inside a table, as htmx does it.
    let answer = client.ask("POST", &format!("/jobs/{id}/retry?row=1"), SCRIPT).await;
    assert!(answer.text().starts_with(&format!("<tr id=\"job-{id}\"")), "{}", answer.text());
    assert!(!answer.text().contains("<article"));
    world.gateway.mood(Mood::Fine);
}

#[tokio::test]
async fn cancelling_on_the_page_answers_the_job() {
    let world = World::with(|setup| setup.works = false).await;
    let mut client = world.client();
    let id = client.upload("a.pdf", &pdf(1), None).await.job_id();
    let piece = Page::piece(client.ask("POST", &format!("/jobs/{id}/cancel"), SCRIPT).await);
    assert_eq!(piece.one("#job").attr("data-title"), Some("Cancelled: a.pdf"));
    let again = client.ask("POST", &format!("/jobs/{id}/cancel"), BROWSER).await;
    assert_eq!(again.status, 409);
    assert_eq!(visit(&mut client, &format!("/jobs/{id}")).await.text(".head .state"), "Cancelled");
}

#[tokio::test]
async fn a_button_on_another_site_does_nothing() {
    let world = World::with(|setup| setup.works = false).await;
    let mut client = world.client();
    let id = client.upload("a.pdf", &pdf(1), None).await.job_id();
    for headers in [
        &[("sec-fetch-site", "cross-site")][..],
        &[("origin", "http://evil.example")],
        &[("sec-fetch-site", "same-site")],
    ] {
        let answer = client.ask("POST", &format!("/jobs/{id}/cancel"), headers).await;
        assert_eq!(answer.code(), "AUTH_CROSS_SITE", "{headers:?}");
    }
    assert_eq!(client.get(&format!("/api/jobs/{id}")).await.json()["status"], "queued");
}
