//! A gateway that is known to be down: its breaker is open.

use std::time::Duration;

use redrive_engine::model::breaker::{Breaker, Hold, Phase};
use redrive_engine::model::instant;
use redrive_engine::store::Swapped;
use redrive_engine::store::intake::Stage;
use redrive_engine::{JobId, Target};
use redrive_intake::Seen;

use crate::bench::{Bench, PDF};
use crate::gateway::{FakeGateway, Say};

const TARGET: &str = "gateway";

/// Writes the breaker's row over whatever it is.
async fn write(bench: &Bench, change: impl Fn(&mut Breaker)) {
    let target = Target::new(TARGET).unwrap();
    loop {
        let row = bench.store.breaker(&target).await.unwrap();
        let now = bench.store.now().await.unwrap();
        let mut breaker = row.as_ref().map_or_else(|| Breaker::new(now), |row| row.breaker.clone());
        change(&mut breaker);
        let swapped =
            bench.store.swap_breaker(&target, row.map(|row| row.version), &breaker, None).await.unwrap();
        if matches!(swapped, Swapped::Done(_)) {
            return;
        }
    }
}

/// What the queue processor has seen last.
async fn seen(bench: &Bench, queue: JobId) -> Option<Seen> {
    let state = bench.store.payload(queue).await.unwrap()?.state?;
    serde_json::from_slice(&state).ok()
}

async fn until_it_says(bench: &Bench, queue: JobId, why: &str) -> Seen {
    let says = async |bench: &Bench| {
        seen(bench, queue).await.is_some_and(|seen| seen.stopped.as_deref() == Some(why))
    };
    bench.until(why, says).await;
    seen(bench, queue).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_document_is_taken_to_ask_a_gateway_that_is_down_and_the_rest_when_it_is_back() {
    let gateway = FakeGateway::start([Say::Xml]).await;
    let mut bench = Bench::new(&gateway.url).await;
    bench.targets = vec![TARGET.to_owned()];
    // It may be asked again one day, and not while this test looks.
    let until = instant::after(bench.store.now().await.unwrap(), Duration::from_secs(3_600));
    write(&bench, |breaker| breaker.phase = Phase::Open { until }).await;
    for n in 0..5 {
        bench.put(&format!("queue/{n}.pdf"), PDF);
    }
    let running = bench.start().await;
    let queue = bench.queue().await;
    bench.until("one is taken", async |bench| bench.documents().await.len() == 1).await;
    let first = until_it_says(&bench, queue, "gateway does not answer").await;
    // Two whole looks later there is still the one.
    let mut looks = vec![first.at];
    while looks.len() < 3 {
        let again =
            async |bench: &Bench| seen(bench, queue).await.is_some_and(|seen| !looks.contains(&seen.at));
        bench.until("another look", again).await;
        looks.push(seen(&bench, queue).await.unwrap().at);
    }
    assert_eq!(bench.documents().await.len(), 1);
    assert_eq!(gateway.calls().0, 0);
    write(&bench, |breaker| breaker.phase = Phase::Closed).await;
    bench.until_stage(Stage::Done, 5).await;
    running.drain().await;
    assert_eq!(gateway.calls().0, 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_somebody_holds_is_not_said_to_be_silent() {
    let gateway = FakeGateway::start([Say::Xml]).await;
    let mut bench = Bench::new(&gateway.url).await;
    bench.targets = vec![TARGET.to_owned()];
    let since = bench.store.now().await.unwrap();
    let hold = Hold { by: "ann".to_owned(), reason: "an update".to_owned(), since, until: None };
    write(&bench, |breaker| breaker.hold(hold.clone())).await;
    bench.put("queue/a.pdf", PDF);
    bench.put("queue/b.pdf", PDF);
    let running = bench.start().await;
    let queue = bench.queue().await;
    until_it_says(&bench, queue, "gateway is held").await;
    assert_eq!(gateway.calls().0, 0);
    running.drain().await;
}
