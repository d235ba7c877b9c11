//! Keeps the runtime going when a handler blocks the wrong thread.
//!
//! One thread of a tokio runtime at a time waits for the network and the timers. When that one picks up a handler and the
//! handler blocks, the other threads sleep on: no heartbeat goes out although only one thread is lost, and every lease of
//! this process runs out. A task that comes from outside wakes one of them, which then takes over the waiting.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};

use super::Worker;

/// Wakes a thread of the runtime several times per heartbeat, for as long as the worker works. A runtime with one thread
/// cannot be helped.
pub(crate) fn start(worker: &Arc<Worker>) {
    let runtime = Handle::current();
    if runtime.runtime_flavor() != RuntimeFlavor::MultiThread {
        return;
    }
    let every = (worker.options.beat() / 4).min(Duration::from_secs(1));
    let stopped = worker.stopped.clone();
    let beats = move || {
        while !stopped.is_cancelled() {
            std::thread::sleep(every);
            runtime.spawn(async {});
        }
    };
    if let Err(error) = std::thread::Builder::new().name("redrive-pacemaker".into()).spawn(beats) {
        tracing::warn!(
            event = "pacemaker.failed",
            "{error}: a handler that blocks its thread may stop heartbeats"
        );
    }
}
