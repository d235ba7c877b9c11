//! Readers of the event stream: every event, in order, and a poison one blocks nobody.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use redrive_engine::model::State;
use redrive_engine::store::{Event, EventKind, JobFilter, PageRequest};
use redrive_engine::{By, Code, Context, Failure, Options, Projector, WorkloadName};

use crate::bench::{Bench, eventually, quick};

/// Notes the payloads of users' events; refuses those that say so.
#[derive(Clone, Default)]
struct Notes {
    seen: Arc<Mutex<Vec<String>>>,
    refuses: Arc<Mutex<Vec<String>>>,
    park_after: u32,
}

impl Projector for Notes {
    async fn on_event(&self, _ctx: &Context, event: &Event) -> Result<(), Failure> {
        let Some(payload) = &event.payload else { return Ok(()) };
        let text = String::from_utf8_lossy(payload).into_owned();
        if self.refuses.lock().unwrap().contains(&text) {
            return Err(Failure::new(Code::HandlerFailed, format!("cannot read {text}")));
        }
        self.seen.lock().unwrap().push(text);
        Ok(())
    }

    fn park_after(&self) -> u32 {
        self.park_after
    }

    fn idle(&self) -> Duration {
        Duration::from_millis(20)
    }
}

impl Notes {
    fn parking(park_after: u32) -> Self {
        Self { park_after, ..Self::default() }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

async fn publish(engine: &redrive_engine::Engine, texts: impl IntoIterator<Item = String>) {
    for text in texts {
        engine.publish("note", text.into_bytes()).await.unwrap();
    }
}

fn numbers(n: usize) -> Vec<String> {
    (0..n).map(|n| format!("n{n}")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_is_seen_once_in_order_whoever_reads() {
    let bench = Bench::new().await;
    let notes = Notes::parking(1);
    let engine = bench.engine().await;
    engine.projector("notes", notes.clone()).await.unwrap();
    publish(&engine, numbers(500)).await;
    let running = engine.start();
    eventually(async || (notes.seen().len() >= 100).then_some(())).await;
    running.drain().await;
    let other = bench.engine().await;
    other.projector("notes", notes.clone()).await.unwrap();
    let running = other.start();
    eventually(async || (notes.seen().len() >= 500).then_some(())).await;
    running.drain().await;
    assert_eq!(notes.seen(), numbers(500));
    let readers = other.readers().await.unwrap();
    assert_eq!(readers.len(), 1);
    assert!(readers[0].position.0 > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poison_event_is_parked_and_can_be_replayed() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let notes = Notes::parking(1);
    notes.refuses.lock().unwrap().push("n2".into());
    engine.projector("notes", notes.clone()).await.unwrap();
    publish(&engine, numbers(5)).await;
    let running = engine.start();
    eventually(async || (notes.seen().len() >= 4).then_some(())).await;
    assert_eq!(notes.seen(), ["n0", "n1", "n3", "n4"]);
    let filter =
        JobFilter { workload: Some(WorkloadName::new("notes.parked").unwrap()), ..JobFilter::default() };
    let rows = bench.store.jobs(filter, PageRequest::default()).await.unwrap().rows;
    assert_eq!(rows.len(), 1);
    let row = bench.until(rows[0].id, State::Failed).await;
    assert_eq!(row.failure_code, Some(Code::HandlerFailed));
    notes.refuses.lock().unwrap().clear();
    engine.retry(vec![row.id], &By::new("ann")).await.unwrap();
    bench.until(row.id, State::Complete).await;
    assert_eq!(notes.seen().last().map(String::as_str), Some("n2"));
    running.drain().await;
}

/// Alive but not getting on is visible: failures in a row, and how far behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_does_not_park_waits_and_shows_it() {
    let bench = Bench::new().await;
    let engine = bench.engine().await;
    let notes = Notes::default();
    notes.refuses.lock().unwrap().push("n1".into());
    engine.projector("notes", notes.clone()).await.unwrap();
    publish(&engine, numbers(3)).await;
    let running = engine.start();
    let health = eventually(async || {
        let all = engine.permanents().await.unwrap();
        all.into_iter().find(|health| health.name.as_str() == "notes" && health.failures >= 2)
    })
    .await;
    assert_eq!(notes.seen(), ["n0"]);
    assert!(health.trouble.unwrap().contains("cannot read n1"));
    assert!(health.reader.unwrap().behind > 0);
    running.drain().await;
}

/// Events that everybody has read go when they are old; what one reader has not read stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_stay_until_every_reader_has_read_them() {
    let bench = Bench::new().await;
    let engine = bench.engine_with(Options { keep_events: Duration::ZERO, ..quick() }).await;
    let (fast, slow) = (Notes::parking(1), Notes::default());
    slow.refuses.lock().unwrap().push("n5".into());
    engine.projector("fast", fast.clone()).await.unwrap();
    engine.projector("slow", slow.clone()).await.unwrap();
    publish(&engine, numbers(10)).await;
    let running = engine.start();
    eventually(async || (fast.seen().len() == 10 && slow.seen().len() == 5).then_some(())).await;
    let gone = eventually(async || {
        let answer = bench.store.events_after(redrive_engine::EventSeq(0), 1).await;
        answer.err()
    })
    .await;
    assert_eq!(gone.code(), Code::EventsGone);
    let position = engine.readers().await.unwrap().into_iter().find(|r| r.name == "slow").unwrap().position;
    let left = bench.store.events_after(position, 1_000).await.unwrap();
    let published = left.iter().filter(|event| event.kind == EventKind::Published).count();
    assert_eq!(published, 5, "n5 and what follows is still there");
    engine.forget_reader("slow", &By::new("ann")).await.unwrap();
    running.drain().await;
}
