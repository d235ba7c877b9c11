//! What it costs to find out that a target is down.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redrive_engine::model::Target;
use redrive_engine::model::breaker::{Config, Phase};
use redrive_engine::{Code, Done, Failure, Options};

use crate::bench::{Bench, eventually, quick};
use crate::kit::{Does, Task, at_once};

const SLOTS: usize = 4;

/// The call that fails as the third one, or as the tenth one of those that are answered, opens the breaker. Besides it only those
/// are charged that were on their way by then, which is one for each other slot: a slot is free again when the breaker knows
/// what its last call has met.
///
/// Also covers: B4.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_target_is_called_as_often_as_it_takes_and_by_whoever_was_on_the_way() {
    let config = Config::default();
    for (code, opens_at) in
        [(Code::TargetUnreachable, config.consecutive), (Code::TargetError, config.min_calls)].repeat(10)
    {
        let opens_at = usize::try_from(opens_at).unwrap();
        let bench = Bench::new().await;
        let config =
            Config { cooldown: Duration::from_secs(600), ..Config::for_timeout(Duration::from_secs(1)) };
        let engine =
            bench.engine_with(Options { breaker: Arc::new(move |_| config.clone()), ..quick() }).await;
        let calls = Arc::new(AtomicUsize::new(0));
        let c = calls.clone();
        let mut does = Does::new(move |_, _| {
            c.fetch_add(1, Ordering::SeqCst);
            async move { Err::<Done, _>(Failure::new(code, "it is down")) }
        });
        (does.policy, does.concurrency) = (at_once(100), SLOTS);
        engine.register(does);
        let tasks: Vec<Task> =
            (0..100).map(|n| Task { target: Some("gateway".into()), ..Task::n(n) }).collect();
        let jobs = engine.enqueue_many(&tasks).await.unwrap();
        let running = engine.start();
        let gateway = Target::new("gateway").unwrap();
        eventually(async || {
            let row = bench.store.breaker(&gateway).await.unwrap()?;
            matches!(row.breaker.phase, Phase::Open { .. }).then_some(())
        })
        .await;
        running.drain().await;
        let calls = calls.load(Ordering::SeqCst);
        assert!((opens_at..opens_at + SLOTS).contains(&calls), "{code}: {calls} calls");
        let mut charged = 0;
        for job in jobs {
            charged += usize::try_from(bench.row(job.job()).await.attempt).unwrap();
        }
        assert_eq!(charged, calls, "whoever did not call has paid nothing");
    }
}
