//! Nothing is lost, nothing is told twice within the window, and the order is that of the events.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use redrive_engine::store::{DeadFilter, DeadRow, EventKind, PageRequest, Store};
use redrive_engine::{Code, Context, Done, Engine, EventSeq, Failure, Input, Options, Workload};
use redrive_notify::{DEAD_SUBJECT, EVENT_SUBJECT, NATS, Nats, NatsError, NatsOptions};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::server::{Server, program, until};

#[derive(Serialize, Deserialize)]
struct Paper(u32);

impl Input for Paper {
    const WORKLOAD: &'static str = "paper";
}

/// Every third is done, the others are given up.
struct Shredder;

impl Workload for Shredder {
    type Input = Paper;

    async fn run(&self, _: Context, paper: Paper) -> Result<Done, Failure> {
        if paper.0.is_multiple_of(3) {
            Ok(Done::Complete)
        } else {
            Err(Failure::new(Code::HandlerRefused, "no"))
        }
    }
}

struct World {
    engine: Engine,
    store: Arc<dyn Store>,
}

impl World {
    async fn new() -> Self {
        let store: Arc<dyn Store> = Arc::new(redrive_store_sqlite::Options::default().in_memory().unwrap());
        let options =
            Options { poll: Duration::from_millis(50), drain: Duration::ZERO, ..Options::default() };
        let engine = Engine::new(store.clone(), options).await.unwrap();
        engine.register(Shredder);
        Self { engine, store }
    }

    /// A sink that writes a dead letter as its offset.
    async fn sink(&self, url: String) -> Nats {
        self.sink_that(url, |letter, _| letter.offset.to_string().into_bytes()).await
    }

    /// A sink that writes dead letters so; it is told how many bytes there may be.
    async fn sink_that(
        &self,
        url: String,
        write: impl Fn(DeadRow, usize) -> Vec<u8> + Send + Sync + 'static,
    ) -> Nats {
        let encode = move |letter: DeadRow, most: usize| {
            let written = write(letter, most);
            let written: futures::future::BoxFuture<'static, _> = Box::pin(async move { Ok(written) });
            written
        };
        let options = NatsOptions { url, encode: Arc::new(encode), silent: BTreeSet::new() };
        Nats::new(self.store.clone(), &self.engine.new_id().to_string(), options).await.unwrap()
    }

    async fn papers(&self, n: u32) {
        let papers: Vec<Paper> = (0..n).map(Paper).collect();
        self.engine.enqueue_many(&papers).await.unwrap();
    }

    async fn letters(&self) -> Vec<String> {
        let (mut offsets, mut cursor) = (Vec::new(), None);
        loop {
            let filter = DeadFilter { oldest_first: true, ..DeadFilter::default() };
            let page = self.store.dead_letters(filter, PageRequest { limit: 200, cursor }).await.unwrap();
            offsets.extend(page.rows.iter().map(|row| row.offset.to_string()));
            cursor = page.next;
            if cursor.is_none() {
                return offsets;
            }
        }
    }

    /// The sequences of all events that others may know.
    async fn events(&self) -> Vec<i64> {
        let (mut found, mut after) = (Vec::new(), EventSeq(0));
        loop {
            let events = self.store.events_after(after, 1_000).await.unwrap();
            let Some(last) = events.last() else { return found };
            after = last.seq;
            let ours = |name: &str| name == NATS || name.starts_with("redrive.");
            let told =
                events.iter().filter(|event| !event.workload.as_ref().is_some_and(|w| ours(w.as_str())));
            found.extend(told.map(|event| event.seq.0));
        }
    }

    async fn ended(&self, papers: u64) {
        until("the end of all papers", || async {
            let counts = self.store.counts().await.unwrap();
            let ended = counts.states.iter().filter(|count| count.workload.as_str() == "paper");
            ended.filter(|count| count.state.is_terminal()).map(|count| count.jobs).sum::<u64>() == papers
        })
        .await;
    }
}

