//! Dead letters on the wire: what other systems are told about a job that was given up.

use std::collections::BTreeMap;

use redrive_engine::store::{DeadFilter, PageRequest};
use redrive_engine::{BatchOptions, Code, Context, Done, Enqueue, Failure, Input, Owner, Workload};
use redrive_fetch::wire::{DeadLetterTask, HttpHeader, Message, ProxyHint, dead_letter};
use redrive_fetch::{Destinations, PoolOptions, Pools};
use redrive_lab::origin::{Answer, Origin};
use serde::{Deserialize, Serialize};

use crate::bench::{Bench, resource};

/// The only dead letter, as it travels.
async fn letter(bench: &Bench) -> DeadLetterTask {
    let dead = bench.store.dead_letters(DeadFilter::default(), PageRequest::default()).await.unwrap();
    let [dead] = dead.rows.as_slice() else { panic!("{dead:?}") };
    let places = Destinations::new("s3://scans/in".parse().unwrap(), BTreeMap::new());
    let pool = |proxies: &[&str], fallbacks: &[&str]| PoolOptions {
        proxies: proxies.iter().map(|host| format!("http://me:CANARY@{host}:1")).collect(),
        fallbacks: fallbacks.iter().map(ToString::to_string).collect(),
    };
    let pools = Pools::new(&BTreeMap::from([
        ("eu".to_owned(), pool(&["a", "b"], &["us", "asia"])),
        ("us".to_owned(), pool(&["c", "d"], &[])),
        ("asia".to_owned(), pool(&["e"], &[])),
    ]));
    let sent = dead_letter(&*bench.store, Some(&places), Some(&pools.unwrap()), dead).await.unwrap();
    let bytes = sent.encode_to_vec();
    assert!(!String::from_utf8_lossy(&bytes).contains("CANARY"), "{sent:?}");
    assert_eq!(DeadLetterTask::decode(bytes.as_slice()).unwrap(), sent);
    sent
}

/// Covers L3 of the security rules for what is exported and published.
#[tokio::test]
async fn a_resource_that_was_given_up_is_told_whole_and_without_its_secrets() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    origin.say("/a?sig=CANARY", [Answer::status(404)]);
    let running = bench.start();
    let mut wanted = resource(&origin.url("/a?sig=CANARY#CANARY"));
    wanted.headers = BTreeMap::from([
        ("Authorization".to_owned(), "Bearer CANARY".to_owned()),
        ("user-agent".to_owned(), "bot".to_owned()),
    ]);
    wanted.tags = BTreeMap::from([("colour".to_owned(), "blue".to_owned())]);
    let batch = bench.engine.open_batch::<redrive_fetch::Resource>(BatchOptions::default()).await.unwrap();
    let how = Enqueue::default().owner(Owner::new("ann").unwrap()).batch(batch.id());
    let id = bench.engine.enqueue_with(&wanted, how).await.unwrap().job();
    bench.ended(id).await;
    running.drain().await;
    let sent = letter(&bench).await;
    assert_eq!((sent.failure_code.as_str(), sent.attempts), ("DOWNLOAD_HTTP_4XX", 1));
    assert!(sent.failure_message.contains("404"), "{sent:?}");
    let task = sent.task.unwrap();
    assert_eq!((task.job_id, task.job_type.as_str()), (batch.id().to_string(), "fetch"));
    assert_eq!(task.url, origin.url("/a?sig=***"));
    assert_eq!((task.tenant.as_str(), task.trace_id.as_str()), ("ann", ""));
    let header = |name: &str, value: &str| HttpHeader { name: name.into(), value: value.into() };
    assert_eq!(task.headers, [header("authorization", "***"), header("user-agent", "bot")]);
    assert_eq!(task.attributes.unwrap().tags, wanted.tags);
    assert_eq!(task.storage_hint.unwrap().key_prefix, "in/batch");
    assert_eq!((task.manifest_key.as_str(), task.attempt), ("manifests/1", 1));
    let fact = |name: &str| sent.metadata.get(name).map(String::as_str);
    assert_eq!((fact("reason"), fact("status")), (Some("non_retryable"), Some("404")));
    assert_eq!(fact("job"), Some(id.to_string().as_str()));
    assert_eq!(fact("batch"), Some(batch.id().to_string().as_str()));
    assert_eq!(fact("fingerprint").map(str::len), Some(16));
}

#[tokio::test]
async fn a_letter_of_what_failed_behind_a_redirect_names_the_host_that_answered() {
    let (bench, front) = (Bench::new().await, Origin::start().await.unwrap());
    let back = Origin::start().await.unwrap();
    front.say("/a", [Answer::redirect(302, &back.url("/b"))]);
    back.say("/b", [Answer::status(410)]);
    let running = bench.start();
    bench.fails(&resource(&front.url("/a"))).await;
    running.drain().await;
    let sent = letter(&bench).await;
    assert_eq!(sent.failure_message, format!("GET {} (redirect 1): status 410", back.url("/b")));
    assert_eq!(sent.task.unwrap().url, front.url("/a"), "what was asked for");
    assert_eq!(
        (sent.metadata["host"].clone(), sent.metadata["hop"].as_str()),
        (back.address().to_string(), "1")
    );
}

#[tokio::test]
async fn a_letter_names_the_pools_that_stand_in_and_none_of_their_proxies() {
    let bench = Bench::new().await;
    let running = bench.start();
    let wanted =
        redrive_fetch::Resource { proxy_pool: Some("eu".into()), ..resource("http://127.0.0.1:9/a") };
    bench.fails(&wanted).await;
    running.drain().await;
    let hint = letter(&bench).await.task.unwrap().proxy_hint;
    let fallbacks = ["us".to_owned(), "asia".to_owned()].to_vec();
    assert_eq!(hint, Some(ProxyHint { primary_pool: "eu".into(), fallbacks }));
}

#[derive(Serialize, Deserialize)]
struct Paper(String);

impl Input for Paper {
    const WORKLOAD: &'static str = "paper";

    fn label(&self) -> Option<String> {
        Some(self.0.clone())
    }
}

struct Shredder;

impl Workload for Shredder {
    type Input = Paper;

    async fn run(&self, _: Context, _: Paper) -> Result<Done, Failure> {
        Err(Failure::new(Code::InvalidMapping, "no such mapping at https://me:CANARY@h/"))
    }
}

#[tokio::test]
async fn another_workload_is_told_by_its_label_and_its_public_code() {
    let bench = Bench::new().await;
    bench.engine.register(Shredder);
    let running = bench.engine.start();
    let id = bench.engine.enqueue(&Paper("a.pdf".into())).await.unwrap();
    bench.ended(id).await;
    running.drain().await;
    let sent = letter(&bench).await;
    assert_eq!(sent.failure_code, "GW_4XX");
    assert_eq!(sent.metadata["inner_code"], "INVALID_MAPPING");
    let task = sent.task.unwrap();
    assert_eq!((task.job_id, task.job_type.as_str()), (id.to_string(), "paper"));
    assert_eq!((task.resource_id.as_str(), task.url.as_str(), task.storage_hint), ("a.pdf", "", None));
}
