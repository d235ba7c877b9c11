//! Handlers in Rust: what they may decide, and what becomes of a resource when they do not work.

use std::collections::BTreeMap;
use std::io::{Read, Seek};
use std::sync::Arc;

use async_trait::async_trait;
use redrive_engine::model::State;
use redrive_engine::{BatchOptions, Code, Enqueue, Owner, Running};
use redrive_fetch::{Candidate, Hook, HookError, ResourceView, Verdict};
use redrive_lab::origin::{Answer, Origin};

use crate::bench::{Bench, noise, quick, resource};

/// What a test wants said.
type Say<A> = Box<dyn Fn(&A) -> Result<Verdict, HookError> + Send + Sync>;

/// Before it sees the id, after it all bytes.
struct Told {
    before: Say<String>,
    after: Say<Vec<u8>>,
}

impl std::fmt::Debug for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Told")
    }
}

#[async_trait]
impl Hook for Told {
    async fn before(&self, about: &ResourceView<'_>) -> Result<Verdict, HookError> {
        (self.before)(&about.id.to_owned())
    }

    async fn after(&self, about: &ResourceView<'_>, bytes: &Candidate<'_>) -> Result<Verdict, HookError> {
        assert_eq!(about.tags.get("colour").map(String::as_str), Some("blue"));
        let mut copy = tempfile::tempfile().unwrap();
        bytes.copy_to(copy.try_clone().unwrap()).await?;
        copy.rewind().unwrap();
        let mut all = Vec::new();
        copy.read_to_end(&mut all).unwrap();
        assert_eq!((bytes.bytes(), bytes.status), (all.len() as u64, 200));
        // Nobody else's bytes are harmed.
        copy.set_len(0).unwrap();
        (self.after)(&all)
    }
}

fn start(
    bench: &Bench,
    before: impl Fn(&String) -> Result<Verdict, HookError> + Send + Sync + 'static,
    after: impl Fn(&Vec<u8>) -> Result<Verdict, HookError> + Send + Sync + 'static,
) -> Running {
    let hook = Told { before: Box::new(before), after: Box::new(after) };
    bench.engine.register(bench.workload(quick()).with_hook(Arc::new(hook)));
    bench.engine.start()
}

fn go<T: ?Sized>(_: &T) -> Result<Verdict, HookError> {
    Ok(Verdict::default())
}

fn wanted(origin: &Origin, path: &str, body: &[u8]) -> redrive_fetch::Resource {
    origin.say(path, [Answer::Bytes(body.to_vec())]);
    let tags = BTreeMap::from([("colour".to_owned(), "blue".to_owned())]);
    redrive_fetch::Resource { tags, ..resource(&origin.url(path)) }
}

#[tokio::test]
async fn a_handler_names_tags_and_looks_at_the_bytes() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let seen = noise(300_000);
    let expected = seen.clone();
    let running = start(
        &bench,
        |_| Ok(Verdict::name("early.bin").tag("when", "before").tag("kept", "yes")),
        move |all| {
            assert_eq!(*all, expected);
            Ok(Verdict::name("photos/late.bin").tag("when", "after"))
        },
    );
    for (path, body) in [("/one", seen.clone()), ("/two", seen)] {
        let row = bench.ended(bench.enqueue(&wanted(&origin, path, &body)).await).await;
        let (made, bytes) = bench.stored(&row).await;
        assert_eq!((made.key.as_str(), bytes), ("batch/photos/late.bin", body), "the same bytes are adopted");
        let tags = [("kept".to_owned(), "yes".to_owned()), ("when".to_owned(), "after".to_owned())];
        assert_eq!(made.tags, BTreeMap::from(tags));
        assert_eq!(bench.temps(), 0);
    }
    running.drain().await;
}

#[tokio::test]
async fn however_many_resources_a_handler_calls_alike_each_is_stored() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = start(&bench, |_| Ok(Verdict::name("photos/cat.jpg")), go);
    let mut keys = std::collections::BTreeSet::new();
    for n in 0..4 {
        let row = bench.ended(bench.enqueue(&wanted(&origin, &format!("/{n}"), &[n; 9])).await).await;
        let (made, bytes) = bench.stored(&row).await;
        assert_eq!((bytes, row.attempt), (vec![n; 9], 1));
        assert!(made.key.starts_with("batch/photos/cat") && made.key.ends_with(".jpg"), "{}", made.key);
        keys.insert(made.key);
    }
    assert_eq!(keys.len(), 4, "{keys:?}");
    assert!(keys.contains("batch/photos/cat.jpg"), "the first has the name as it is: {keys:?}");
    running.drain().await;
}

#[tokio::test]
async fn without_a_prefix_a_name_is_right_at_the_top() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = start(&bench, |_| Ok(Verdict::name("top.bin")), go);
    let wanted = redrive_fetch::Resource { prefix: String::new(), ..wanted(&origin, "/a", b"body") };
    let row = bench.ended(bench.enqueue(&wanted).await).await;
    assert_eq!(bench.stored(&row).await.0.key, "top.bin");
    running.drain().await;
}

