//! A perfect client: it knows nothing in advance, holds no slot while it waits, asks again exactly when it may, and remembers nothing
//! that would cost time. No client of the same concurrency is faster that makes its files as durable, or not at all.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, bail};
use reqwest::header::RETRY_AFTER;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Task;
use super::loops::store;

/// Gets everything that can be had, and answers how much that was. `synced` makes each file and its folder durable.
pub async fn run(task: &Task, synced: bool) -> Result<usize> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    std::fs::create_dir_all(&task.into)?;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let line =
        Line { state: Mutex::new(State { left: task.objects, ..State::default() }), changed: Notify::new() };
    let slots = (0..task.at_once).map(|_| async {
        let mut got = 0;
        while let Some(n) = line.next(task.objects).await {
            match ask(&client, task, n, synced).await? {
                Some(wait) => line.again(n, wait),
                None => {
                    got += usize::from(task.into.join(n.to_string()).exists());
                    line.done();
                }
            }
        }
        anyhow::Ok(got)
    });
    Ok(futures::future::try_join_all(slots).await?.into_iter().sum())
}

/// Asks once. What may be asked again may be so after this long.
async fn ask(client: &reqwest::Client, task: &Task, n: usize, synced: bool) -> Result<Option<Duration>> {
    let Ok(answer) = client.get(task.url(n)).send().await else { return Ok(Some(Duration::ZERO)) };
    match answer.status().as_u16() {
        200 => {
            let Ok(bytes) = answer.bytes().await else { return Ok(Some(Duration::ZERO)) };
            let into = task.into.clone();
            tokio::task::spawn_blocking(move || store(&into, n, &bytes, synced)).await??;
            Ok(None)
        }
        404 => Ok(None),
        503 => {
            let wait = answer.headers().get(RETRY_AFTER).and_then(|wait| wait.to_str().ok()?.parse().ok());
            Ok(Some(Duration::from_secs(wait.unwrap_or(1))))
        }
        other => bail!("{n}: {other}"),
    }
}

/// What is to be asked, in its order; what may be asked again comes first.
struct Line {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    next: usize,
    again: BinaryHeap<Reverse<(Instant, usize)>>,
    left: usize,
}

enum Turn {
    Ask(usize),
    WaitUntil(Option<Instant>),
    Over,
}

impl Line {
    async fn next(&self, objects: usize) -> Option<usize> {
        loop {
            let changed = self.changed.notified();
            match self.turn(objects) {
                Turn::Ask(n) => return Some(n),
                Turn::Over => return None,
                Turn::WaitUntil(Some(at)) => {
                    let _ = tokio::time::timeout_at(at, changed).await;
                }
                Turn::WaitUntil(None) => changed.await,
            }
        }
    }

    fn turn(&self, objects: usize) -> Turn {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let first = state.again.peek().map(|Reverse((at, _))| *at);
        if first.is_some_and(|at| at <= Instant::now())
            && let Some(Reverse((_, n))) = state.again.pop()
        {
            return Turn::Ask(n);
        }
        if state.next < objects {
            state.next += 1;
            return Turn::Ask(state.next - 1);
        }
        if state.left == 0 { Turn::Over } else { Turn::WaitUntil(first) }
    }

    fn again(&self, n: usize, wait: Duration) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.again.push(Reverse((Instant::now() + wait, n)));
        drop(state);
        self.changed.notify_waiters();
    }

    fn done(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.left -= 1;
        let over = state.left == 0;
        drop(state);
        if over {
            self.changed.notify_waiters();
        }
    }
}
