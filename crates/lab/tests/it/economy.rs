//! What a busy worker does not ask its store for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redrive_engine::model::State;
use redrive_engine::{Context, Done, Engine, Failure, Input, Options, Workload};
use redrive_lab::faulty::Faulty;
use redrive_store_sqlite::SqliteStore;
use serde::{Deserialize, Serialize};

use crate::kit::{Folder, eventually};

const JOBS: usize = 20_000;

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Nothing;

impl Input for Nothing {
    const WORKLOAD: &'static str = "nothing";
}

struct DoNothing;

impl Workload for DoNothing {
    type Input = Nothing;

    async fn run(&self, _: Context, _: Nothing) -> Result<Done, Failure> {
        Ok(Done::Complete)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_full_asks_for_the_chores_now_and_then_only() {
    let folder = Folder::new();
    let inner = SqliteStore::open(folder.file("jobs.db")).await.unwrap();
    let store = Arc::new(Faulty::counting(Arc::new(inner)));
    let engine = Engine::new(store.clone(), Options::default()).await.unwrap();
    engine.enqueue_many(&[Nothing; JOBS]).await.unwrap();
    engine.register(DoNothing);

    let (began, mut full) = (Instant::now(), None);
    let running = engine.start();
    let all = async || {
        let done = engine.store().counts().await.unwrap().total(State::Complete);
        // What is asked for at the end, when there is little left to take, is another matter.
        if done < JOBS as u64 / 4 * 3 {
            full = Some((began.elapsed(), store.calls()));
        }
        (done == JOBS as u64).then_some(())
    };
    eventually("all to be done", all).await;
    running.drain().await;

    // After each time that nothing was found it asks when the next job is due.
    let (took, calls) = full.unwrap();
    let in_vain = calls.get("next_due").copied().unwrap_or_default();
    let allowed = took.as_millis() / Duration::from_millis(100).as_millis() + 4;
    assert!(in_vain as u128 <= allowed, "{in_vain} times in {took:?}: {calls:?}");
}