#[tokio::test]
async fn what_is_refused_before_costs_no_request_and_what_is_refused_after_has_no_name() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = start(
        &bench,
        |id| if id.ends_with("/early") { Ok(Verdict::refuse("not on\nFridays")) } else { go(id) },
        |_| Ok(Verdict::refuse("it has a virus")),
    );
    for (path, phase, requests) in [("/early", "before", 0), ("/late", "after", 1)] {
        let (code, attempts) = bench.fails(&wanted(&origin, path, &noise(200_000))).await;
        assert_eq!((code, attempts.len()), (Code::HandlerRefused, 1));
        let context = attempts[0].context.as_deref().unwrap();
        assert!(context.contains(&format!("\"handler\":\"{phase}\"")), "{context}");
        assert_eq!(origin.count(path), requests, "{path}");
        assert_eq!((bench.keys().await, bench.temps()), (0, 0), "{path}");
    }
    running.drain().await;
}

#[tokio::test]
async fn a_handler_that_fails_panics_or_asks_for_too_much_ends_the_job_at_once() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = start(
        &bench,
        |id| match id.rsplit('/').next().unwrap() {
            "error" => Err(HookError::Failed("no licence".into())),
            "slow" => Err(HookError::TimedOut("still thinking".into())),
            "panic" => panic!("at the disco"),
            "up" => Ok(Verdict::name("../../etc/passwd")),
            "absolute" => Ok(Verdict::name("/etc/passwd")),
            "empty" => Ok(Verdict::name("")),
            "ours" => Ok(Verdict::name(".redrive-temp/x")),
            "tags" => Ok(Verdict::default().tag("t", "x".repeat(5_000))),
            "nameless" => Ok(Verdict::default().tag("", "x")),
            _ => Ok(Verdict::default()),
        },
        |_| panic!("after all"),
    );
    for path in
        ["/error", "/slow", "/panic", "/up", "/absolute", "/empty", "/ours", "/tags", "/nameless", "/fine"]
    {
        let (code, attempts) = bench.fails(&wanted(&origin, path, b"body")).await;
        let expected = if path == "/slow" { Code::HandlerTimeout } else { Code::HandlerFailed };
        assert_eq!((code, attempts.len()), (expected, 1), "{path}: {attempts:?}");
        assert_eq!(origin.count(path), usize::from(path == "/fine"), "{path}");
    }
    assert_eq!((bench.keys().await, bench.temps()), (0, 0));
    let row = bench.fails(&wanted(&origin, "/again", b"body")).await.1[0].clone();
    assert!(row.message.unwrap().contains("after all"));
    running.drain().await;
}

#[tokio::test]
async fn a_handler_that_never_answers_does_not_outlive_its_attempt() {
    #[derive(Debug)]
    struct Stuck;

    #[async_trait]
    impl Hook for Stuck {
        async fn before(&self, _: &ResourceView<'_>) -> Result<Verdict, HookError> {
            std::future::pending().await
        }
    }
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    bench.engine.register(bench.workload(quick()).with_hook(Arc::new(Stuck)));
    let running = bench.engine.start();
    let id = bench.enqueue(&wanted(&origin, "/a", b"body")).await;
    let by = redrive_engine::By::new("a test");
    bench.engine.cancel(vec![id], &by).await.unwrap();
    assert_eq!(bench.ended(id).await.state, State::Cancelled);
    tokio::time::timeout(std::time::Duration::from_secs(10), running.drain()).await.unwrap();
}

#[tokio::test]
async fn a_machine_that_has_nothing_left_to_run_a_handler_with_is_no_end_of_the_job() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let after = move |_: &Vec<u8>| match calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => Err(HookError::Exhausted("no more processes".into())),
        1 => Err(HookError::Place(redrive_blob::BlobError::Full)),
        _ => Ok(Verdict::default()),
    };
    let running = start(&bench, go, after);
    let row = bench.ended(bench.enqueue(&wanted(&origin, "/a", b"body")).await).await;
    bench.stored(&row).await;
    let codes: Vec<_> =
        bench.engine.attempts(row.id).await.unwrap().iter().map(|attempt| attempt.code).collect();
    assert_eq!(codes[..2], [Some(Code::MemoryError), Some(Code::DiskFull)], "{codes:?}");
    assert_eq!(row.attempt, 2, "a full disk costs no attempt");
    running.drain().await;
}

/// Members of a manifest have no owner of their own.
#[tokio::test]
async fn a_handler_is_told_whose_batch_it_is() {
    #[derive(Debug, Default)]
    struct Whose(std::sync::Mutex<Vec<Option<Owner>>>);

    #[async_trait]
    impl Hook for Whose {
        async fn before(&self, about: &ResourceView<'_>) -> Result<Verdict, HookError> {
            self.0.lock().unwrap().push(about.owner.cloned());
            go(about)
        }
    }
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let (hook, ann) = (Arc::new(Whose::default()), Owner::new("ann").unwrap());
    bench.engine.register(bench.workload(quick()).with_hook(hook.clone()));
    let running = bench.engine.start();
    let batch = bench
        .engine
        .open_batch::<redrive_fetch::Resource>(BatchOptions::default().owner(ann.clone()))
        .await
        .unwrap();
    let how = Enqueue::default().batch(batch.id());
    let member = bench.engine.new_job(&wanted(&origin, "/member", b"body"), how).unwrap();
    let member = bench.engine.hand_in(redrive_engine::store::Enqueue::jobs(vec![member])).await.unwrap();
    batch.seal().await.unwrap();
    bench.ended(member.jobs[0].job()).await;
    bench.ended(bench.enqueue(&wanted(&origin, "/nobodys", b"body")).await).await;
    assert_eq!(*hook.0.lock().unwrap(), [Some(ann), None]);
    running.drain().await;
}
