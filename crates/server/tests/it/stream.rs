//! The event stream: own events, in order, none missed by one who comes back.

use std::time::Duration;

use serde_json::Value;

use crate::client::Client;
use crate::world::{World, eventually, pdf};

/// One open stream.
struct Stream {
    response: reqwest::Response,
    text: String,
}

/// One message: id, name, data.
type Message = (i64, String, Value);

impl Stream {
    async fn open(client: &Client, last: Option<i64>) -> Self {
        let mut request = client.request("GET", "/api/events/stream");
        if let Some(last) = last {
            request = request.header("last-event-id", last.to_string());
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, text: String::new() }
    }

    /// The next message; `None` when the stream has ended.
    async fn next(&mut self) -> Option<Message> {
        let patience = Duration::from_secs(20);
        loop {
            while let Some((message, rest)) = self.text.split_once("\n\n") {
                let (message, rest) = (message.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| {
                    message
                        .lines()
                        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned))
                };
                if let (Some(id), Some(name), Some(data)) = (field("id"), field("event"), field("data")) {
                    return Some((id.parse().unwrap(), name, serde_json::from_str(&data).unwrap()));
                }
            }
            let piece = tokio::time::timeout(patience, self.response.chunk()).await.unwrap();
            match piece {
                Ok(Some(piece)) => self.text.push_str(std::str::from_utf8(&piece).unwrap()),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// So many messages about this job.
    async fn of(&mut self, job: &str, count: usize) -> Vec<Message> {
        let mut found = Vec::new();
        while found.len() < count {
            let message = self.next().await.expect("the stream has ended");
            assert_eq!(message.2["sequence"], message.0);
            if message.2["job_id"] == job {
                found.push(message);
            }
        }
        found
    }
}

fn names(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.1.as_str()).collect()
}

#[tokio::test]
async fn a_stream_tells_own_events_and_one_who_comes_back_misses_none() {
    let world = World::start().await;
    let (mut ann, mut bob) = (world.client(), world.client());
    ann.get("/api/jobs").await;
    bob.get("/api/jobs").await;
    let (mut to_ann, mut to_bob) = (Stream::open(&ann, None).await, Stream::open(&bob, None).await);
    let first = world.converted(&mut ann, "a.pdf", &pdf(1)).await;
    let messages = to_ann.of(&first, 3).await;
    assert_eq!(names(&messages), ["queued", "processing", "complete"]);
    assert!(messages.windows(2).all(|pair| pair[0].0 < pair[1].0));
    // Bob hears nothing of it: the first thing he hears is his own.
    let his = world.converted(&mut bob, "b.pdf", &pdf(1)).await;
    let heard = to_bob.next().await.unwrap();
    assert_eq!((heard.2["job_id"].as_str(), heard.1.as_str()), (Some(his.as_str()), "queued"));
    // From memory: another stream is open all the time.
    let seen = messages[0].0;
    drop(to_ann);
    let second = world.converted(&mut ann, "a.pdf", &pdf(2)).await;
    to_bob.of(&his, 2).await;
    let mut back = Stream::open(&ann, Some(seen)).await;
    assert_eq!(names(&back.of(&first, 2).await), ["processing", "complete"]);
    assert_eq!(names(&back.of(&second, 3).await), ["queued", "processing", "complete"]);
}

#[tokio::test]
async fn what_happened_while_nobody_listened_is_read_from_the_table() {
    let world = World::start().await;
    let mut client = world.client();
    let first = world.converted(&mut client, "a.pdf", &pdf(1)).await;
    world.converted(&mut world.client(), "other.pdf", &pdf(7)).await;
    let second = world.converted(&mut client, "a.pdf", &pdf(2)).await;
    let mut stream = Stream::open(&client, Some(0)).await;
    let mut heard = Vec::new();
    for _ in 0..6 {
        heard.push(stream.next().await.unwrap());
    }
    assert!(heard.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert!(heard[..3].iter().all(|message| message.2["job_id"] == first));
    assert!(heard[3..].iter().all(|message| message.2["job_id"] == second));
}

#[tokio::test]
async fn one_who_was_away_longer_than_events_are_kept_starts_anew() {
    let world = World::start().await;
    let mut client = world.client();
    world.converted(&mut client, "a.pdf", &pdf(1)).await;
    let store = world.engine.store();
    let last = store.last_event().await.unwrap();
    assert!(store.purge_events(last, 10_000).await.unwrap() > 0);
    let mut stream = Stream::open(&client, Some(0)).await;
    let (_, name, data) = stream.next().await.unwrap();
    assert_eq!((name.as_str(), data["code"].as_str()), ("reset", Some("EVENTS_GONE")));
    let id = world.converted(&mut client, "a.pdf", &pdf(2)).await;
    assert_eq!(names(&stream.of(&id, 1).await), ["queued"], "it goes on from there");
}

#[tokio::test]
async fn one_who_saw_what_is_no_longer_there_starts_anew() {
    // After a restore the numbers go on from those of the backup.
    let world = World::start().await;
    let mut client = world.client();
    world.converted(&mut client, "a.pdf", &pdf(1)).await;
    let last = world.engine.store().last_event().await.unwrap();
    let mut stream = Stream::open(&client, Some(last.0 + 1_000)).await;
    world.converted(&mut client, "a.pdf", &pdf(2)).await;
    let (_, name, data) = stream.next().await.unwrap();
    assert_eq!((name.as_str(), data["code"].as_str()), ("reset", Some("EVENTS_GONE")));
}

#[tokio::test]
async fn one_who_does_not_keep_up_is_dropped_and_misses_nothing() {
    let world = World::with(|setup| (setup.works, setup.limits.stream_buffer) = (false, 1)).await;
    let mut client = world.client();
    client.get("/api/jobs").await;
    let (mut stream, mut ended, mut last) = (Stream::open(&client, None).await, 0, None);
    let mut jobs = Vec::new();
    for n in 0..40 {
        jobs.push(client.upload("a.pdf", &pdf(n), None).await.job_id());
    }
    let mut heard = Vec::new();
    while heard.len() < jobs.len() {
        match stream.next().await {
            Some((id, _, data)) => {
                last = Some(id);
                heard.push(data["job_id"].as_str().unwrap().to_owned());
            }
            None => {
                ended += 1;
                assert!(ended < 100, "it never gets on");
                stream = Stream::open(&client, Some(last.unwrap_or(0))).await;
            }
        }
    }
    assert_eq!(heard, jobs, "each once, in order");
}

#[tokio::test]
async fn a_silent_stream_says_that_it_lives_and_streams_have_a_number() {
    let world = World::with(|setup| {
        setup.limits.stream_heartbeat = Duration::from_millis(20);
        setup.limits.streams_per_session = 1;
    })
    .await;
    let mut client = world.client();
    client.get("/api/jobs").await;
    let mut stream = Stream::open(&client, None).await;
    while !stream.text.contains(":still here") && !stream.text.contains(": still here") {
        let piece = tokio::time::timeout(Duration::from_secs(20), stream.response.chunk()).await.unwrap();
        stream.text.push_str(std::str::from_utf8(&piece.unwrap().unwrap()).unwrap());
    }
    let second = client.get("/api/events/stream").await;
    assert_eq!((second.status, second.code().as_str()), (503, "OVERLOADED"));
}

/// Connections of a relay are no client's; what each client holds open is counted by the address that the relay tells.
#[tokio::test]
async fn streams_of_one_address_have_a_number_also_behind_a_proxy() {
    let world = World::with(|setup| {
        (setup.limits.streams_per_address, setup.door.per_address) = (2, 3);
        setup.limits.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let open = async |address: &str, path: &str| {
        let request = world.client().request("GET", path).header("x-forwarded-for", address);
        request.send().await.unwrap()
    };
    let (one, other, streams) = ("203.0.113.1", "203.0.113.2", ["/api/events/stream", "/live"]);
    let mut held = Vec::new();
    for path in streams {
        held.push(open(one, path).await);
    }
    for path in streams {
        let refused = world.client().ask("GET", path, &[("x-forwarded-for", one)]).await;
        assert_eq!((refused.status, refused.code().as_str()), (503, "OVERLOADED"), "{path}");
        held.push(open(other, path).await);
    }
    assert!(held.iter().all(|stream| stream.status() == 200), "{held:?}");
    drop(held.remove(0));
    eventually(async || (open(one, "/live").await.status() == 200).then_some(())).await;
}
