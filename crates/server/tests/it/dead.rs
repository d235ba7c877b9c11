//! Dead letters as operators read them: pages, one, and everything in one stream.

use std::time::Duration;

use redrive_engine::model::decide::{DeadReason, Rule};
use redrive_engine::model::fingerprint::Fingerprint;
use redrive_engine::model::limits::MAX_REACH;
use redrive_engine::model::{Offset, WorkloadName};
use redrive_engine::{Code, Context, Done, Failure, Input, Workload};
use redrive_fetch::wire::{DeadLetterTask, Message};
use redrive_store::{DeadFilter, GiveUp, PageRequest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::{Answer, Client};
use crate::gateway::Mood;
use crate::world::{World, pdf};

const PROTOBUF: &[(&str, &str)] = &[("accept", "application/x-protobuf")];
const LINES: &[(&str, &str)] = &[("accept", "application/x-ndjson")];

/// Their offsets, newest first; each is a number larger than the one before, and no more is promised.
async fn all(operator: &mut Client) -> Vec<i64> {
    let offsets = offsets(&operator.get("/api/dead-letters").await.json());
    assert!(offsets.is_sorted_by(|a, b| a > b), "{offsets:?}");
    offsets
}

/// A world in which so many uploads were refused by the gateway; the client that sent them, and an operator.
async fn refused(n: u32) -> (World, Client, Client) {
    let world = World::start().await;
    let (mut ann, operator) = (world.client(), world.operator());
    world.gateway.mood(Mood::Refuses);
    for n in 0..n {
        world.converted(&mut ann, &format!("{n}.pdf"), &pdf(n)).await;
    }
    (world, ann, operator)
}

fn offsets(list: &Value) -> Vec<i64> {
    list["dead_letters"].as_array().unwrap().iter().map(|row| row["offset"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn an_operator_reads_pages_of_them_newest_first_with_the_exact_number() {
    let (world, _, mut operator) = refused(5).await;
    let all = all(&mut operator).await;
    let page = operator.get("/api/dead-letters?limit=2").await.json();
    assert_eq!((offsets(&page).as_slice(), page["total"].as_u64()), (&all[..2], Some(5)));
    let cursor = page["next_cursor"].as_str().unwrap().to_owned();
    let next = operator.get(&format!("/api/dead-letters?limit=2&cursor={cursor}")).await.json();
    assert_eq!((offsets(&next).as_slice(), &next["total"]), (&all[2..4], &Value::Null));
    let letter = &page["dead_letters"][0];
    assert_eq!(letter["task"]["resource_id"], "4.pdf");
    assert_eq!((&letter["workload"], &letter["task"]["job_type"]), (&"convert".into(), &"convert".into()));
    assert_eq!((&letter["failure_code"], &letter["state"]), (&"GW_4XX".into(), &"open".into()));
    assert_eq!(letter["metadata"]["inner_code"], "PARSE_ERROR");
    let (id, group) = (letter["job_id"].as_str().unwrap(), letter["group"].as_str().unwrap());
    let owner = letter["owner"].as_str().unwrap();
    assert!(owner.starts_with("s:"), "{letter}");
    let at = letter["failed_at"].as_str().unwrap();
    for (query, count) in [
        ("code=GW_4XX".to_owned(), 5),
        ("code=parse_error".to_owned(), 5),
        ("code=GW_TIMEOUT".to_owned(), 0),
        ("workload=convert".to_owned(), 5),
        ("workload=fetch".to_owned(), 0),
        (format!("group={group}"), 5),
        ("group=0123456789abcdef".to_owned(), 0),
        (format!("owner={owner}"), 5),
        ("owner=nobody".to_owned(), 0),
        (format!("since={at}&owner="), 1),
        (format!("until={at}"), 4),
        ("state=discarded".to_owned(), 0),
    ] {
        let list = operator.get(&format!("/api/dead-letters?{query}")).await.json();
        assert_eq!((offsets(&list).len(), list["total"].as_u64()), (count, Some(count as u64)), "{query}");
    }
    let job: redrive_engine::JobId = id.parse().unwrap();
    world.engine.retry(vec![job], &redrive_engine::By::new("a test")).await.unwrap();
    let replayed = operator.get("/api/dead-letters?state=replayed").await.json();
    assert_eq!((offsets(&replayed).as_slice(), replayed["total"].as_u64()), (&all[..1], Some(1)));
}

#[tokio::test]
async fn one_of_them_is_json_or_the_message_itself() {
    let (_world, _, mut operator) = refused(1).await;
    let offset = all(&mut operator).await[0];
    let path = format!("/api/dead-letters/{offset}");
    let json = operator.get(&path).await;
    assert_eq!((json.status, json.header("content-type")), (200, Some("application/json")));
    let message = operator.ask("GET", &path, PROTOBUF).await;
    assert_eq!(message.header("content-type"), Some("application/x-protobuf"));
    let sent = DeadLetterTask::decode(message.body.as_slice()).unwrap();
    assert_eq!(sent.failure_code, json.json()["failure_code"]);
    assert_eq!(sent.task.unwrap().resource_id, "0.pdf");
    assert_eq!(sent.metadata["offset"], offset.to_string());
    for missing in ["999999", "0", "-1", "x", "99999999999999999999", "%ff"] {
        let answer = operator.get(&format!("/api/dead-letters/{missing}")).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "NOT_FOUND"), "{missing}");
    }
}

#[tokio::test]
async fn everything_that_matches_comes_in_one_stream_oldest_first() {
    let (_world, _, mut operator) = refused(3).await;
    let mut all = all(&mut operator).await;
    all.reverse();
    let lines = operator.ask("GET", "/api/dead-letters?code=GW_4XX", LINES).await;
    assert_eq!(lines.header("content-type"), Some("application/x-ndjson"));
    let text = lines.text();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line["offset"].as_i64().unwrap()).collect::<Vec<_>>(), all);
    assert_eq!(
        lines[0],
        operator.get(&format!("/api/dead-letters/{}", all[0])).await.json(),
        "the same shape everywhere"
    );
    let answer = operator.ask("GET", "/api/dead-letters", PROTOBUF).await;
    let mut rest = answer.body.as_slice();
    let mut read = Vec::new();
    while !rest.is_empty() {
        read.push(DeadLetterTask::decode_length_delimited(&mut rest).unwrap());
    }
    let read: Vec<i64> = read.iter().map(|sent| sent.metadata["offset"].parse().unwrap()).collect();
    assert_eq!(read, all);
    let none: Answer = operator.ask("GET", "/api/dead-letters?state=discarded", PROTOBUF).await;
    assert_eq!((none.status, none.body.len()), (200, 0));
}

