//! Who may come in: so many children, so many waiting in line, and nobody when the server is about to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::{Code, Problem};

/// The gate of one server.
#[derive(Debug)]
pub(super) struct Gate {
    places: Arc<Semaphore>,
    children: Arc<Semaphore>,
    patience: Duration,
    stopping: AtomicBool,
}

impl Gate {
    /// `children` at a time, and `line` more requests that may upload and wait, each for no longer than `patience`.
    pub(super) fn new(children: usize, line: usize, patience: Duration) -> Self {
        let children = children.max(1);
        Self {
            places: Arc::new(Semaphore::new(children.saturating_add(line))),
            children: Arc::new(Semaphore::new(children)),
            patience,
            stopping: AtomicBool::new(false),
        }
    }

    /// A place for a request, before its body is read.
    pub(super) fn enter(&self) -> Result<OwnedSemaphorePermit, Problem> {
        if self.stopping.load(Ordering::Acquire) {
            return Err(Problem::new(Code::Stopping, "Send the file again, to another converter or later."));
        }
        Arc::clone(&self.places).try_acquire_owned().map_err(|_| busy())
    }

    /// A child's place, when it is this request's turn. Hold it until the child is gone.
    pub(super) async fn child(&self) -> Result<OwnedSemaphorePermit, Problem> {
        match tokio::time::timeout(self.patience, Arc::clone(&self.children).acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) | Err(_) => Err(busy()),
        }
    }

    /// Lets nobody in any more.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }
}

fn busy() -> Problem {
    Problem::new(Code::Busy, "All converters are in use and the line is full.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_line_is_bounded_and_so_is_patience() {
        let gate = Gate::new(1, 1, Duration::from_secs(5));
        let _first = gate.enter().unwrap();
        let second = gate.enter().unwrap();
        assert!(gate.enter().is_err());
        let child = gate.child().await.unwrap();
        assert!(gate.child().await.is_err(), "it waited for ever");
        drop(child);
        drop(gate.child().await.unwrap());
        drop(second);
        drop(gate.enter().unwrap());
        gate.stop();
        assert!(gate.enter().is_err());
    }
}
