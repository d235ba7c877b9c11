//! A thread of its own for what must go on whatever handlers do.
//!
//! A handler that blocks its thread can stop a whole tokio runtime: when the thread that waited for the operating system's
//! events is the one that is blocked, no other takes its place, and neither timers nor sockets are heard of any more. Leases
//! are therefore kept by a runtime of the engine's own, and it nudges the user's one now and then, which makes a free thread
//! look at the events.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::Worker;

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

/// Nudges the runtime that the handlers run on. When that is gone, so are they, and nobody keeps their leases any longer.
pub(crate) async fn nudge(worker: Arc<Worker>, handlers: Handle) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(NUDGE) => {}
            () = worker.stopped.cancelled() => return,
        }
        let nudged = handlers.spawn(std::future::ready(()));
        tokio::select! {
            Err(error) = nudged, if !worker.stopped.is_cancelled() => {
                if error.is_cancelled() {
                    worker.stopped.cancel();
                }
            }
            // Every thread is blocked: perhaps later.
            () = tokio::time::sleep(NUDGE) => {}
        }
    }
}