#[derive(Serialize, Deserialize)]
struct Paper(u32);

impl Input for Paper {
    const WORKLOAD: &'static str = "paper";
}

struct Shredder;

impl Workload for Shredder {
    type Input = Paper;

    async fn run(&self, _: Context, _: Paper) -> Result<Done, Failure> {
        Err(Failure::new(Code::HandlerRefused, "no"))
    }
}

#[tokio::test]
async fn a_stream_of_many_pages_has_each_of_them_once() {
    let world = World::with(|setup| setup.works = false).await;
    world.engine.register(Shredder);
    let running = world.engine.start();
    let papers: Vec<Paper> = (0..450).map(Paper).collect();
    world.engine.enqueue_many(&papers).await.unwrap();
    let all_dead = async {
        while world.engine.store().count_dead(DeadFilter::default()).await.unwrap() < 450 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), all_dead).await.unwrap();
    running.drain().await;
    let text = world.operator().ask("GET", "/api/dead-letters?workload=paper", LINES).await.text();
    let offset = |line: &str| serde_json::from_str::<Value>(line).unwrap()["offset"].as_i64().unwrap();
    let offsets: Vec<i64> = text.lines().map(offset).collect();
    assert_eq!(offsets.len(), 450);
    assert!(offsets.is_sorted_by(|a, b| a < b), "{offsets:?}");
}

/// What was acted on since hides nothing: more letters than a list looks at for one page may lie between.
#[tokio::test]
async fn a_stream_has_what_is_open_however_many_newer_letters_are_not() {
    let world = World::with(|setup| setup.works = false).await;
    let store = world.engine.store();
    let papers: Vec<Paper> = (0..MAX_REACH + 3).map(|n| Paper(u32::try_from(n).unwrap())).collect();
    for some in papers.chunks(1_000) {
        let jobs = world.engine.enqueue_many(some).await.unwrap().iter().map(|one| one.job()).collect();
        let failure = Failure::new(Code::SystemGivenUp, "given up while it waited");
        let call = GiveUp {
            jobs,
            reason: DeadReason::GivenUp,
            rule: Rule::ByHand,
            fingerprint: Fingerprint::new(
                failure.code,
                &WorkloadName::new("paper").unwrap(),
                None,
                &failure.message,
            ),
            failure,
            target: None,
            keep: None,
        };
        store.give_up(call).await.unwrap();
    }
    let oldest = DeadFilter { oldest_first: true, ..DeadFilter::default() };
    let page = store.dead_letters(oldest, PageRequest { limit: 3, cursor: None }).await.unwrap();
    let kept: Vec<i64> = page.rows.iter().map(|row| row.offset.0).collect();
    let newest = store.matching_dead(DeadFilter::default()).await.unwrap().newest.unwrap();
    let newer = kept[2] + 1..=newest.0;
    for some in newer.collect::<Vec<_>>().chunks(10_000) {
        store.discard(some.iter().copied().map(Offset).collect()).await.unwrap();
    }
    assert_eq!(store.count_dead(DeadFilter::default()).await.unwrap(), 3);
    let answer = world.operator().ask("GET", "/api/dead-letters", LINES).await;
    let offset = |line: &str| serde_json::from_str::<Value>(line).unwrap()["offset"].as_i64().unwrap();
    assert_eq!((answer.status, answer.text().lines().map(offset).collect()), (200, kept));
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_and_nobody_else_is_told_anything() {
    let (_world, mut ann, mut operator) = refused(1).await;
    for (query, code) in [
        ("limit=0", "VALIDATION_INVALID_FIELD"),
        ("state=closed", "VALIDATION_INVALID_FIELD"),
        ("group=x", "VALIDATION_INVALID_FIELD"),
        ("since=monday", "VALIDATION_INVALID_FIELD"),
        ("until=monday", "VALIDATION_INVALID_FIELD"),
        ("code=NOPE", "VALIDATION_INVALID_FIELD"),
        ("code=GW_4XX&code=GW_5XX", "VALIDATION_INVALID_FIELD"),
        ("cursor=x", "VALIDATION_CURSOR"),
        ("colour=blue", "VALIDATION_UNKNOWN_FIELD"),
    ] {
        let answer = operator.get(&format!("/api/dead-letters?{query}")).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, code), "{query}");
    }
    let paged = operator.ask("GET", "/api/dead-letters?limit=1", LINES).await;
    assert_eq!((paged.status, paged.code().as_str()), (400, "VALIDATION_INVALID_FIELD"));
    for path in ["/api/dead-letters", "/api/dead-letters/1"] {
        for form in [&[], LINES, PROTOBUF] {
            let answer = ann.ask("GET", path, form).await;
            assert_eq!((answer.status, answer.code().as_str()), (401, "AUTH_REQUIRED"), "{path}");
        }
    }
}
