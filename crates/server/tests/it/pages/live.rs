//! The stream that keeps pages fresh, and the banner.

use std::time::Duration;

use futures::StreamExt;
use redrive_engine::By;
use redrive_model::Target;

use super::reader::{Page, SCRIPT, visit};
use crate::client::Client;
use crate::world::{World, pdf};

/// Listens until a message of this name comes.
struct Listener(std::pin::Pin<Box<dyn futures::Stream<Item = String> + Send>>);

impl Listener {
    async fn open(client: &Client, path: &str) -> Self {
        let response = client.request("GET", path).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let pieces = response.bytes_stream().map(|piece| String::from_utf8(piece.unwrap().to_vec()).unwrap());
        let mut listener = Self(Box::pin(pieces));
        listener.wait("beat").await;
        listener
    }

    /// All that comes up to this message.
    async fn wait(&mut self, name: &str) -> String {
        let mut seen = String::new();
        let wait = async {
            while !seen.contains(&format!("event: {name}\n")) {
                seen += &self.0.next().await.expect("the stream ended");
            }
        };
        tokio::time::timeout(Duration::from_secs(20), wait).await.unwrap_or_else(|_| panic!("no {name}"));
        seen
    }
}

#[tokio::test]
async fn a_list_hears_of_its_own_jobs_only_and_not_what_they_are() {
    let world = World::start().await;
    let (mut ann, mut bob) = (world.client(), world.client());
    visit(&mut ann, "/jobs").await;
    let mut listener = Listener::open(&ann, "/live").await;
    world.converted(&mut bob, "bob.pdf", &pdf(1)).await;
    let id = ann.upload("ann.pdf", &pdf(2), None).await.job_id();
    let seen = listener.wait("jobs").await;
    assert!(!seen.contains(&id) && !seen.contains("ann"), "{seen}");
    // And of the next thing, too.
    world.ended(&id).await;
    ann.upload("no.pdf", b"no", None).await;
    listener.wait("jobs").await;
}

#[tokio::test]
async fn a_job_s_page_hears_of_that_job_alone() {
    let world = World::with(|setup| setup.works = false).await;
    let mut client = world.client();
    let id = client.upload("a.pdf", &pdf(1), None).await.job_id();
    let other = client.upload("b.pdf", &pdf(2), None).await.job_id();
    let mut listener = Listener::open(&client, &format!("/live?job={id}")).await;
    client.post(&format!("/api/jobs/{other}/cancel")).await;
    client.post(&format!("/api/jobs/{id}/cancel")).await;
    listener.wait("jobs").await;
    let mut stranger = world.client();
    stranger.get("/api/jobs").await;
    assert_eq!(stranger.get(&format!("/live?job={id}")).await.code(), "FORBIDDEN");
    assert_eq!(stranger.get("/live?job=none").await.code(), "FORBIDDEN");
    assert_eq!(stranger.get("/live?all=1").await.code(), "VALIDATION_UNKNOWN_FIELD");
}

#[tokio::test]
async fn a_start_is_heard_although_it_writes_no_event() {
    let world = World::with(|setup| setup.works = false).await;
    world.gateway.mood(crate::gateway::Mood::Silent);
    let mut client = world.client();
    let id = client.upload("a.pdf", &pdf(1), None).await.job_id();
    let mut one = Listener::open(&client, &format!("/live?job={id}")).await;
    let mut all = Listener::open(&client, "/live").await;
    let running = world.engine.start();
    one.wait("jobs").await;
    all.wait("jobs").await;
    let piece = Page::piece(client.ask("GET", &format!("/jobs/{id}"), SCRIPT).await);
    assert_eq!(piece.text(".head .state"), "Processing");
    world.gateway.mood(crate::gateway::Mood::Fine);
    world.ended(&id).await;
    drop(running);
}

#[tokio::test]
async fn the_banner_comes_and_goes_with_the_hold() {
    let world = World::start().await;
    let mut client = world.client();
    visit(&mut client, "/jobs").await;
    assert!(client.get("/banner").await.body.is_empty());
    let mut listener = Listener::open(&client, "/live").await;
    let target = Target::new("gateway").unwrap();
    world.engine.hold(&target, None, &By::new("op").because("maintenance at /srv")).await.unwrap();
    listener.wait("banner").await;
    let id = client.upload("a.pdf", &pdf(1), None).await.job_id();
    let piece = Page::piece(client.ask("GET", "/banner", SCRIPT).await);
    let stopped = "The converter was stopped by an operator. Jobs wait and are not lost.";
    assert_eq!(piece.text("strong"), stopped);
    assert!(piece.text(".fine").starts_with("Since "), "{}", piece.text(".fine"));
    let page = visit(&mut client, "/jobs").await;
    assert_eq!(page.text("#banner strong"), stopped);
    assert!(
        page.text(&format!("#job-{id} .how")).starts_with("Held waits for the converter; it is not lost")
    );
    assert!(!page.answer.text().contains("/srv") && !page.answer.text().contains("maintenance"));
    world.engine.release(&target, &By::new("op")).await.unwrap();
    listener.wait("banner").await;
    world.ended(&id).await;
    assert!(client.get("/banner").await.body.is_empty());
}
