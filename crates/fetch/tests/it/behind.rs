//! A host that only leads to another one: the jobs wait for the first, so what goes well or badly at the second counts for both.

use std::time::Duration;

use redrive_engine::Code;
use redrive_engine::model::{Shown, State};
use redrive_lab::origin::{Answer, Origin};

use crate::bench::{Bench, host, resource, until_so};

/// Two origins, of which the first sends everybody to the second.
async fn leading() -> (Origin, Origin) {
    let (front, back) = (Origin::start().await.unwrap(), Origin::start().await.unwrap());
    for n in 0..200 {
        front.say(&format!("/{n}"), [Answer::redirect(302, &back.url(&format!("/{n}")))]);
    }
    (front, back)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_leads_to_another_is_given_more_when_that_one_answers_well() {
    let (bench, (front, back)) = (Bench::new().await, leading().await);
    for n in 0..200 {
        back.say(&format!("/{n}"), [Answer::Slow(Duration::from_millis(30))]);
    }
    let running = bench.start();
    bench.fetch_all((0..200).map(|n| front.url(&format!("/{n}")))).await;
    // The bench allows 16; a host begins with 4.
    assert!((9..=16).contains(&back.most_at_once()), "{}", back.most_at_once());
    running.drain().await;
}

#[tokio::test]
async fn too_many_requests_behind_a_redirect_hold_the_host_that_answered_and_the_one_that_leads_there() {
    let (bench, (front, back)) = (Bench::new().await, leading().await);
    back.once("/0", [Answer::retry_after(429, "1")]);
    let running = bench.start();
    let first = bench.enqueue(&resource(&front.url("/0"))).await;
    until_so(async || !bench.engine.attempts(first).await.unwrap().is_empty()).await;
    let second = bench.enqueue(&resource(&front.url("/1"))).await;
    let direct = bench.enqueue(&resource(&back.url("/direct"))).await;
    for id in [first, second, direct] {
        let row = bench.ended(id).await;
        assert_eq!((row.state, row.attempt), (State::Complete, 1), "it costs nothing");
    }
    let asked = back.heard("/0")[0].at;
    for heard in
        [&back.heard("/0")[1], &back.heard("/1")[0], &front.heard("/1")[0], &back.heard("/direct")[0]]
    {
        assert!(heard.at - asked >= Duration::from_secs(1), "{heard:?}");
    }
    running.drain().await;
}

#[tokio::test]
async fn a_dead_host_behind_a_redirect_stops_the_host_that_leads_there_and_whoever_asks_it_directly() {
    let (bench, (front, back)) = (Bench::with_breakers(Duration::from_secs(60)).await, leading().await);
    for n in 0..20 {
        back.say(&format!("/{n}"), [Answer::Close]);
    }
    let running = bench.start();
    let mut ids = Vec::new();
    for n in 0..20 {
        ids.push(bench.enqueue(&resource(&front.url(&format!("/{n}")))).await);
    }
    let at = host(front.address());
    let behind = host(back.address());
    until_so(async || bench.breaker(&at).await == "open" && bench.breaker(&behind).await == "open").await;
    let direct = bench.enqueue(&resource(&back.url("/direct"))).await;
    let held = bench.store.job(direct).await.unwrap().unwrap();
    assert_eq!((held.shown, back.count("/direct")), (Shown::Held, 0));
    // Whatever was on its way comes back: nobody is given up for it.
    for id in &ids {
        until_so(async || bench.store.job(*id).await.unwrap().unwrap().state != State::Processing).await;
    }
    assert!(front.requests() <= 16, "{}: each attempt asks twice", front.requests());
    for id in ids {
        let job = bench.store.job(id).await.unwrap().unwrap();
        assert_eq!(job.state, State::Queued);
        let codes = bench.engine.attempts(id).await.unwrap().into_iter().filter_map(|attempt| attempt.code);
        assert!(codes.into_iter().all(|code| code == Code::DownloadConnect));
    }
    running.drain().await;
}
