//! A server that is asked to stop while it converts.

use std::time::Duration;

use redrive_lab::gateway::{Answer, right_answer};

use super::kit::{World, eventually, pdf, sha256};

on_both!(
    sigterm_lets_a_short_conversion_end_and_claims_nothing_more,
    sigterm_gives_a_long_conversion_back_uncharged,
    a_second_sigterm_ends_the_server_at_once_and_the_lease_does_the_rest,
);

/// Also covers: T7, M11, K8, K10, K11.
async fn sigterm_lets_a_short_conversion_end_and_claims_nothing_more(mut world: World) {
    world.set("WORKER_CONCURRENCY", 1);
    let mut server = world.serve().await;
    let browser = server.browser();
    world.gateway_says([Answer::Silence]);
    let (first, second) = (browser.hand_in(&pdf(1)).await, browser.hand_in(&pdf(2)).await);
    eventually("a call", async || (world.gateway.calls().len() == 1).then_some(())).await;
    server.signal("-TERM");
    // It takes no new connection: it has heard.
    eventually("the door to close", async || {
        tokio::net::TcpStream::connect(&server.address).await.is_err().then_some(())
    })
    .await;
    // Longer than a lease: it is kept while the server drains.
    let began = std::time::Instant::now();
    eventually("a lease and a half", async || (began.elapsed() > Duration::from_secs(3)).then_some(())).await;
    world.gateway.let_go();
    let (code, _) = server.ends().await;
    assert_eq!(code, Some(0), "{}", server.said());
    assert_eq!(world.gateway.calls().len(), 1, "nothing was claimed after the signal");
    assert_eq!(world.files("results").len(), 1, "what ran has ended");
    world.gateway.behave();
    let server = world.serve().await;
    let browser = browser.at(&server.address);
    for (n, id) in [(1, &first), (2, &second)] {
        let job = browser.until(id, "complete").await;
        assert_eq!(job["attempt"], 1, "{job:#}");
        assert_eq!(browser.download(id).await.text(), right_answer(&sha256(&pdf(n)), "text"));
        assert_eq!(world.calls(&pdf(n)), 1);
    }
}

/// Also covers: T7, M12, K8.
async fn sigterm_gives_a_long_conversion_back_uncharged(mut world: World) {
    world.set("DRAIN_TIMEOUT_SEC", 1);
    let mut server = world.serve().await;
    let browser = server.browser();
    world.gateway_says([Answer::Silence]);
    let id = browser.hand_in(&pdf(1)).await;
    eventually("a call", async || (world.calls(&pdf(1)) == 1).then_some(())).await;
    server.signal("-TERM");
    let (code, took) = server.ends().await;
    assert_eq!(code, Some(0), "{}", server.said());
    assert!(took < Duration::from_secs(6), "a drain of a second took {took:?}");
    world.gateway.behave();
    let server = world.serve().await;
    let browser = browser.at(&server.address);
    let job = browser.until(&id, "complete").await;
    assert_eq!(job["attempt"], 1, "the attempt was given back: {job:#}");
    let outcomes: Vec<String> =
        browser.attempts(&id).await.iter().map(|a| a["outcome"].as_str().unwrap().to_owned()).collect();
    assert_eq!(outcomes.first().map(String::as_str), Some("released"), "{outcomes:?}");
    assert_eq!((world.calls(&pdf(1)), world.files("results").len()), (2, 1));
}

/// Also covers: M12, K9.
async fn a_second_sigterm_ends_the_server_at_once_and_the_lease_does_the_rest(world: World) {
    let mut server = world.serve().await;
    let browser = server.browser();
    world.gateway_says([Answer::Silence]);
    let id = browser.hand_in(&pdf(1)).await;
    eventually("a call", async || (world.calls(&pdf(1)) == 1).then_some(())).await;
    server.signal("-TERM");
    eventually("the door to close", async || {
        tokio::net::TcpStream::connect(&server.address).await.is_err().then_some(())
    })
    .await;
    server.signal("-TERM");
    let (code, took) = server.ends().await;
    assert_ne!(code, Some(0), "it did not end well");
    assert!(took < Duration::from_secs(2), "now took {took:?}");
    world.gateway.behave();
    let server = world.serve().await;
    let browser = browser.at(&server.address);
    let job = browser.until(&id, "complete").await;
    assert_eq!(job["attempt"], 2, "a crash is charged: {job:#}");
    assert_eq!((world.calls(&pdf(1)), world.files("results").len()), (2, 1));
}
