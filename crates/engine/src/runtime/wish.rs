//! An operator's wish that this worker takes no new work. The heartbeat brings it, and may take it back.
//!
//! What runs goes on to its end, without a time limit: nobody has said that the process will stop. What was taken ahead and permanent
//! jobs go to others.

use std::sync::Arc;

use tokio::sync::watch;

use super::{Worker, give_back};

/// Whether somebody wants a drain.
pub(super) struct Wish(watch::Sender<bool>);

impl Default for Wish {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Wish {
    /// Somebody wants that nothing new is taken.
    pub(super) fn is_drain(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until nobody wants that any more.
    async fn ends(&self) {
        drop(self.0.subscribe().wait_for(|drain| !drain).await);
    }
}

/// A heartbeat has brought the wish.
pub(super) fn heard(worker: &Worker, drain: bool) {
    if !worker.wish.0.send_if_modified(|present| std::mem::replace(present, drain) != drain) {
        return;
    }
    tracing::info!(
        event = "worker.drain_wanted",
        wanted = drain,
        "an operator said whether this worker takes new work"
    );
    // Whoever waits for work looks again.
    worker.slots.changed.notify_one();
}

/// Takes nothing for as long as that is wanted: gives back what has not begun, and waits.
pub(super) async fn keep(worker: &Arc<Worker>) {
    while worker.wish.is_drain() && !worker.draining.is_cancelled() {
        give_back(worker, worker.slots.take_waiting(|_| true)).await;
        worker.end_permanent();
        tokio::select! {
            () = worker.wish.ends() => {}
            () = worker.draining.cancelled() => {}
            // A claim that was on its way may still have brought something.
            () = worker.slots.changed.notified() => {}
        }
    }
}
