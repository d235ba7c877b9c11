//! A thread of its own for what must go on whatever handlers do.
//!
//! A handler that blocks its thread can stop a whole tokio runtime: when the thread that waited for the operating system's
//! events is the one that is blocked, no other takes its place, and neither timers nor sockets are heard of any more. Leases
//! are therefore kept by a runtime of the engine's own, and it nudges the user's one now and then, which makes a free thread
//! look at the events.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Between two nudges.
const NUDGE: Duration = Duration::from_millis(200);

/// Runs a task on the engine's own thread. One thread serves all engines of the process, and never ends: connections that
/// were opened on it must outlive a worker.
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    static HEART: OnceLock<Option<Handle>> = OnceLock::new();
    match HEART.get_or_init(start) {
        Some(heart) => heart.spawn(task),
        None => tokio::spawn(task),
    }
}

fn start() -> Option<Handle> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let handle = runtime.handle().clone();
    let beat = move || runtime.block_on(std::future::pending::<()>());
    std::thread::Builder::new().name("redrive-heart".into()).spawn(beat).ok()?;
    Some(handle)
}

/// Nudges the runtime that the handlers run on. When that is gone, so are they, and nobody keeps their leases any longer. It ends at once
/// when it is told to: whoever drains waits for it.
pub(crate) async fn nudge(stopped: CancellationToken, handlers: Handle) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(NUDGE) => {}
            () = stopped.cancelled() => return,
        }
        let nudged = handlers.spawn(std::future::ready(()));
        tokio::select! {
            biased;
            () = stopped.cancelled() => return,
            ended = nudged => if ended.is_err_and(|error| error.is_cancelled()) {
                stopped.cancel();
            },
            // Every thread is blocked: perhaps later.
            () = tokio::time::sleep(NUDGE) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn whoever_stops_does_not_wait_for_the_next_nudge() {
        // Wherever it is between two nudges.
        for after in [0, 50, 150, 250, 350, 1_050] {
            let stopped = CancellationToken::new();
            let nudges = tokio::spawn(nudge(stopped.clone(), Handle::current()));
            tokio::time::sleep(Duration::from_millis(after)).await;
            stopped.cancel();
            let told = Instant::now();
            nudges.await.unwrap();
            assert_eq!(told.elapsed(), Duration::ZERO, "told after {after} ms");
        }
    }

    #[tokio::test]
    async fn when_the_handlers_runtime_is_gone_nobody_keeps_their_leases() {
        let handlers = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (stopped, gone) = (CancellationToken::new(), handlers.handle().clone());
        handlers.shutdown_background();
        nudge(stopped.clone(), gone).await;
        assert!(stopped.is_cancelled());
    }
}