/// What the stream has is what the store has: each once, in order.
async fn agrees(world: &World, server: &Server) {
    let (letters, events) = (world.letters().await, world.events().await);
    let expected = (letters.len() + events.len()) as u64;
    until("all messages", || async { server.messages().await >= expected }).await;
    let told = server.all(DEAD_SUBJECT).await;
    let offsets: Vec<String> =
        told.iter().map(|(_, body)| String::from_utf8(body.clone()).unwrap()).collect();
    assert!(offsets == letters, "{} letters, {} told", letters.len(), offsets.len());
    assert!(told.iter().zip(&letters).all(|((id, _), offset)| id.ends_with(&format!("-dlq-{offset}"))));
    let told = server.all(EVENT_SUBJECT).await;
    let json: Vec<Value> = told.iter().map(|(_, body)| serde_json::from_slice(body).unwrap()).collect();
    let sequences: Vec<i64> = json.iter().map(|event| event["sequence"].as_i64().unwrap()).collect();
    assert!(sequences == events, "{} events, {} told", events.len(), sequences.len());
    assert!(told.iter().zip(&events).all(|((id, _), sequence)| id.ends_with(&format!("-{sequence}"))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_and_dead_letter_arrives_though_the_server_is_killed_in_the_middle() {
    let Some(program) = program() else { return };
    let (world, mut server) = (World::new().await, Server::planned(program));
    server.start();
    world.engine.projector(NATS, world.sink(server.url()).await).await.unwrap();
    let running = world.engine.start();
    world.papers(600).await;
    for share in [200, 700] {
        until("a part of the messages", || async { server.messages().await > share }).await;
        server.kill();
        world.papers(30).await;
        server.start();
    }
    world.ended(660).await;
    agrees(&world, &server).await;
    let failed = server.all(EVENT_SUBJECT).await;
    let failed: Vec<Value> = failed.iter().map(|(_, body)| serde_json::from_slice(body).unwrap()).collect();
    let failed = failed.iter().find(|event| event["type"] == EventKind::Failed.as_str()).unwrap();
    assert_eq!((&failed["workload"], &failed["error_code"]), (&"paper".into(), &"HANDLER_REFUSED".into()));
    running.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_window_that_is_cut_in_the_middle_loses_nothing_and_keeps_the_order() {
    let Some(program) = program() else { return };
    let (world, mut server) = (World::new().await, Server::planned(program));
    let running = world.engine.start();
    world.papers(4_000).await;
    world.ended(4_000).await;
    running.drain().await;
    let all = (world.letters().await.len() + world.events().await.len()) as u64;
    // Everything waits already: whenever the server dies, a window is on its way.
    let options = Options { poll: Duration::from_millis(50), drain: Duration::ZERO, ..Options::default() };
    let teller = Engine::new(world.store.clone(), options).await.unwrap();
    teller.projector(NATS, world.sink(server.url()).await).await.unwrap();
    let running = teller.start();
    for share in [1, 3_000] {
        server.start();
        until("a part of the messages", || async { server.messages().await > share }).await;
        server.kill();
    }
    server.start();
    assert!(server.messages().await < all, "it was killed in the middle");
    agrees(&world, &server).await;
    running.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_is_written_for_what_the_server_takes_and_one_that_is_still_too_long_blocks_nobody() {
    let Some(program) = program() else { return };
    let (world, mut server) = (World::new().await, Server::planned(program));
    server.start();
    // The third cannot be shortened, the others are as long as they may be.
    let seen = std::sync::Mutex::new(Vec::new());
    let write = move |letter: DeadRow, most: usize| {
        let mut seen = seen.lock().unwrap();
        if !seen.contains(&letter.offset) {
            seen.push(letter.offset);
        }
        match seen.iter().position(|offset| *offset == letter.offset) {
            Some(2) => vec![b'x'; 2 << 20],
            _ => {
                let offset = letter.offset.to_string();
                (offset.clone() + &" ".repeat(most - offset.len())).into_bytes()
            }
        }
    };
    world.engine.projector(NATS, world.sink_that(server.url(), write).await).await.unwrap();
    let running = world.engine.start();
    world.papers(12).await;
    world.ended(12).await;
    let (letters, events) = (world.letters().await, world.events().await);
    let expected = (letters.len() - 1 + events.len()) as u64;
    until("all messages but one", || async { server.messages().await >= expected }).await;
    let told = server.all(DEAD_SUBJECT).await;
    let offsets: Vec<String> =
        told.iter().map(|(_, body)| String::from_utf8(body.clone()).unwrap().trim().to_owned()).collect();
    assert_eq!(offsets, [&letters[..2], &letters[3..]].concat());
    running.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_there_is_no_server_events_wait_and_nobody_asks_in_a_hurry() {
    let Some(program) = program() else { return };
    let (world, mut server) = (World::new().await, Server::planned(program));
    let id = world.engine.projector(NATS, world.sink(server.url()).await).await.unwrap();
    let running = world.engine.start();
    world.papers(20).await;
    world.ended(20).await;
    until("two tries", || async { world.engine.attempts(id).await.unwrap().len() >= 2 }).await;
    for attempt in world.engine.attempts(id).await.unwrap() {
        let said = format!("{attempt:?}");
        assert!(said.contains("TargetUnreachable") && said.contains("events wait in the store"), "{said}");
        assert!(!said.contains("CANARY"), "{said}");
    }
    server.start();
    agrees(&world, &server).await;
    running.drain().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sink_that_forgot_where_it_was_tells_nothing_twice() {
    let Some(program) = program() else { return };
    let (world, mut server) = (World::new().await, Server::planned(program));
    server.start();
    world.engine.projector(NATS, world.sink(server.url()).await).await.unwrap();
    let running = world.engine.start();
    world.papers(30).await;
    world.ended(30).await;
    agrees(&world, &server).await;
    running.drain().await;
    // Another reader of the same store begins at the beginning.
    let again = Engine::new(world.store.clone(), Options::default()).await.unwrap();
    again.projector("redrive.again", world.sink(server.url()).await).await.unwrap();
    let running = again.start();
    let last = world.store.last_event().await.unwrap().0;
    until("the second reader's end", || async {
        let readers = again.readers().await.unwrap();
        readers.iter().any(|reader| reader.name == "redrive.again" && reader.position.0 >= last)
    })
    .await;
    running.drain().await;
    let ids = server.all(EVENT_SUBJECT).await.into_iter().map(|(id, _)| id).collect::<Vec<_>>();
    let once: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(once.len(), ids.len(), "the server knows them by their ids");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_own_events_go_out_too_and_one_that_is_too_large_blocks_nobody() {
    let Some(program) = program() else { return };
    let (world, mut server) = (World::new().await, Server::planned(program));
    server.start();
    world.engine.projector(NATS, world.sink(server.url()).await).await.unwrap();
    let running = world.engine.start();
    for payload in [b"plain".to_vec(), vec![0xff, 0], vec![b'x'; 1 << 20], b"last".to_vec()] {
        world.engine.publish("note", payload).await.unwrap();
    }
    until("four notes", || async { server.messages().await >= 4 }).await;
    running.drain().await;
    let told = server.all(EVENT_SUBJECT).await;
    let told: Vec<Value> = told.iter().map(|(_, body)| serde_json::from_slice(body).unwrap()).collect();
    assert_eq!((&told[0]["topic"], &told[0]["payload"]), (&"note".into(), &"plain".into()));
    assert_eq!(told[1]["payload_base64"], "/wA=");
    assert_eq!((&told[2]["payload_cut"], told[2].get("payload")), (&true.into(), None));
    assert_eq!(told[3]["payload"], "last");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_somebody_else_made_is_used_with_its_limits_and_its_other_writers() {
    let Some(program) = program() else { return };
    let (world, mut server) = (World::new().await, Server::planned(program));
    server.start();
    let config = async_nats::jetstream::stream::Config {
        name: "THEIRS".to_owned(),
        subjects: vec!["jobs.>".to_owned()],
        max_message_size: 1_000,
        ..async_nats::jetstream::stream::Config::default()
    };
    server.client().await.create_stream(config).await.unwrap();
    world.engine.projector(NATS, world.sink(server.url()).await).await.unwrap();
    let running = world.engine.start();
    // Others write into it too, and it takes less than its server.
    for payload in [vec![b'x'; 5_000], b"hello".to_vec(), b"again".to_vec()] {
        server.client().await.publish("jobs.other", "theirs".into()).await.unwrap().await.unwrap();
        world.engine.publish("note", payload).await.unwrap();
    }
    until("the notes", || async {
        let stream = server.client().await.get_stream("THEIRS").await.unwrap();
        stream.cached_info().state.messages >= 5
    })
    .await;
    running.drain().await;
}

#[tokio::test]
async fn what_is_no_address_is_refused_without_telling_it() {
    let world = World::new().await;
    let encode = |_, _| -> futures::future::BoxFuture<'static, _> { Box::pin(async { Ok(Vec::new()) }) };
    let options =
        |url: &str| NatsOptions { url: url.to_owned(), encode: Arc::new(encode), silent: BTreeSet::new() };
    for url in ["http://CANARY@h", "nats://sink:CANARY@", "::CANARY::", ""] {
        let error = Nats::new(world.store.clone(), "s", options(url)).await.err().unwrap();
        assert!(matches!(error, NatsError::Address), "{error}");
        assert!(!error.to_string().contains("CANARY"), "{error}");
    }
}
